"""The life of one debugger's collection: steps, ranks, what is installed, and what is said on the log."""

import atexit
import functools
import os
import threading

from msprobe.core.common.exceptions import CodedException
from msprobe.core.common.log import logger
from msprobe.core.debugger import arguments
from msprobe.core.debugger.error_log import ErrorLog
from msprobe.core.debugger.models import Models
from msprobe.core.debugger.rank import Rank
from msprobe.core.debugger.step_summary import StepSummary
from msprobe.core.debugger.token_range import TokenRange

_live = None  # the collection that owns files and hooks; `PrecisionDebugger._instance` may be reset by scripts


def _after_fork_in_child():
    if _live is not None:
        _live._leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _locked(method):
    @functools.wraps(method)
    def with_lock(self, *args, **kwargs):
        with self._lock:
            return method(self, *args, **kwargs)

    return with_lock


class Collection:
    """Does what `PrecisionDebugger` offers. Nothing here raises into the training but wrong use of an interface."""

    def __init__(self, session, tool_folder, framework):
        self.session = session
        self._framework = framework
        self.models = Models()
        self.errors = ErrorLog(lambda: session.folder, tool_folder)
        self.custom_apis = framework.custom_apis(session)
        self.hooks = None
        self._lock = threading.RLock()
        self._rank = Rank(framework.rank)
        self._summary = StepSummary(session, self.errors, lambda: framework.unlisted_functions(session))
        self._ended = False
        self._process = None  # the process of the first start: a trainer may be forked after the construction
        self._started = False
        self._asked = False  # whether start() was ever called
        self._token_range = None
        self._micro_steps = 0
        self._kernels = None
        if session.level == "L2":
            self._kernels = framework.kernel_dump(session, self.errors)
            session.set_kernel_dump(self._kernels)
        self._failed_step = None
        self._failed_path = None
        session.set_error_callback(self.errors.error)
        self.custom_apis.register_listed()
        global _live
        if _live is not None:
            _live._retire()
        _live = self
        if framework.installs_at_construction:
            self.hooks = framework.installed_hooks(session, self.custom_apis)
        atexit.register(self._at_exit)

    @_locked
    def start(self, model=None, token_range=None, rank_id=None):
        """True if it collects from now on."""
        self.models.add(self._named_models(model))
        token_range = arguments.token_range(token_range)
        rank_id = arguments.rank_id(rank_id)
        self._check_models(token_range)
        self._framework.before_start(self)
        self._asked = True
        session = self.session
        if session.level == "debug":
            logger.info_once("level debug records what save() is given; start() and stop() are not needed")
            return False
        if not self._is_wanted(rank_id):
            return False
        if self.hooks is None:
            self.hooks = self._framework.installed_hooks(session, self.custom_apis)
        if not self._open_step() or not self._install(token_range):
            return False
        if not self._started:
            logger.info_on_rank_0("debugger.start() is set successfully")
            logger.info_on_rank_0("Dump switch is turned on at step %d. Data will be saved in %s." % (
                session.step, self._folder()))
        self._started = True
        return True

    @_locked
    def stop(self):
        session = self.session
        if self._ended or self._in_forked_child() or self._failed_step == session.step:
            return
        if session.level == "debug":
            self._flush()
            return
        if not self._started:
            if session.step_selected() and session.rank_selected(self._rank.value):
                logger.warning("debugger.stop() is called without a start() before it; nothing to do")
            return
        self._pause()
        self._started = False
        self._learn_rank()
        self._flush()
        logger.info_on_rank_0("debugger.stop() is set successfully. Call debugger.start() to collect again.")
        if self._kernels is None:
            self._summary.tell_progress(session.folder)
        if session.finished:
            self._end()

    @_locked
    def step(self):
        self._begin_step(self.session.step + 1)

    @_locked
    def set_init_step(self, step):
        self._begin_step(arguments.init_step(step))

    @_locked
    def take_no_new_calls(self):
        """Gradients of recorded calls still come in."""
        if self._started:
            self._pause()
            logger.info_on_rank_0("Data needed ends here; gradients of what is recorded still come in.")

    @_locked
    def micro_step(self):
        if not self.session.has_modules:
            logger.warning_once("micro_step() has no effect at level %s: only levels L0 and mix write the tree of modules" %
                                self.session.level)
            return
        self.session.set_micro_step(self._micro_steps)
        self._micro_steps += 1

    @_locked
    def save(self, variable, name, save_backward):
        try:
            problem = arguments.what_save_cannot_use(variable, name, save_backward, self._framework.Tensor)
        except Exception as error:  # an object that raises when it is looked at
            problem = "variable cannot be looked at: %s" % type(error).__name__
        if problem:
            logger.warning("save() is skipped: %s" % problem)
            return
        session = self.session
        if session.task not in ("statistics", "tensor"):
            return
        if session.level == "debug":
            if not self._is_wanted() or not (session.folder or self._open_step()):
                return
        elif not session.collecting:
            logger.warning_once("save() is skipped: at level %s it is to be called between start() and stop()" % session.level)
            return
        self._quietly(lambda: session.save(name, variable, save_backward))

    @_locked
    def register_custom_api(self, module, api, api_prefix):
        self.custom_apis.register(module, api, arguments.custom_api(module, api, api_prefix))

    @_locked
    def restore_custom_api(self, module, api):
        self.custom_apis.restore(module, api)

    @_locked
    def begin_module_dump(self, module, dump_name):
        arguments.module_dump(module, dump_name, self._framework.Module, self._framework.MODULE)
        if not self._started:
            logger.warning("module_dump() does nothing outside start() and stop()")
        elif self.hooks.records_module(module):
            logger.info_once("module_dump() does nothing: level %s records this module anyway" % self.session.level)
        else:
            self._try_hooks(lambda: self.hooks.install_one(dump_name, module))

    @_locked
    def end_module_dump(self):
        if self._started and self.hooks.records_one:
            self._try_hooks(lambda: self.hooks.install(self.models.alive()))

    def _is_wanted(self, rank_id=None):
        """Whether this step of this process is to be collected."""
        session = self.session
        if self._in_forked_child():
            logger.warning_once("nothing is collected here: this process was forked after the debugger had collected, and the files "
                                "are its parent's; start() the debugger first in the process that trains, or spawn it")
            return False
        if self._ended or self._failed_step == session.step:
            return False
        if session.steps_exhausted() or session.finished:
            self._end()
            return False
        if not session.step_selected():
            return False
        self._learn_rank(rank_id)
        if not session.rank_selected(self._rank.value):
            self._pause()
            if self._rank.value is None:
                logger.warning_once("this process has no rank and counts as rank 0, which 'rank' in the configuration "
                                    "excludes: nothing is collected; use \"rank\": [] on a single card")
            return False
        self._process = os.getpid()
        return True

    def _named_models(self, model):
        return arguments.named_models(model, self._framework.Module, self._framework.MODULE)

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
            warning = self.session.start(self._rank.value, self._framework.metadata())
            if self._kernels is not None:
                self._kernels.open_step()
        except (CodedException, OSError) as error:
            self._failed_step = self.session.step
            if self.session.dump_path != self._failed_path:
                self._failed_path = self.session.dump_path
                self.errors.error("step %d is not collected, the training goes on: %s" % (self.session.step, error))
            return False
        if warning:
            logger.warning(warning)
        return True

    def _install(self, token_range):
        def install():
            self.hooks.install(self.models.alive())
            self._set_token_range(token_range)

        return self._try_hooks(install)

    def _try_hooks(self, action):
        try:
            action()
            return True
        except Exception as error:
            self._failed_step = self.session.step
            self._pause()
            self.errors.error("step %d is not collected, the training goes on: the hooks cannot be set: %s: %s" % (
                self.session.step, type(error).__name__, error))
            return False

    def _pause(self):
        self.session.pause()
        self._set_token_range(None)
        if self.hooks is not None:
            self.hooks.remove()

    def _flush(self):
        self._summary.time(lambda: self._quietly(self.session.flush))

    def _begin_step(self, step):
        session = self.session
        if self._in_forked_child():
            return
        self._pause()
        self._started = False
        self._micro_steps = 0
        collected = bool(session.folder)
        had_kernels = self._kernels is not None and self._kernels.close_step()
        ended_step = session.step
        if collected:
            self._learn_rank()
            self._summary.before_end()
        self._summary.time(lambda: self._quietly(lambda: session.begin_step(step)))
        if self.hooks is not None:
            self.hooks.end_step()
        if collected:
            self._summary.after_end(ended_step)
        elif had_kernels:
            self._summary.tell_filters()
        if session.finished and not self._ended:
            self._end()

    def _learn_rank(self, rank_id=None):
        """Files of a process without a rank move to the folder of its rank when that becomes known."""
        if self._rank.find(rank_id) and self.session.folder:
            def adopt():
                warning = self.session.adopt_rank(self._rank.value)
                if warning:
                    logger.warning(warning)

            self._quietly(adopt)

    def _folder(self):
        return self.session.folder if self._kernels is None else self._kernels.folder

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
        if not self._ended:
            self.step()
        self._ended = True
        self._end_hooks()
        atexit.unregister(self._at_exit)

    def _end(self):
        self._ended = True
        self._end_hooks()
        self._summary.at_end()
        what = "as many overflows as asked for" if self.session.finished else "all configured steps"
        logger.info_on_rank_0("msprobe: dump has successfully ended; %s are collected" % what)

    def _end_hooks(self):
        if self.hooks is not None:
            self.hooks.end()

    def _quietly(self, action):
        """Files that cannot be written must not end the training."""
        try:
            action()
        except Exception as error:
            self.errors.error(str(error))

    def _at_exit(self):
        if not self._ended:
            self.step()
            self._end_hooks()
            self._summary.at_end()
            self._tell_steps_not_reached()

    def _tell_steps_not_reached(self):
        steps = self.session.steps
        if steps and self._asked and self._process is None:
            logger.warning("nothing was collected: the configuration asks for steps from %d on, and the training came to step %d; "
                           "does it call step()?" % (steps[0], max(self.session.step - 1, 0)))
