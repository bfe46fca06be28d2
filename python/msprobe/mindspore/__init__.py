"""Precision-data dump for MindSpore. Needs no PyTorch."""

# Loaded on demand: importing this package changes nothing in MindSpore and does not need it.
_PLACES = {
    "PrecisionDebugger": "msprobe.mindspore.debugger.precision_debugger",
}
__all__ = sorted(_PLACES)


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    import importlib

    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__():
    return sorted(list(globals()) + __all__)
