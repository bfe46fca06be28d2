"""Lets the tool's mode be active while autograd's engine runs, so that what activation checkpointing makes again is seen."""

import torch
from torch.autograd import graph

from msprobe import _core

_NAME = "_engine_run_backward"  # where torch calls the engine, from 2.2 on


class _Engine:
    """Stands in for the engine's object, of which older versions call a method."""

    def __init__(self, engine):
        self.original = engine
        self.run_backward = _core.make_engine_call(engine.run_backward)

    def __getattr__(self, name):
        return getattr(self.original, name)


class EngineHooks:
    """Replaces what torch runs the engine with, from `install` to `remove`."""

    def __init__(self):
        self._call = None

    def install(self):
        if self._call is not None:
            return
        original = getattr(torch.autograd, _NAME, None)
        if original is not None:
            self._call = _core.make_engine_call(original)
            self._replace(original, self._call)
        else:
            self._call = _Engine(torch.autograd.Variable._execution_engine)
            torch.autograd.Variable._execution_engine = self._call

    def remove(self):
        call, self._call = self._call, None
        if isinstance(call, _Engine):
            if torch.autograd.Variable._execution_engine is call:
                torch.autograd.Variable._execution_engine = call.original
        elif call is not None:
            self._replace(call, call.__wrapped__)

    @staticmethod
    def _replace(old, new):
        for module in (torch.autograd, graph):
            if getattr(module, _NAME, None) is old:
                setattr(module, _NAME, new)
