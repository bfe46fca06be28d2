"""Lets the tool's mode be active while autograd's engine runs, so that what activation checkpointing makes again is seen."""

import torch
from torch.autograd import graph

from msprobe import _core

_NAME = "_engine_run_backward"  # where torch calls the engine; older versions (before 2.2) have no such function


class EngineHooks:
    """Replaces torch's private function that runs the engine, from `install` to `remove`."""

    def __init__(self):
        self._call = None

    def install(self):
        original = getattr(torch.autograd, _NAME, None)
        if self._call is None and original is not None:
            self._call = _core.make_engine_call(original)
            self._replace(original, self._call)

    def remove(self):
        call, self._call = self._call, None
        if call is not None:
            self._replace(call, call.__wrapped__)

    @staticmethod
    def _replace(old, new):
        for module in (torch.autograd, graph):
            if getattr(module, _NAME, None) is old:
                setattr(module, _NAME, new)
