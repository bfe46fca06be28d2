"""Level L2: the device's own dump of the kernels of one API call. What is dumped, and how, is the device's affair."""

import json
import os

from msprobe.core.common.exceptions import MsprobeException
from msprobe.core.common.log import logger


def device_dump():
    """torch_npu.npu, which can dump kernels; MsprobeException where there is no such device."""
    try:
        import torch_npu
    except ImportError as error:
        raise MsprobeException(
            MsprobeException.UNSUPPORTED_TYPE_ERROR,
            "level L2 dumps kernels of an NPU and needs torch_npu, which cannot be imported (%s); use level L0, L1 or mix" % error
        ) from None
    npu = getattr(torch_npu, "npu", None)
    missing = [name for name in ("init_dump", "set_dump", "finalize_dump", "synchronize") if not hasattr(npu, name)]
    if missing:
        raise MsprobeException(
            MsprobeException.UNSUPPORTED_TYPE_ERROR,
            "level L2 needs a torch_npu that can dump kernels; this one lacks %s" % ", ".join(missing))
    return npu


class KernelDump:
    """Switches the device's dump on around the one API call that the configuration names, or around its backward.

    The call is made once, as it is. A device that fails to dump is told on the log; the call's result stands.
    """

    def __init__(self, session, errors):
        self._npu = device_dump()
        self._session = session
        self._errors = errors
        self._config = None
        self.folder = None  # of the step, while it is open
        self._before = set()
        self._dumping = False

    def open_step(self):
        """Prepares the folder of the step. Raises OSError."""
        if self.folder is not None:
            return
        self.folder = os.path.join(self._session.dump_path, "step%d" % self._session.step)
        os.makedirs(self.folder, mode=0o750, exist_ok=True)
        self._config = self._session.acl_config
        if not self._config:
            self._config = os.path.join(self.folder, "kernel_config_%d.json" % os.getpid())
            with open(self._config, "w", encoding="utf-8") as file:
                json.dump({"dump": {"dump_list": [], "dump_path": self.folder, "dump_mode": "all", "dump_op_switch": "on"}}, file)
            os.chmod(self._config, 0o640)

    def close_step(self):
        """True if the step was open."""
        self._end()  # of a backward that did not reach all inputs
        folder, self.folder, self._config = self.folder, None, None
        return folder is not None

    def around(self, function, arguments, keywords):
        self._begin()
        try:
            return function(*arguments, **(keywords or {}))
        finally:
            self._end()

    def around_backward(self, output, last_nodes):
        """`output`: the tensor whose gradient begins the backward, or None; `last_nodes`: the autograd nodes that end it."""
        if output is None:
            logger.warning("The kernel dump does not support the %s API: its output has no gradient." % self._session.kernel_name)
            return
        last_nodes = last_nodes or [output.grad_fn]
        to_come = [len(last_nodes)]

        def begin(_):
            self._begin()

        def end(*_):
            to_come[0] -= 1
            if to_come[0] == 0:
                self._end()

        output.register_hook(begin)
        for node in last_nodes:
            node.register_hook(end)

    def _begin(self):
        if self._dumping or self._config is None:
            return
        self._before = self._files()
        try:
            self._npu.synchronize()
            self._npu.init_dump()
            self._npu.set_dump(self._config)
            self._npu.synchronize()
            self._dumping = True
        except Exception as error:
            self._errors.error("the device cannot dump the kernels of %s: %s: %s" % (
                self._session.kernel_name, type(error).__name__, error))

    def _end(self):
        if not self._dumping:
            return
        self._dumping = False
        name = self._session.kernel_name
        try:
            self._npu.synchronize()
            self._npu.finalize_dump()
            self._npu.synchronize()
        except Exception as error:
            self._errors.error("the device cannot end the dump of %s: %s: %s" % (name, type(error).__name__, error))
            return
        if self._session.acl_config or self._files() - self._before:
            logger.info("The kernel data of %s is dumped successfully." % name)
        else:
            logger.warning("the kernel dump of %s has made no file in %s: the API ran no kernel on the device, or the driver "
                           "does not dump" % (name, self.folder))

    def _files(self):
        return {os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names}
