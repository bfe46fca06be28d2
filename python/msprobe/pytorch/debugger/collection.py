"""The life of one debugger's collection: steps, ranks, what is installed, and what is said on the log."""

import atexit
import os
import threading

import torch

from msprobe.core.common.exceptions import CodedException, MsprobeException
from msprobe.core.common.log import logger
from msprobe.pytorch.debugger import arguments, metadata
from msprobe.pytorch.debugger.error_log import ErrorLog
from msprobe.pytorch.debugger.installed_hooks import InstalledHooks
from msprobe.pytorch.debugger.models import Models
from msprobe.pytorch.debugger.token_range import TokenRange

_live = None  # the collection that owns files and hooks; `PrecisionDebugger._instance` may be reset by scripts


def _after_fork_in_child():
    if _live is not None:
        _live._leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _locked(method):
    def with_lock(self, *args, **kwargs):
        with self._lock:
            return method(self, *args, **kwargs)

    with_lock.__doc__ = method.__doc__
    return with_lock


class Collection:
    """Does what `PrecisionDebugger` offers. Nothing here raises into the training but wrong use of an interface."""

    def __init__(self, session, tool_folder):
        self.session = session
        self.models = Models()
        self.errors = ErrorLog(lambda: session.folder, tool_folder)
        self.hooks = None
        self._lock = threading.RLock()
        self._rank = None
        self._ended = False
        self._process = None  # the process of the first start: a trainer may be forked after the construction
        self._started = False
        self._token_range = None
        self._failed_step = None
        self._failed_path = None
        session.set_error_callback(self.errors.error)
        global _live
        if _live is not None:
            _live._retire()
        _live = self
        atexit.register(self._at_exit)

    @_locked
    def start(self, model=None, token_range=None, rank_id=None):
        """True if it collects from now on."""
        self.models.add(arguments.named_models(model))
        token_range = arguments.token_range(token_range)
        rank_id = arguments.rank_id(rank_id)
        self._check_models(token_range)
        session = self.session
        if self._ended or self._in_forked_child() or self._failed_step == session.step:
            return False
        if session.steps_exhausted():
            self._end()
            return False
        if not session.step_selected():
            return False
        self._find_rank(rank_id)
        if not session.rank_selected(self._rank):
            if self._rank is None:
                logger.warning("this process has no rank and counts as rank 0, which 'rank' in the configuration excludes: "
                               "nothing is collected; use \"rank\": [] on a single card")
            return False
        if self.hooks is None:
            self.hooks = InstalledHooks(session)
        self._process = os.getpid()
        if not self._open_step() or not self._install(token_range):
            return False
        if not self._started:
            logger.info_on_rank_0("debugger.start() is set successfully")
            logger.info_on_rank_0("Dump switch is turned on at step %d. Data will be saved in %s." % (
                session.step, session.folder))
        self._started = True
        return True

    @_locked
    def stop(self):
        if self._ended or self._in_forked_child() or self._failed_step == self.session.step:
            return
        if not self._started:
            if self.session.step_selected() and self.session.rank_selected(self._rank):
                logger.warning("debugger.stop() is called without a start() before it; nothing to do")
            return
        self._pause()
        self._started = False
        self._quietly(self.session.flush)
        logger.info_on_rank_0("debugger.stop() is set successfully. Call debugger.start() to collect again.")
        logger.info_on_rank_0("%d records are in %s." % (
            self.session.record_count, os.path.join(self.session.folder, "dump.json")))

    @_locked
    def step(self):
        if self._in_forked_child():
            return
        self._pause()
        self._started = False
        self._quietly(self.session.end_step)
        if self.hooks is not None:
            self.hooks.end_step()

    @_locked
    def take_no_new_calls(self):
        """Gradients of recorded calls still come in."""
        if self._started:
            self._pause()
            logger.info_on_rank_0("Data needed ends here; gradients of what is recorded still come in.")

    @_locked
    def set_init_step(self, step):
        step = arguments.init_step(step)
        if self._in_forked_child():
            return
        self._pause()
        self._started = False
        self._quietly(lambda: self.session.begin_step(step))

    def _check_models(self, token_range):
        models = self.models.alive()
        if not models and self.session.level in ("L0", "mix"):
            arguments.refuse("level %s records modules and needs the model: call start(model)" % self.session.level)
        if not models and token_range is not None:
            arguments.refuse("token_range counts calls of the model and needs it: call start(model, token_range=...)")

    def _set_token_range(self, token_range):
        if self._token_range is not None:
            self._token_range.remove()
            self._token_range = None
        if token_range is not None:
            self._token_range = TokenRange(self.session, self.models.alive()[0][1], *token_range)

    def _open_step(self):
        try:
            warning = self.session.start(self._rank, metadata.read())
        except CodedException as error:
            self._failed_step = self.session.step
            if self.session.dump_path != self._failed_path:
                self._failed_path = self.session.dump_path
                self.errors.error("step %d is not collected, the training goes on: %s" % (self.session.step, error))
            return False
        if warning:
            logger.warning(warning)
        return True

    def _install(self, token_range):
        try:
            self.hooks.install(self.models.alive())
            self._set_token_range(token_range)
            return True
        except Exception as error:
            self._failed_step = self.session.step
            self._pause()
            self.errors.error("step %d is not collected, the training goes on: this version of torch cannot be hooked: %s: %s" % (
                self.session.step, type(error).__name__, error))
            return False

    def _pause(self):
        self.session.pause()
        self._set_token_range(None)
        if self.hooks is not None:
            self.hooks.remove()

    def _in_forked_child(self):
        return self._process is not None and os.getpid() != self._process

    def _leave_to_parent(self):
        """In a forked child: files and records are the parent's."""
        self._lock = threading.RLock()  # another thread of the parent may hold the old one
        if self._process is not None:
            self._started = False
            if self.hooks is not None:
                self.hooks.remove()
            self.session.leave_to_parent()

    @_locked
    def _retire(self):
        """Another debugger takes its place, after a script has reset `_instance`."""
        if not self._in_forked_child():
            self.step()
        self._ended = True
        atexit.unregister(self._at_exit)

    def _end(self):
        self._ended = True
        if self.hooks is not None:
            self.hooks.remove()
        logger.info_on_rank_0("msprobe: dump has successfully ended; all configured steps are collected")

    def _find_rank(self, rank_id):
        """`rank_id` wins over the rank of torch.distributed, which may become known late."""
        if rank_id is not None:
            self._rank = rank_id
        elif self._rank is None:
            distributed = torch.distributed
            if distributed.is_available() and distributed.is_initialized():
                self._rank = distributed.get_rank()
        logger.rank = self._rank

    def _quietly(self, action):
        """Files that cannot be written must not end the training."""
        try:
            action()
        except Exception as error:
            self.errors.error(str(error))

    def _at_exit(self):
        if not self._ended:
            self.step()
