"""Lets the tool's mode be active while autograd's engine runs, so that what activation checkpointing makes again is seen."""

import torch
from torch.autograd import graph

from msprobe import _core
from msprobe.pytorch.api_hooks import unseen

_NAME = "_engine_run_backward"  # where torch calls the engine, from 2.2 on


class _Engine:
    """Stands in for the engine's object, of which older versions call a method.

    Modes are not told of torch.autograd.backward there: the gradients that it makes up must not become records.
    """

    def __init__(self):
        self.original = torch.autograd.Variable._execution_engine
        self.run_backward = _core.make_engine_call(self.original.run_backward)
        self._make_grads = torch.autograd._make_grads
        self._unseen = unseen(self._make_grads)

    def install(self):
        torch.autograd.Variable._execution_engine = self
        torch.autograd._make_grads = self._unseen

    def remove(self):
        if torch.autograd.Variable._execution_engine is self:
            torch.autograd.Variable._execution_engine = self.original
        if torch.autograd._make_grads is self._unseen:
            torch.autograd._make_grads = self._make_grads

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
            self._call = _Engine()
            self._call.install()

    def remove(self):
        call, self._call = self._call, None
        if isinstance(call, _Engine):
            call.remove()
        elif call is not None:
            self._replace(call, call.__wrapped__)

    @staticmethod
    def _replace(old, new):
        for module in (torch.autograd, graph):
            if getattr(module, _NAME, None) is old:
                setattr(module, _NAME, new)
