"""Lets the extension see every call of a torch function, from `start` to `stop` only. Functions keep their identity."""

import contextlib
import functools
import threading

import torch

from msprobe import _core
from msprobe.pytorch import torch_modes


class _ApiMode(torch_modes.TorchFunctionMode or object):
    pass


def _api_mode(recorder):
    """A mode whose handler is the extension's recorder: no Python frame stands between torch and the call."""
    return type("ApiMode", (_ApiMode,), {"__torch_function__": recorder})()


def _take_modes():
    """Takes all active modes off this thread's stack, innermost last; returns those that are not the tool's."""
    return [mode for mode in torch_modes.take_function_modes() if not isinstance(mode, _ApiMode)]


def put_mode(mode):
    torch_modes.put_function_modes([mode])


def take_mode(mode):
    """Takes the mode off if it is still the innermost: `stop` may have run meanwhile."""
    modes = torch_modes.take_function_modes()
    torch_modes.put_function_modes(modes[:-1] if modes and modes[-1] is mode else modes)


@contextlib.contextmanager
def _own_mode_off():
    """Gives the tool's mode that is active on this thread, or None, and keeps it off meanwhile; those of the user stay."""
    own = [mode for mode in torch_modes.active_function_modes() if isinstance(mode, _ApiMode)]
    if not own:
        yield None
        return
    modes = torch_modes.take_function_modes()
    torch_modes.put_function_modes(mode for mode in modes if mode not in own)
    try:
        yield own[-1]
    finally:
        torch_modes.take_function_modes()
        torch_modes.put_function_modes(modes)


def _handed_to_the_mode(operator):
    """Shows an operator to the tool's mode, where it is active, as torch does with others; to no mode of the user."""

    def call(*args, **kwargs):
        with _own_mode_off() as mode:
            if mode is None:
                return operator(*args, **kwargs)
            return mode.__torch_function__(operator, (), args, kwargs)

    return call


def unseen(function):
    """The function, of whose calls the tool sees nothing."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with _own_mode_off():
            return function(*args, **kwargs)

    return call


class ApiHooks:
    """Installs and removes the mode and the operator notes; exact and repeatable. Both step aside while compiled code runs.

    A thread's modes can be changed by that thread alone: if `remove` runs in another one, the mode stays in the first,
    where it does nothing, until that thread comes by here again.
    """

    def __init__(self, make_recorder, operators, compiled_regions):
        self._make_recorder = make_recorder
        self._operators = operators
        self._missed = torch_modes.operators_that_modes_miss()
        self._mode = None  # while installed
        self._thread = None
        self._notes = {}
        self._replaced = {}
        self._aside = threading.local()  # .place: where in the thread's stack the mode was before it stepped aside
        self._compiled_regions = compiled_regions
        compiled_regions.thread_listeners.append((self._step_aside, self._come_back))

    @property
    def installed(self):
        return self._mode is not None

    def install(self):
        if self.installed:
            return
        self._mode = _api_mode(self._make_recorder())
        self._thread = threading.get_ident()
        # At the bottom of the stack: a mode that the user enters before `start` may leave after it, and pops its own.
        # Only torch.set_default_device insists on the very bottom for itself.
        modes = _take_modes()
        torch_modes.put_function_modes(modes)
        default_device = getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)
        self._aside.place = 1 if modes and modes[0] is default_device else 0
        if not self._compiled_regions.running_here:
            self._come_back()

    def remove(self):
        if not self.installed:
            return
        self._mode = None
        self._take_notes()
        torch_modes.put_function_modes(_take_modes())

    def _step_aside(self):
        if threading.get_ident() == self._thread:
            self._take_notes()
        modes = torch_modes.take_function_modes()
        self._aside.place = modes.index(self._mode) if self._mode in modes else None
        torch_modes.put_function_modes(mode for mode in modes if not isinstance(mode, _ApiMode))

    def _come_back(self):
        if self._mode is None:
            return
        if threading.get_ident() == self._thread:
            self._leave_notes()
        if self._aside.place is not None:
            modes = _take_modes()
            modes.insert(self._aside.place, self._mode)
            torch_modes.put_function_modes(modes)

    def _leave_notes(self):
        for name, index in self._operators.items():
            original = getattr(torch.Tensor, name)
            note = self._notes.get(name)
            if note is None or note.__wrapped__ is not original:
                target = _handed_to_the_mode(original) if name in self._missed else original
                note = self._notes[name] = _core.make_operator_note(original, target, index)
            self._replaced[name] = torch.Tensor.__dict__.get(name)  # None: inherited, to be deleted again
            setattr(torch.Tensor, name, note)

    def _take_notes(self):
        while self._replaced:
            name, own = self._replaced.popitem()
            if torch.Tensor.__dict__.get(name) is not self._notes[name]:
                continue  # somebody else has replaced it since
            if own is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, own)
