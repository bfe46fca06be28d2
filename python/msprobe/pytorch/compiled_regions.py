"""Steps aside while a callable of torch.compile runs on a thread: its graphs stay those of a run without the tool."""

import functools
import sys
import threading

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
    """For what scripts call: never compiled itself, wherever it is called."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        eval_frame = _eval_frame()
        if eval_frame is None:
            return function(*arguments, **keywords)
        prior = eval_frame.set_eval_frame(None)
        try:
            return function(*arguments, **keywords)
        finally:
            eval_frame.set_eval_frame(prior)

    call._torchdynamo_disable = True  # what torch.compiler.disable leaves, without loading the compiler
    return call


class CompiledRegions:
    """From `install` to `remove`, tells when threads enter compiled code and when they leave it.

    `thread_listeners`: pairs (step_aside, come_back) for what belongs to a thread, called in each one. `listeners`: such
    pairs for what all threads share, called for the first thread that enters and the last one that leaves. Nobody is called
    for code that runs at `install` already, but to come back.
    """

    def __init__(self):
        self.thread_listeners = []
        self.listeners = []
        self._running = 0
        self._here = threading.local()
        self._watch = None
        self._target = None  # the module whose names it has replaced
        self._loaded = 0
        self._told = False

    @property
    def running(self):
        """Whether any thread is inside compiled code."""
        return self._running > 0

    @property
    def running_here(self):
        return getattr(self._here, "watch", None) is not None and self._here.watch is self._watch

    def install(self):
        extension = _eval_frame()
        if extension is None or self._watch is not None:
            return
        self._running = 0
        self._watch = _core.make_region_watch(extension.set_eval_frame, self._enter, self._leave)
        # torch.compile may be loaded later: it takes the name from the extension then.
        compiler = sys.modules.get("torch._dynamo.eval_frame")
        target = extension if compiler is None else compiler
        self._target = target
        self._loaded = len(sys.modules)
        for name in _NAMES:
            if target.__dict__.get(name) is self._watch.__wrapped__:
                setattr(target, name, self._watch)
        owner = _running_owner()
        if owner is not None:
            _core.enter_running_region(self._watch, owner)
            self._here.watch = self._watch
            self._running = 1

    def remove(self):
        watch, self._watch = self._watch, None
        if watch is None:
            return
        modules = [self._target]
        if len(sys.modules) != self._loaded:  # what was loaded since may have taken the name along
            modules += [module for name, module in list(sys.modules.items()) if name.startswith("torch._dynamo.")]
        for module in modules:
            for name in _NAMES:
                if getattr(module, "__dict__", {}).get(name) is watch:
                    setattr(module, name, watch.__wrapped__)
        self._running = 0

    def _enter(self):
        if not self._told:
            self._told = True
            logger.warning("calls inside functions and modules compiled by torch.compile are not recorded; "
                           "set TORCHDYNAMO_DISABLE=1 to record them uncompiled")
        self._here.watch = self._watch
        self._running += 1
        for step_aside, _ in self.thread_listeners:
            step_aside()
        if self._running == 1:
            for step_aside, _ in self.listeners:
                step_aside()

    def _leave(self):
        if self._watch is None:
            return
        self._here.watch = None
        self._running -= 1
        if self._running == 0:
            for _, come_back in self.listeners:
                come_back()
        for _, come_back in self.thread_listeners:
            come_back()
