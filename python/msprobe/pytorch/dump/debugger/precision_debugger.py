"""The path that scripts for newer versions of the reference tool import from."""

from msprobe.pytorch.debugger.precision_debugger import PrecisionDebugger

__all__ = ["PrecisionDebugger"]
