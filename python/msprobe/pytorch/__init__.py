"""Precision-data dump and accuracy check for PyTorch."""

# Loaded on demand: the checker's worker must be able to say in one line that torch cannot be imported.
_PLACES = {
    "PrecisionDebugger": "msprobe.pytorch.debugger.precision_debugger",
    "seed_all": "msprobe.pytorch.common.seeding",
    "module_dump": "msprobe.pytorch.functional.dump_module",
    "module_dump_end": "msprobe.pytorch.functional.dump_module",
}
__all__ = sorted(_PLACES)


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    import importlib

    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__():
    return sorted(list(globals()) + __all__)
