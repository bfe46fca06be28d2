"""Steps aside while a callable of torch.compile runs on a thread: its graphs stay those of a run without the tool."""

import sys

import torch

from msprobe import _core
from msprobe.core.common.log import logger

_NAMES = ("set_eval_frame", "_maybe_set_eval_frame")


def _eval_frame():
    """torch's extension module that sets the callback of frame evaluation; None where there is no torch.compile."""
    return getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def _running_owner():
    """The frame of the outermost compiled callable that runs on this thread, or None."""
    compiler = sys.modules.get("torch._dynamo.eval_frame")
    owner = None
    frame = sys._getframe() if compiler is not None else None
    while frame is not None:
        if frame.f_code.co_filename == compiler.__file__ and frame.f_code.co_name in ("compile_wrapper", "_fn"):
            if getattr(frame.f_locals.get("self"), "callback", None) is not None:
                owner = frame
        frame = frame.f_back
    return owner


def uncompiled(function):
    """For what scripts call: never compiled, also where a compiled function calls it."""

    def call(*arguments, **keywords):
        eval_frame = _eval_frame()
        if eval_frame is None:
            return function(*arguments, **keywords)
        prior = eval_frame.set_eval_frame(None)
        try:
            return function(*arguments, **keywords)
        finally:
            eval_frame.set_eval_frame(prior)
    return call


class CompiledRegions:
    """From `install` to `remove`, calls `step_aside()` when a thread enters compiled code and `come_back()` when it leaves
    it; code that runs at `install` has stepped aside already.

    `listeners`: further pairs of such functions, for what is not the thread's own; called for the first thread that
    enters and the last one that leaves.
    """

    def __init__(self, step_aside, come_back):
        self._step_aside = step_aside
        self._come_back = come_back
        self.listeners = []
        self._running = 0
        self._watch = None
        self._told = False

    @property
    def running(self):
        """Whether any thread is inside compiled code."""
        return self._running > 0

    def install(self):
        """True if this thread is inside compiled code now."""
        extension = _eval_frame()
        if extension is None:
            return False
        self._running = 0
        self._watch = _core.make_region_watch(extension.set_eval_frame, self._enter, self._leave)
        # torch.compile may be loaded later: it takes the name from the extension then.
        compiler = sys.modules.get("torch._dynamo.eval_frame")
        target = extension if compiler is None else compiler
        original = self._watch.__wrapped__
        for name in _NAMES:
            if target.__dict__.get(name) is original:
                setattr(target, name, self._watch)
        owner = _running_owner()
        if owner is None:
            return False
        _core.enter_running_region(self._watch, owner)
        self._running = 1
        return True

    def remove(self):
        watch, self._watch = self._watch, None
        if watch is None:
            return
        for module_name, module in list(sys.modules.items()):
            if module_name == "torch._C._dynamo.eval_frame" or module_name.startswith("torch._dynamo."):
                for name in _NAMES:
                    if getattr(module, "__dict__", {}).get(name) is watch:
                        setattr(module, name, watch.__wrapped__)

    def _enter(self):
        if not self._told:
            self._told = True
            logger.warning("calls inside functions and modules compiled by torch.compile are not recorded; "
                           "set TORCHDYNAMO_DISABLE=1 to record them uncompiled")
        self._step_aside()
        self._running += 1
        if self._running == 1:
            for step_aside, _ in self.listeners:
                step_aside()

    def _leave(self):
        self._running -= 1
        if self._running == 0:
            for _, come_back in self.listeners:
                come_back()
        self._come_back()
