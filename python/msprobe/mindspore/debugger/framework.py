"""What the debugger needs to know of MindSpore."""

import mindspore
from mindspore import communication, nn

from msprobe import _core
from msprobe.core.debugger import arguments
from msprobe.mindspore import tensor_access
from msprobe.mindspore.custom_apis import CustomApis
from msprobe.mindspore.debugger import execution_mode, metadata
from msprobe.mindspore.debugger.installed_hooks import InstalledHooks


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

    @staticmethod
    def check_versions():
        pass

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
