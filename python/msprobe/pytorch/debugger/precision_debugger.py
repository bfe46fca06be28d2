"""The debugger that a training script starts and stops."""

import atexit
import json
import os
import platform

import torch

from msprobe import __version__, _core
from msprobe.core.common.exceptions import CodedException, MsprobeException
from msprobe.core.common.log import logger
from msprobe.pytorch import tensor_access
from msprobe.pytorch.api_hooks import ApiHooks
from msprobe.pytorch.api_table import ApiTable

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SUPPORTED_LEVELS = ("L1",)
_SUPPORTED_TASKS = ("statistics", "tensor")

_live = None  # the debugger that owns files and hooks; `PrecisionDebugger._instance` may be reset by scripts


def _after_fork_in_child():
    if _live is not None:
        _live._leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


class _Config:
    """What scripts read and assign as `debugger.config` and `debugger.service.config`."""

    def __init__(self, session):
        self._session = session

    task = property(lambda self: self._session.task)
    level = property(lambda self: self._session.level)
    rank = property(lambda self: self._session.ranks)
    step = property(lambda self: self._session.steps)

    @property
    def dump_path(self):
        return self._session.dump_path

    @dump_path.setter
    def dump_path(self, path):
        _require_unicode("dump_path", path)
        self._session.dump_path = os.path.abspath(path)


class _Service:
    """`debugger.service`: the state that scripts look at."""

    def __init__(self, session, config):
        self._session = session
        self.config = config
        self.first_start = True

    current_iter = property(lambda self: self._session.step)


class PrecisionDebugger:
    """Records the API calls of a training step: `start()`, `stop()`, `step()`, on the instance or on the class.

    One instance per process: a later construction returns it and ignores its arguments. An argument that is not None wins
    over the file, the file over the packaged default. Raises MsprobeException for anything it cannot use.
    """

    _instance = None

    def __new__(cls, *args, **kwargs):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.initialized = False
        return cls._instance

    def __init__(self, config_path=None, task=None, dump_path=None, level=None, model=None, step=None):
        arguments = (config_path, task, dump_path, level, step)
        if self.initialized:
            if any(value is not None for value in arguments) and arguments != self._arguments:
                logger.warning("PrecisionDebugger exists already in this process; the arguments given now are ignored")
            return
        try:
            self._initialise(arguments, model)
        except BaseException:
            type(self)._instance = None
            raise

    def _initialise(self, arguments, model):
        config_path, task, dump_path, level, step = arguments
        if not hasattr(torch.overrides, "TorchFunctionMode"):
            raise MsprobeException(
                MsprobeException.UNSUPPORTED_TYPE_ERROR,
                "collecting needs PyTorch 1.13 or newer, this is %s" % torch.__version__)
        for name, value in (("config_path", config_path), ("task", task), ("dump_path", dump_path), ("level", level)):
            if value is not None and not isinstance(value, (str, os.PathLike)):
                raise MsprobeException(
                    MsprobeException.INVALID_PARAM_ERROR, "%s must be a string, not %r" % (name, value))
            _require_unicode(name, value)
        if model is not None and not isinstance(model, torch.nn.Module):
            raise MsprobeException(
                MsprobeException.INVALID_PARAM_ERROR,
                "model must be a torch.nn.Module, not %s" % type(model).__name__)
        packaged = os.path.join(_PACKAGE, "config.json")
        self._session = _core.DumpSession(
            config_path=None if config_path is None else os.fspath(config_path),
            task=None if task is None else os.fspath(task),
            dump_path=None if dump_path is None else os.fspath(dump_path),
            level=None if level is None else os.fspath(level),
            steps=_step_texts(step),
            packaged_config=packaged if os.path.exists(packaged) else "",
            torch_helpers=tensor_access,
            tool_folder=_PACKAGE + os.sep,
        )
        for warning in self._session.warnings:
            logger.warning(warning)
        self._require("level", self._session.level, _SUPPORTED_LEVELS)
        self._require("task", self._session.task, _SUPPORTED_TASKS)
        self.config = _Config(self._session)
        self.service = _Service(self._session, self.config)
        self.model = model
        self.enable_dataloader = False
        self._arguments = arguments
        self._hooks = None
        self._rank = None
        self._ended = False
        self._process = None  # the process of the first start: a trainer may be forked after the construction
        self._started = False
        self._failed_step = None
        self._failed_path = None
        self._session.set_error_callback(self._on_error)
        global _live
        if _live is not None:
            _live._retire()
        _live = self
        atexit.register(self._at_exit)
        self.initialized = True

    @staticmethod
    def _require(key, value, supported):
        if value not in supported:
            raise MsprobeException(
                MsprobeException.UNSUPPORTED_TYPE_ERROR,
                "%s %r cannot be collected with PyTorch in this version; supported: %s" % (
                    key, value, ", ".join(supported)))

    @property
    def instance(self):
        return self._instance

    @classmethod
    def start(cls, model=None):
        """Begins to record on this thread. `model` is remembered; level L1 does not need it."""
        self = cls._require_instance("start")
        if model is not None:
            self.model = model
        self._start()

    @classmethod
    def stop(cls):
        """Pauses recording and completes the files. Gradients of recorded calls still come in until `step`."""
        cls._require_instance("stop")._stop()

    @classmethod
    def step(cls):
        """Ends a training step: what is recorded next goes to the next step's folder, numbers begin at 0."""
        cls._require_instance("step")._step()

    @classmethod
    def forward_backward_dump_end(cls):
        """Takes no new calls; gradients of recorded ones still come in."""
        self = cls._require_instance("forward_backward_dump_end")
        if self._hooks is not None:
            self._session.pause()
            self._hooks.remove()

    @classmethod
    def _require_instance(cls, method):
        if cls._instance is None:
            raise MsprobeException(
                MsprobeException.INTERFACE_USAGE_ERROR,
                "create a PrecisionDebugger before calling %s()" % method)
        return cls._instance

    def _start(self):
        session = self._session
        if self._ended or self._in_forked_child() or self._failed_step == session.step:
            return
        if session.steps_exhausted():
            self._end()
            return
        if not session.step_selected():
            return
        self._find_rank()
        if not session.rank_selected(self._rank):
            if self._rank is None:
                logger.warning("this process has no rank and counts as rank 0, which 'rank' in the configuration excludes: "
                               "nothing is collected; use \"rank\": [] on a single card")
            return
        if self._hooks is None:
            table = ApiTable(session)
            session.set_api_table(table.functions)
            self._hooks = ApiHooks(session.recorder, table.operators)
            self.service.first_start = False
        self._process = os.getpid()
        try:
            warning = session.start(self._rank, _metadata())
        except CodedException as error:
            self._failed_step = session.step
            if self.config.dump_path != self._failed_path:
                self._failed_path = self.config.dump_path
                self._on_error("step %d is not collected, the training goes on: %s" % (session.step, error))
            return
        if warning:
            logger.warning(warning)
        if not self._started:
            logger.info_on_rank_0("debugger.start() is set successfully")
            logger.info_on_rank_0("Dump switch is turned on at step %d. Data will be saved in %s." % (
                session.step, session.folder))
        self._started = True
        self._hooks.install()

    def _in_forked_child(self):
        return self._process is not None and os.getpid() != self._process

    def _leave_to_parent(self):
        """In a forked child: files and records are the parent's."""
        if self._process is not None:
            self._started = False
            if self._hooks is not None:
                self._hooks.remove()
            self._session.leave_to_parent()

    def _retire(self):
        """Another debugger takes its place, after a script has reset `_instance`."""
        if not self._in_forked_child():
            self._step()
        self._ended = True
        atexit.unregister(self._at_exit)

    def _stop(self):
        if self._ended or self._in_forked_child() or self._failed_step == self._session.step:
            return
        if not self._started:
            if self._session.step_selected() and self._session.rank_selected(self._rank):
                logger.warning("debugger.stop() is called without a start() before it; nothing to do")
            return
        self._started = False
        self._session.pause()
        self._hooks.remove()
        self._quietly(self._session.flush)
        logger.info_on_rank_0("debugger.stop() is set successfully. Call debugger.start() to collect again.")
        logger.info_on_rank_0("%d records are in %s." % (
            self._session.record_count, os.path.join(self._session.folder, "dump.json")))

    def _step(self):
        if self._in_forked_child():
            return
        if self._started:
            self._session.pause()
            self._hooks.remove()
            self._started = False
        self._quietly(self._session.end_step)

    def _end(self):
        self._ended = True
        if self._hooks is not None:
            self._hooks.remove()
        logger.info_on_rank_0("msprobe: dump has successfully ended; all configured steps are collected")

    def _find_rank(self):
        if self._rank is not None:
            return
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            self._rank = distributed.get_rank()
            logger.rank = self._rank

    def _quietly(self, action):
        """Files that cannot be written must not end the training."""
        try:
            action()
        except Exception as error:
            self._on_error(str(error))

    def _on_error(self, text):
        logger.error(text)
        folder = self._session.folder
        if folder:
            try:
                with open(os.path.join(folder, "dump_error_info.log"), "a", encoding="utf-8",
                          errors="backslashreplace") as log:
                    log.write(text + "\n")
            except OSError:
                pass

    def _at_exit(self):
        if not self._ended:
            self._step()


