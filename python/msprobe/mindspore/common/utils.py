"""What training scripts import from here: callbacks for Model.train, and seeding."""

from mindspore.train import Callback

from msprobe.core.common.log import logger
from msprobe.mindspore.common.seeding import seed_all  # noqa: F401


class MsprobeStep(Callback):
    """Starts and stops `debugger` around each training step of Model.train; a step of the training is one of the debugger.

    Where cells are recorded, call `debugger.start(model)` once before Model.train.
    """

    def __init__(self, debugger):
        super().__init__()
        self.debugger = debugger

    def on_train_begin(self, run_context):
        if getattr(run_context.original_args(), "dataset_sink_mode", False):
            logger.warning("the data set is sunk: what the callback sees as one step is many; use dataset_sink_mode=False to "
                           "record single steps")

    def on_train_step_begin(self, run_context):
        self.debugger.start()

    def on_train_step_end(self, run_context):
        self.debugger.stop()
        self.debugger.step()


class MsprobeInitStep(Callback):
    """Graph mode at level L2, when a training is resumed: numbers of iterations go on where the checkpoint ended."""

    def on_train_begin(self, run_context):
        try:
            from mindspore._c_expression import _set_init_iter
        except ImportError:
            logger.warning("MsprobeInitStep has no effect: this MindSpore cannot set the number of the first iteration")
            return
        _set_init_iter(run_context.original_args().cur_step_num)
