"""Compiling a graph sees MindSpore and the model as they are without the tool."""

import importlib

from msprobe.core.debugger.replaced_attribute import ReplacedAttribute


def first_attribute(*places):
    """The first attribute that this version has: (owner, name), or None. A place: (module, *names)."""
    for module, *path in places:
        try:
            owner = importlib.import_module(module)
        except ImportError:
            continue
        for part in path[:-1]:
            owner = getattr(owner, part, None)
        if hasattr(owner, path[-1]):
            return owner, path[-1]
    return None


class Compilation:
    """From `install` to `remove`, calls `step_aside` before and `come_back` after everything that MindSpore compiles."""

    def __init__(self, step_aside, come_back):
        self._step_aside, self._come_back = step_aside, come_back
        self._running = 0
        places = (first_attribute(("mindspore._c_expression", executor, "compile")) for executor in ("JitExecutor_", "GraphExecutor_"))
        self._attributes = [ReplacedAttribute(*place, self._compiled) for place in places if place is not None]

    def install(self):
        for attribute in self._attributes:
            attribute.install()

    def remove(self):
        for attribute in reversed(self._attributes):
            attribute.remove()

    def _compiled(self, original):
        def compile(executor, *args, **kwargs):
            self._running += 1
            if self._running == 1:
                self._step_aside()
            try:
                return original(executor, *args, **kwargs)
            finally:
                self._running -= 1
                if not self._running:
                    self._come_back()

        return compile