def _step_texts(step):
    """The argument `step` as JSON values, None when not given."""
    if step is None:
        return None
    if not isinstance(step, (list, tuple)):
        raise MsprobeException(MsprobeException.INVALID_PARAM_ERROR, "step must be a list, not %r" % (step,))
    try:
        return [json.dumps(element) for element in step]
    except (TypeError, ValueError):
        raise MsprobeException(
            MsprobeException.INVALID_PARAM_ERROR, "step must hold integers and ranges such as \"3-5\", not %r" % (step,)
        ) from None


def _require_unicode(name, value):
    try:
        os.fspath(value or "").encode("utf-8")
    except (UnicodeEncodeError, AttributeError):
        raise MsprobeException(
            MsprobeException.INVALID_CHAR_ERROR, "%s is not valid Unicode text: %r" % (name, value)) from None


# What explains differences later: versions and the backend flags that change precision.
_FACTS = (
    ("tool_version", lambda: __version__),
    ("torch_version", lambda: torch.__version__),
    ("python_version", platform.python_version),
    ("deterministic_algorithms", torch.are_deterministic_algorithms_enabled),
    ("float32_matmul_precision", lambda: torch.get_float32_matmul_precision()),
    ("cuda_matmul_allow_tf32", lambda: torch.backends.cuda.matmul.allow_tf32),
    ("cudnn_allow_tf32", lambda: torch.backends.cudnn.allow_tf32),
)


def _metadata():
    facts = {}
    for name, read in _FACTS:
        try:
            facts[name] = str(read())
        except Exception:  # torch refuses to answer where its older and newer precision flags are mixed
            facts[name] = "unknown"
    return facts
