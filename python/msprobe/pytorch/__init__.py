"""Precision-data dump and accuracy check for PyTorch."""

from msprobe.pytorch.common.utils import seed_all
from msprobe.pytorch.debugger.precision_debugger import PrecisionDebugger

__all__ = ["PrecisionDebugger", "seed_all"]
