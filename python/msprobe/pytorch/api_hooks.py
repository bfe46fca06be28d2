"""Lets the extension see every call of a torch function, from `start` to `stop` only. Functions keep their identity."""

import torch
from torch.overrides import TorchFunctionMode

from msprobe import _core


def _api_mode(recorder):
    """A mode whose handler is the extension's recorder: no Python frame stands between torch and the call."""
    return type("ApiMode", (TorchFunctionMode,), {"__torch_function__": recorder})()


def _take_modes():
    """Takes all active modes off this thread's stack, innermost last."""
    modes = []
    while torch._C._len_torch_function_stack() > 0:
        modes.append(torch._C._pop_torch_function_stack())
    modes.reverse()
    return modes


def _put_modes(modes):
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)


class ApiHooks:
    """Installs and removes the mode and the operator notes; exact and repeatable."""

    def __init__(self, recorder, operators):
        self._mode = _api_mode(recorder)
        self._operators = operators
        self._replaced = None

    @property
    def installed(self):
        return self._replaced is not None

    def install(self):
        if self.installed:
            return
        self._replaced = {}
        for name, index in self._operators.items():
            own = torch.Tensor.__dict__.get(name)  # None: inherited, to be deleted again
            self._replaced[name] = own
            setattr(torch.Tensor, name, _core.make_operator_note(getattr(torch.Tensor, name), index))
        # At the bottom of the stack: a mode that the user enters before `start` may leave after it, and pops its own.
        _put_modes([self._mode] + _take_modes())

    def remove(self):
        if not self.installed:
            return
        replaced, self._replaced = self._replaced, None
        for name, own in replaced.items():
            if own is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, own)
        _put_modes([mode for mode in _take_modes() if mode is not self._mode])
