"""The debugger that a training script starts and stops."""

from msprobe.core.debugger.base_debugger import BaseDebugger
from msprobe.mindspore.debugger.framework import MindSporeFramework


class PrecisionDebugger(BaseDebugger):
    __doc__ = BaseDebugger.__doc__
    _framework = MindSporeFramework
    _instance = None
