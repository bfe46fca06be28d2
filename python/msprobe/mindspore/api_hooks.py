"""Stand-ins for the functions of the support list, and for primitives inside a model (levels L1 and mix)."""

import types

from mindspore import ops

from msprobe.core.debugger.replaced_attribute import ReplacedAttribute
from msprobe.mindspore.support_list import listed_functions


# What these answer arrives in their arguments or later.
_COMMUNICATION = ("Distributed", "MintDistributed")


class ApiHooks:
    """Replaces attributes of MindSpore from the construction of the debugger on, so that names bound later are recorded too.

    Outside of `start` and `stop` a stand-in does nothing but ask whether it is between them. While a graph is compiled the
    originals are in place (`step_aside`, `come_back`): MindSpore reads their source.
    """

    def __init__(self, session):
        self._attributes = []
        indices = {}
        for prefix, api, owner, attribute in listed_functions(session):
            index = indices.setdefault((prefix, api), session.register_api("%s.%s" % (prefix, api)))
            self._attributes.append(ReplacedAttribute(
                owner, attribute, lambda original, index=index, communicates=prefix in _COMMUNICATION:
                session.make_recorded_function(index, original, communicates=communicates)))

    def install(self):
        for attribute in self._attributes:
            attribute.install()

    def remove(self):
        for attribute in reversed(self._attributes):
            attribute.remove()


class PrimitiveHooks:
    """Records calls of the primitives that cells hold as attributes, which no replaced function sees.

    A primitive gets a class of its own that differs in `__call__` alone, until `remove`.
    """

    def __init__(self, session):
        self._session = session
        self._classes = {}  # class of a primitive -> the one that records
        self._hooked = {}  # id of a primitive -> (primitive, its class)
        self._calls = {}  # id of a primitive -> what its calls go to

    def install(self, models):
        """`models`: (prefix, cell) pairs; the cells themselves are looked at, too."""
        for _, model in models:
            for _, cell in model.cells_and_names():
                for name, value in _primitives(cell):
                    self._hook(name, value)

    def remove(self):
        for primitive, kind in self._hooked.values():
            if type(primitive) is self._classes.get(kind):
                primitive.__class__ = kind
        self._hooked.clear()
        self._calls.clear()

    def _hook(self, name, primitive):
        if id(primitive) in self._hooked:
            return
        kind = type(primitive)
        index = self._session.register_api("Primitive.%s.%s" % (name, kind.__name__))
        original = types.MethodType(kind.__call__, primitive)
        recording = self._recording_class(kind)
        try:
            primitive.__class__ = recording
        except TypeError:  # its class lays out its objects in another way
            return
        self._hooked[id(primitive)] = primitive, kind
        self._calls[id(primitive)] = self._session.make_recorded_function(index, original, nested=True)

    def _recording_class(self, kind):
        if kind not in self._classes:
            calls = self._calls

            def __call__(self, *args, **kwargs):
                call = calls.get(id(self))
                return kind.__call__(self, *args, **kwargs) if call is None else call(*args, **kwargs)

            self._classes[kind] = type(kind.__name__, (kind,), {
                "__call__": __call__, "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__})
        return self._classes[kind]


def _primitives(cell):
    """(name, primitive) of a cell's attributes."""
    found = dict(getattr(cell, "_primitives", None) or {})
    found.update(vars(cell))
    return [(name, value) for name, value in found.items() if isinstance(value, ops.Primitive)]
