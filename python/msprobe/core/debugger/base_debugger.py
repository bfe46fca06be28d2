"""The debugger that a training script starts and stops, as far as it is the same with every framework."""

import os

from msprobe.core.common.exceptions import MsprobeException
from msprobe.core.common.log import logger
from msprobe.core.debugger import arguments
from msprobe.core.debugger.public_state import Config, Service

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_TOOL_FOLDER = _PACKAGE + os.sep


class BaseDebugger:
    """Records what runs between `start()` and `stop()`; `step()` ends a training step. On the instance or on the class.

    One instance per process: a later construction returns it and ignores its arguments. An argument that is not None wins
    over the file, the file over the packaged default. Raises MsprobeException for anything it cannot use.

    `_framework`: what the debugger of a framework adds (see pytorch/debugger/framework.py).
    """

    _framework = None
    _instance = None

    def __new__(cls, *args, **kwargs):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.initialized = False
        return cls._instance

    def __init__(self, config_path=None, task=None, dump_path=None, level=None, model=None, step=None):
        given = (config_path, task, dump_path, level, step)
        if self.initialized:
            if any(value is not None for value in given) and given != self._given:
                logger.warning("PrecisionDebugger exists already in this process; the arguments given now are ignored")
            return
        try:
            self._initialise(given, model)
        except BaseException:
            type(self)._instance = None
            raise

    def _initialise(self, given, model):
        config_path, task, dump_path, level, step = given
        framework = self._framework
        framework.check_versions()
        models = arguments.named_models(model, framework.Module, framework.MODULE)
        packaged = os.path.join(_PACKAGE, "config.json")
        session = framework.Session(
            config_path=arguments.path_or_none("config_path", config_path),
            task=arguments.path_or_none("task", task),
            dump_path=arguments.path_or_none("dump_path", dump_path),
            level=arguments.path_or_none("level", level),
            steps=arguments.step_texts(step),
            packaged_config=packaged if os.path.exists(packaged) else "",
            helpers=framework.tensor_access,
            tool_folder=_TOOL_FOLDER,
        )
        for warning in session.warnings:
            logger.warning(warning)
        framework.check_environment()
        self.config = Config(session)
        self.service = Service(session, self.config)
        self.enable_dataloader = False
        self._given = given
        self._collection = framework.collection(session, _TOOL_FOLDER)
        self._collection.models.add(models)
        self.initialized = True

    @property
    def instance(self):
        return self._instance

    @property
    def task(self):
        return self.config.task

    @property
    def model(self):
        """What was given last as a model; not kept alive."""
        return self._collection.models.latest()

    @classmethod
    def start(cls, model=None, token_range=None, rank_id=None):
        """Begins to record on this thread.

        `model`: a model or a list of them, needed once at levels L0 and mix. `token_range`: [first, last] call of the
        (first) model to record, counted from this start. `rank_id`: stands in for the rank in the process group.
        """
        self = cls._require_instance("start")
        if self._collection.start(model, token_range, rank_id):
            self.service.first_start = False

    @classmethod
    def stop(cls):
        """Pauses recording and completes the files. Gradients of recorded calls still come in until `step`."""
        cls._require_instance("stop")._collection.stop()

    @classmethod
    def step(cls):
        """Ends a training step: what is recorded next goes to the next step's folder, numbers begin at 0."""
        cls._require_instance("step")._collection.step()

    @classmethod
    def forward_backward_dump_end(cls):
        """Takes no new calls, at any level, until the next `start`; gradients of recorded ones still come in."""
        cls._require_instance("forward_backward_dump_end")._collection.take_no_new_calls()

    @classmethod
    def set_init_step(cls, step):
        """Counts steps from here: the current step is `step`. To be called before the training loop."""
        cls._require_instance("set_init_step")._collection.set_init_step(step)

    @classmethod
    def micro_step(cls):
        """Begins a micro batch: records say in construct.json which one of the step they belong to."""
        cls._require_instance("micro_step")._collection.micro_step()

    @classmethod
    def save(cls, variable, name, save_backward=True):
        """Writes a value to debug.json as `{name}.{n}.debug`, its gradients as `{name}_grad.{n}.debug`.

        `variable`: a tensor, number or string, or lists, tuples and dicts of them. At level debug wherever it is called, at
        other levels between `start` and `stop`. What cannot be saved is one warning.
        """
        cls._require_instance("save")._collection.save(variable, name, save_backward)

    @classmethod
    def register_custom_api(cls, module, api, api_prefix=None):
        """Records calls of the function `module.api` too (levels L1 and mix), as `{api_prefix}.{api}.{n}`.

        `module`: a module, class or object; its name is the prefix where none is given. The attribute is replaced from
        `start` to `stop` only, and not at all where the framework itself shows the calls to the tool.
        """
        cls._require_instance("register_custom_api")._collection.register_custom_api(module, api, api_prefix)

    @classmethod
    def restore_custom_api(cls, module, api):
        """Undoes `register_custom_api`; nothing where it was not called."""
        cls._require_instance("restore_custom_api")._collection.restore_custom_api(module, api)

    @classmethod
    def monitor(cls, model):
        """Belongs to a task that is not supported: says so and does nothing."""
        cls._require_instance("monitor")
        logger.warning("monitor() does nothing: it belongs to the task grad_probe, which is not supported; "
                       "levels L0 and mix record the gradients of parameters")

    @classmethod
    def _require_instance(cls, method):
        if cls._instance is None:
            arguments.refuse("PrecisionDebugger is not created; construct it before calling %s()" % method,
                             MsprobeException.INTERFACE_USAGE_ERROR)
        return cls._instance
