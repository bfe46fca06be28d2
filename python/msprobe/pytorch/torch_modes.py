"""Modes of torch: where versions differ in how they are held. Capabilities are probed, versions are never compared."""

import contextlib

import torch
from torch.utils import _python_dispatch

try:
    from torch import overrides as _overrides
    from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode
except ImportError:  # torch before 1.13 has none: it checks, but cannot collect
    TorchFunctionMode = None

# torch 1.13 keeps one stand-in for the whole stack in C++; it is set by Python, and only while the stack is not empty.
_set_function_stand_in = getattr(torch._C, "_set_torch_function_mode", None)
_set_dispatch_stand_in = getattr(torch._C, "_set_torch_dispatch_mode", None)


def take_function_modes():
    """Takes all modes off this thread's stack; returns them, innermost last."""
    modes = []
    while torch._C._len_torch_function_stack() > 0:
        modes.append(_pop_mode())
    modes.reverse()
    return modes


def put_function_modes(modes):
    for mode in modes:
        _push_mode(mode)


def active_function_modes():
    """The modes that a call of this thread would meet now, innermost last."""
    if _set_function_stand_in is not None and not _overrides._is_torch_function_mode_enabled():
        return []
    return [torch._C._get_function_stack_at(i) for i in range(torch._C._len_torch_function_stack())]


class _DisableEveryTorchFunction:
    """What torch 2 calls DisableTorchFunction; that of torch 1.13 leaves modes on."""

    def __enter__(self):
        self._of_subclasses = torch._C.DisableTorchFunction()
        self._of_subclasses.__enter__()
        self._active = _overrides._is_torch_function_mode_enabled()
        if self._active:
            _set_function_stand_in(None)

    def __exit__(self, *unused):
        if self._active:
            _set_function_stand_in(_overrides._TorchFunctionStackMode())
        self._of_subclasses.__exit__(None, None, None)


# Subclasses and modes alike; torch 2 calls a variant for subclasses alone DisableTorchFunctionSubclass.
DisableTorchFunction = torch._C.DisableTorchFunction
if _set_function_stand_in is not None and hasattr(torch._C, "_is_torch_function_mode_enabled"):
    DisableTorchFunction = _DisableEveryTorchFunction


@contextlib.contextmanager
def _without_dispatch_stand_in():
    _set_dispatch_stand_in(None)
    try:
        yield
    finally:
        _set_dispatch_stand_in(_python_dispatch._TorchDispatchStackMode())


def _find_disabling_of_dispatch_modes():
    if hasattr(_python_dispatch, "_disable_current_modes"):
        return _python_dispatch._disable_current_modes
    if _set_dispatch_stand_in is not None and hasattr(_python_dispatch, "_TorchDispatchStackMode"):
        return _without_dispatch_stand_in
    return contextlib.nullcontext  # modes of the user see what the tool does


_disable_dispatch_modes = _find_disabling_of_dispatch_modes()
_count_dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)


def without_dispatch_modes():
    """A context in which dispatch modes of the user do not see what is done to tensors; one that counts stays right."""
    return _disable_dispatch_modes() if _count_dispatch_modes() else contextlib.nullcontext()


@contextlib.contextmanager
def _guarded_by_an_object():
    guard = torch._C._DisableTorchDispatch()
    try:
        yield
    finally:
        del guard


def _find_disabling_of_torch_dispatch():
    disable = getattr(torch._C, "_DisableTorchDispatch", contextlib.nullcontext)
    return disable if hasattr(disable, "__enter__") else _guarded_by_an_object


# A context that reaches the memory of a subclass without running its __torch_dispatch__.
without_torch_dispatch = _find_disabling_of_torch_dispatch()


def operators_that_modes_miss():
    """Of indexing, what no mode is shown: `x[i]` in torch 1.13."""
    seen = set()

    class Watching(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.add(getattr(function, "__name__", None))
            return function(*args, **(kwargs or {}))

    outer = take_function_modes()
    try:
        with without_dispatch_modes():
            probe = torch.zeros(1)
            with Watching():
                probe[0]
                probe[0] = 1
    finally:
        put_function_modes(outer)
    return {"__getitem__", "__setitem__"} - seen
