"""The models that `start` was given."""

import weakref


class Models:
    """Remembers every model with the prefix of its names; keeps none alive."""

    def __init__(self):
        self._known = []
        self.latest = lambda: None  # what was given last, as it was given

    def add(self, named_models):
        if named_models:
            references = [weakref.ref(module) for _, module in named_models]
            is_list = named_models[0][0] != ""
            self.latest = (lambda: [reference() for reference in references]) if is_list else references[0]
        known = {id(module) for _, module in self.alive()}
        self._known = [pair for pair in self._known if pair[1]() is not None]
        self._known += [(prefix, weakref.ref(module)) for prefix, module in named_models if id(module) not in known]

    def alive(self):
        """[(prefix, module)], oldest first."""
        found = [(prefix, reference()) for prefix, reference in self._known]
        return [pair for pair in found if pair[1] is not None]
