"""What the debugger needs to know of MindSpore."""

import mindspore
import numpy
from mindspore import communication, nn

from msprobe import _core
from msprobe.core.common.log import logger
from msprobe.core.common.exceptions import MsprobeException
from msprobe.core.debugger import arguments
from msprobe.core.debugger.collection import Collection
from msprobe.mindspore import tensor_access
from msprobe.mindspore.custom_apis import CustomApis
from msprobe.mindspore.debugger import execution_mode, metadata
from msprobe.mindspore.debugger.installed_hooks import InstalledHooks
from msprobe.mindspore.kernel_dump import KernelDump


def _works_with_numpy():
    """A MindSpore for numpy 1 fails where a number of numpy 2 is turned into a tensor."""
    try:
        mindspore.Tensor(numpy.float32(1.0)) * 2.0
        return True
    except SystemError:
        return False


class MindSporeFramework:
    Session = _core.MindSporeSession
    Module = nn.Cell
    MODULE = "mindspore.nn.Cell"
    Tensor = mindspore.Tensor
    tensor_access = tensor_access
    custom_apis = CustomApis
    installed_hooks = InstalledHooks
    kernel_dump = None
    installs_at_construction = True
    metadata = staticmethod(metadata.read)

    @classmethod
    def collection(cls, session, tool_folder):
        if session.level == "L2":
            return KernelDump(session, cls)
        if session.may_synchronize and execution_mode.run_operators_one_by_one():
            logger.info("pynative_synchronize is set to True: reading values would wait for MindSpore's pipeline again and again; "
                        "\"pynative_synchronize\": false in the configuration leaves it alone")
        if not tensor_access.SHOWS_GRAPH:
            logger.warning("MindSpore %s does not show its backward graph: backward records hold the gradients of outputs, those of "
                           "inputs are null; MindSpore 2.9 and newer show it" % mindspore.__version__)
        return Collection(session, tool_folder, cls)

    @staticmethod
    def check_versions():
        if int(numpy.__version__.partition(".")[0]) >= 2 and not _works_with_numpy():
            arguments.refuse("numpy %s is installed and MindSpore %s is built for numpy 1: run pip install \"numpy<2\"" % (
                numpy.__version__, mindspore.__version__), MsprobeException.UNSUPPORTED_TYPE_ERROR)

    @staticmethod
    def check_environment():
        pass

    @staticmethod
    def before_start(collection):
        """Graph mode runs no hooks: one clear error for what cannot be recorded there."""
        mode = execution_mode.current()
        if mode == execution_mode.PYNATIVE:
            return
        if collection.hooks is not None:
            collection.hooks.end()
        arguments.refuse("level %s cannot be recorded in graph mode (%s): set PYNATIVE_MODE before start(), or use level L2" % (
            collection.session.level, mode))

    @staticmethod
    def rank():
        """The rank in the process group, None while it is not known."""
        return communication.get_rank() if communication.GlobalComm.INITED else None

    @staticmethod
    def unlisted_functions(session):
        return []
