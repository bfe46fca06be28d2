"""Lets the extension see every call of a torch function, from `start` to `stop` only. Functions keep their identity."""

import torch
from torch.overrides import TorchFunctionMode

from msprobe import _core


class _ApiMode(TorchFunctionMode):
    pass


def _api_mode(recorder):
    """A mode whose handler is the extension's recorder: no Python frame stands between torch and the call."""
    return type("ApiMode", (_ApiMode,), {"__torch_function__": recorder})()


def _take_modes():
    """Takes all active modes off this thread's stack, innermost last; returns those that are not the tool's."""
    modes = []
    while torch._C._len_torch_function_stack() > 0:
        modes.append(torch._C._pop_torch_function_stack())
    modes.reverse()
    return [mode for mode in modes if not isinstance(mode, _ApiMode)]


def _put_modes(modes):
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)


class ApiHooks:
    """Installs and removes the mode and the operator notes; exact and repeatable.

    A thread's modes can be changed by that thread alone: if `remove` runs in another one, the mode stays in the first,
    where it does nothing, until that thread comes by here again.
    """

    def __init__(self, make_recorder, operators):
        self._make_recorder = make_recorder
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
            note = _core.make_operator_note(getattr(torch.Tensor, name), index)
            self._replaced[name] = (own, note)
            setattr(torch.Tensor, name, note)
        # At the bottom of the stack: a mode that the user enters before `start` may leave after it, and pops its own.
        # Only torch.set_default_device insists on the very bottom for itself.
        modes = _take_modes()
        default_device = getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)
        place = 1 if modes and modes[0] is default_device else 0
        modes.insert(place, _api_mode(self._make_recorder()))
        _put_modes(modes)

    def remove(self):
        if not self.installed:
            return
        replaced, self._replaced = self._replaced, None
        for name, (own, note) in replaced.items():
            if torch.Tensor.__dict__.get(name) is not note:
                continue  # somebody else has replaced it since
            if own is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, own)
        _put_modes(_take_modes())
