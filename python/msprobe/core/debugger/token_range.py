"""Collecting during some calls of the model only: the tokens of a generation."""


class TokenRange:
    """From `install` on counts the calls of `model`; the session records from call `first` to call `last`, both included."""

    def __init__(self, session, model, first, last):
        self._session = session
        self._first = first
        self._last = last
        self._calls = 0
        session.pause()
        self._handle = model.register_forward_pre_hook(self._on_call)

    def _on_call(self, module, arguments):
        if self._calls == self._first:
            self._session.resume()
        elif self._calls == self._last + 1:
            self._session.pause()
        self._calls += 1

    def remove(self):
        self._handle.remove()
