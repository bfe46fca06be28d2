"""What the debugger needs to know of torch."""

import torch

from msprobe import _core
from msprobe.core.common.exceptions import MsprobeException
from msprobe.core.debugger import arguments
from msprobe.pytorch import tensor_access
from msprobe.pytorch.custom_apis import CustomApis
from msprobe.pytorch.debugger import environment, metadata
from msprobe.pytorch.debugger.installed_hooks import InstalledHooks
from msprobe.pytorch.kernel_dump import KernelDump


class TorchFramework:
    Session = _core.TorchSession
    Module = torch.nn.Module
    MODULE = "torch.nn.Module"
    Tensor = torch.Tensor
    tensor_access = tensor_access
    custom_apis = CustomApis
    installed_hooks = InstalledHooks
    kernel_dump = KernelDump
    installs_at_construction = False  # nothing is installed before `start`
    metadata = staticmethod(metadata.read)
    check_environment = staticmethod(environment.check)

    @staticmethod
    def check_versions():
        if not hasattr(torch.overrides, "TorchFunctionMode"):
            arguments.refuse("collecting needs PyTorch 1.13 or newer, this is %s" % torch.__version__,
                             MsprobeException.UNSUPPORTED_TYPE_ERROR)

    @staticmethod
    def before_start(collection):
        pass

    @staticmethod
    def rank():
        """The rank of torch.distributed, None while it is not known."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank()
        return None

    @staticmethod
    def unlisted_functions(session):
        """[(name, calls)] of functions that ran and are in no list, where the user has asked for them."""
        functions = session.take_unlisted_functions()
        return sorted((torch.overrides.resolve_name(function) or repr(function), calls)
                      for function, calls in functions.items())
