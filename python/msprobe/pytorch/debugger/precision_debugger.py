"""The debugger that a training script starts and stops."""

from msprobe.core.common.log import logger
from msprobe.core.debugger.base_debugger import BaseDebugger
from msprobe.pytorch.compiled_regions import uncompiled
from msprobe.pytorch.debugger.framework import TorchFramework


class PrecisionDebugger(BaseDebugger):
    __doc__ = BaseDebugger.__doc__
    _framework = TorchFramework
    _instance = None

    @classmethod
    def start(cls, model=None, token_range=None, rank_id=None, scheduled_tokens=None):
        """Begins to record on this thread.

        `model`: a Module or a list of them, needed once at levels L0 and mix. `token_range`: [first, last] call of the
        (first) model to record, counted from this start. `rank_id`: stands in for the rank of torch.distributed.
        """
        if scheduled_tokens is not None:
            logger.warning("scheduled_tokens is ignored: whole batches are recorded")
        super().start(model, token_range, rank_id)


for _name in ("start", "stop", "step", "forward_backward_dump_end", "set_init_step", "micro_step", "save",
              "register_custom_api", "restore_custom_api"):
    _method = PrecisionDebugger.__dict__.get(_name) or BaseDebugger.__dict__[_name]
    setattr(PrecisionDebugger, _name, classmethod(uncompiled(_method.__func__)))
