"""An attribute of a module, class or object that is something else for a while."""

import inspect

_MISSING = object()


class ReplacedAttribute:
    """`install` and `remove` are exact and repeatable. What somebody else has set meanwhile stays.

    `make_stand_in(original)` gives what is called in place of the function.
    """

    def __init__(self, owner, name, make_stand_in):
        self.owner = owner
        self.name = name
        self._make_stand_in = make_stand_in
        self._own = None
        self._stand_in = None
        self._installed = False

    def install(self):
        if self._installed:
            return
        own = getattr(self.owner, "__dict__", {}).get(self.name, _MISSING)
        if self._stand_in is None or own is not self._own:
            self._own = own
            self._stand_in = self._made()
        setattr(self.owner, self.name, self._stand_in)
        self._installed = True

    def remove(self):
        if not self._installed:
            return
        self._installed = False
        if getattr(self.owner, "__dict__", {}).get(self.name) is not self._stand_in:
            return
        if self._own is _MISSING:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self._own)

    def _made(self):
        if not isinstance(self.owner, type):
            return self._make_stand_in(getattr(self.owner, self.name))
        attribute = inspect.getattr_static(self.owner, self.name)
        if isinstance(attribute, (staticmethod, classmethod)):
            return type(attribute)(self._make_stand_in(attribute.__func__))
        stand_in = self._make_stand_in(attribute)
        return stand_in if hasattr(attribute, "__get__") else staticmethod(stand_in)
