"""Precision-data dump and accuracy check for PyTorch."""

__all__ = ["PrecisionDebugger", "seed_all"]


def __getattr__(name):
    # Loaded on demand: the checker's worker must be able to say in one line that torch cannot be imported.
    if name == "PrecisionDebugger":
        from msprobe.pytorch.debugger.precision_debugger import PrecisionDebugger

        return PrecisionDebugger
    if name == "seed_all":
        from msprobe.pytorch.common.seeding import seed_all

        return seed_all
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def __dir__():
    return sorted(list(globals()) + __all__)
