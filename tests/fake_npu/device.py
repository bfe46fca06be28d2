"""The device itself: a storage on it holds the host tensor with its bytes as an attribute, so both have one lifetime."""

import functools
import itertools
import sys

import torch
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from fake_npu import faults
from fake_npu.transfers import transfers

_aten = torch.ops.aten
_CPU = torch._C.DispatchKey.CPU
_addresses = itertools.count(1 << 56, 1 << 32)  # of no process: reading one is a segmentation fault
# What their result depends on has to be known on the host.
_WAITING = {"nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "equal", "is_nonzero"}


class _Module:
    """`torch.npu`."""

    capturing = False

    def is_available(self):
        return True

    is_initialized = is_available

    def device_count(self):
        return 1

    def current_device(self):
        return 0

    def synchronize(self, device=None):
        transfers.waits += 1

    def is_current_stream_capturing(self):
        return self.capturing

    def _is_in_bad_fork(self):
        return False

    def manual_seed_all(self, seed):
        pass

    def get_rng_state(self, device=None):
        return torch.get_rng_state()

    def set_rng_state(self, state, device=None):
        torch.set_rng_state(state)

    def get_amp_supported_dtype(self):
        return [torch.float16, torch.bfloat16]


def _kernel(function):
    """Unseen by modes and subclasses, as the kernels of real devices are."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        with torch._C.DisableTorchFunction():
            return function(*args, **kwargs)

    return run


def _on_device(value):
    return isinstance(value, torch.Tensor) and value.device.type == "npu"


def _set_memory(tensor, raw, size, stride, offset=0):
    """Makes `tensor` a view of new device memory whose bytes are those of the host storage `raw`."""
    storage = torch._C._construct_storage_from_data_pointer(next(_addresses), torch.device("npu", 0), raw.nbytes())
    storage.raw = raw
    return _aten.set_.source_Storage_storage_offset._op_dk(_CPU, tensor, storage, offset, size, stride)


def _from_host(host):
    tensor = torch._C._acc.create_empty_tensor((0,), host.dtype)
    return _set_memory(tensor, host.untyped_storage(), host.size(), host.stride(), host.storage_offset())


def to_host(tensor):
    """The device's bytes as a host tensor that shares them; counts as no transfer."""
    raw = getattr(tensor.untyped_storage(), "raw", None)
    host = torch.empty(0, dtype=tensor.dtype)
    if raw is not None:
        host.set_(raw, tensor.storage_offset(), tensor.size(), tensor.stride())
    host = host.conj() if tensor.is_conj() else host
    return torch._neg_view(host) if tensor.is_neg() else host


def _argument(value):
    if _on_device(value):
        return to_host(value)
    if isinstance(value, torch.device) and value.type == "npu":
        return torch.device("cpu")
    return value


def _is_view(schema):
    return any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)


def _compute(op, *args, **kwargs):
    """Any operator: on the host with the same bytes."""
    schema = op._schema
    name = schema.name.partition("::")[2]
    if _is_view(schema):
        return op._op_dk(_CPU, *args, **kwargs)
    transfers.waits += name in _WAITING
    of_host = {}

    def unwrap(value):
        host = _argument(value)
        if host is not value and isinstance(host, torch.Tensor):
            of_host[id(host)] = (host, value)
        return host

    def wrap(value):
        if not isinstance(value, torch.Tensor):
            return value
        host, tensor = of_host.get(id(value), (None, None))
        result = faults.apply(name, value)
        if host is None:
            return _from_host(result)
        if result is not value:
            host.copy_(result)
        if host.size() != tensor.size() or host.untyped_storage().nbytes() != tensor.untyped_storage().nbytes():
            _set_memory(tensor, host.untyped_storage(), host.size(), host.stride(), host.storage_offset())
        return tensor

    return tree_map(wrap, op(*tree_map(unwrap, args), **tree_map(unwrap, kwargs)))


def _copy_from(source, target, non_blocking=False):
    if not _on_device(target):
        transfers.copies.append(source.numel() * source.element_size())
    elif not _on_device(source):
        transfers.uploads += 1
    _argument(target).copy_(_argument(source))
    return target


def _local_scalar_dense(tensor):
    transfers.scalars += 1
    return to_host(tensor).item()


def _empty(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return _from_host(torch.empty(size, dtype=dtype, memory_format=memory_format or torch.contiguous_format))


def _empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    return _from_host(torch.empty_strided(size, stride, dtype=dtype))


def _resize(tensor, size, *, memory_format=None):
    host = to_host(tensor).resize_(size)
    return _set_memory(tensor, host.untyped_storage(), host.size(), host.stride(), host.storage_offset())


def _convolution(*args):
    return _compute(_aten.convolution.default, *args)


def _convolution_backward(gradient, source, weight, *rest):
    bias_sizes = [weight.size(0) if not rest[3] else weight.size(1) * rest[5]]
    return _compute(_aten.convolution_backward.default, gradient, source, weight, bias_sizes, *rest)


def register():
    if "_libraries" in globals():
        return
    _setup_privateuseone_for_python_backend("npu", backend_module=_Module())
    anything = torch.library.Library("_", "IMPL")
    anything.fallback(_kernel(_compute), "PrivateUse1")
    known = torch.library.Library("aten", "IMPL")
    for name, function in (
            ("_copy_from", _copy_from), ("_copy_from_and_resize", _copy_from), ("resize_", _resize),
            ("_local_scalar_dense", _local_scalar_dense), ("empty.memory_format", _empty),
            ("empty_strided", _empty_strided), ("convolution_overrideable", _convolution),
            ("convolution_backward_overrideable", _convolution_backward)):
        known.impl(name, _kernel(function), "PrivateUse1")
    for key in ("Conjugate", "Negative"):  # else the copy that resolves the bit would ask for that copy
        known.impl("_copy_from", torch.library.fallthrough_kernel, key)
    for name in ("set_.source_Storage", "set_.source_Storage_storage_offset", "set_.source_Tensor", "set_"):
        packet, _, overload = name.partition(".")
        op = getattr(getattr(_aten, packet), overload or "default")
        known.impl(name, lambda *args, op=op: op._op_dk(_CPU, *args), "PrivateUse1")
    globals()["_libraries"] = (anything, known)
    sys.modules.setdefault("torch.npu", torch.npu)
