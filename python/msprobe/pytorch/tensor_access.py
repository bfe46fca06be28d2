"""What the extension needs of torch: a few classes, and the description of tensors whose memory it cannot read itself."""

import contextlib
import inspect
import sys

import torch
from torch import Size, Tensor, device, dtype  # noqa: F401  (read by the extension)
from torch.nn import Parameter  # noqa: F401

from msprobe.pytorch.device_stats import DeviceStatistics, Unsupported, is_captured  # noqa: F401
from msprobe.pytorch.torch_modes import (  # noqa: F401
    DisableTorchFunction, without_dispatch_modes, without_torch_dispatch)

next_sequence_number = getattr(torch.autograd, "_get_sequence_nr", None)
# Number of the backward pass that runs on this thread, -1 outside of one.
current_graph_task = getattr(torch._C, "_current_graph_task_id", None)
# Older torch calls no forward hook after an exception: whether a module's call has ended is told by this code's frames.
_always_calls_hooks = "always_call" in inspect.signature(torch.nn.Module.register_forward_hook).parameters
module_call_code = None if _always_calls_hooks else torch.nn.Module._call_impl.__code__
# A sparse tensor with more elements gets no file and no checksum.
_MOST_DENSE = 1 << 26
_SPARSE = tuple(getattr(torch, name) for name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
                if hasattr(torch, name))
# Of the base class: a subclass may have its own.
_shape = Tensor.shape.__get__
_requires_grad = Tensor.requires_grad.__get__
_device = Tensor.device.__get__
_dtype = Tensor.dtype.__get__
_is_nested = Tensor.is_nested.__get__


def add_gradients(a, b):
    with without_dispatch_modes(), torch.no_grad():
        return a + b


def describe(tensor, statistics=None):
    """(type text, dtype text, shape, requires_grad, value, further keys or None, layout or None, failure text or None,
    zeros).

    Called for everything but plain strided host tensors: devices, subclasses, sparse, quantised, fake, meta, conjugate and
    functorch-wrapped tensors. Never touches memory that is not there. A size that is no number (nested tensors) is -1.
    The value is a plain host tensor, or None; with `statistics`, a DeviceStatistics, for a tensor on a device it is the
    tuple that `begin` gave; for a sparse tensor its stored elements, and `zeros` is how many it does not store. The layout, (strides, storage offset), is that of a device tensor that is not simply contiguous.
    """
    kind = "torch.Tensor"
    extra = None
    cls = type(tensor)
    if cls is not Tensor and cls is not Parameter:
        if cls.__module__.startswith("torch."):
            kind = cls.__module__ + "." + cls.__qualname__
    source = tensor
    if kind == "torch.distributed.tensor.DTensor":
        source = tensor._local_tensor  # this process' part: values and shape belong together
        extra = {"device_mesh": tensor.device_mesh.mesh.tolist(), "placements": [str(p) for p in tensor.placements]}
    with _untraced():  # sizes included: those of a traced tensor are values of the graph
        value, failure, zeros = _value(source, statistics)
        on_host = isinstance(value, Tensor) and _device(source).type == "cpu"
        layout = None if value is None else _layout(value if on_host else source)
        return kind, str(_dtype(tensor)), _sizes(source), bool(_requires_grad(tensor)), value, extra, layout, failure, zeros


@contextlib.contextmanager
def _untraced():
    """What is done inside does not become part of a graph that torch.jit.trace is making."""
    state = torch._C._get_tracing_state()
    if state is None:
        yield
        return
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


def _sizes(tensor):
    try:
        return tuple(_known(size) for size in _shape(tensor))
    except Exception:
        return tuple(_size(tensor, i) for i in range(tensor.dim()))


def _size(tensor, i):
    try:
        return _known(Tensor.size(tensor, i))
    except Exception:
        return -1


def _known(size):
    """A symbolic size is what it was traced with: asking for more would bind the traced graph to that."""
    if type(size) is int:
        return size
    node = size.node
    hint = node.hint if node.has_hint() else None
    return hint if type(hint) is int else -1


def _layout(tensor):
    if tensor.layout is not torch.strided:
        return None
    strides, offset = tuple(Tensor.stride(tensor)), Tensor.storage_offset(tensor)
    return None if offset == 0 and Tensor.is_contiguous(tensor) else (strides, offset)


def _value(tensor, statistics):
    """The value as `describe` gives it, what has gone wrong, and the number of zeros."""
    device = _device(tensor).type
    try:
        if device == "meta" or not _has_data(tensor):
            return None, None, 0
        if device != "cpu" and is_captured(device):
            return None, "a graph of %s is being captured: values of its calls are not known" % device, 0
        if device == "npu" and _is_blocked(tensor):
            return None, None, 0
        with without_dispatch_modes(), torch.no_grad():
            plain = _host_alias(tensor) if device == "cpu" else Tensor.detach(tensor)
            if plain is None:
                return None, None, 0
            if plain.is_quantized:
                plain = plain.dequantize()
            zeros = 0
            if plain.layout is not torch.strided:
                if statistics is None and plain.numel() > _MOST_DENSE:
                    return None, "a sparse tensor of %d elements is too large to be made dense: its values are null" % (
                        plain.numel()), 0
                if statistics is not None and plain.layout in _SPARSE:
                    plain, zeros = _stored(plain)
                    statistics = None
                else:
                    plain = plain.to_dense()
            plain = plain.resolve_conj().resolve_neg()
            if statistics is not None and plain.device.type != "cpu" and type(plain) is Tensor and plain.numel():
                try:
                    begun = statistics.begin(plain)
                    return (None, begun, 0) if isinstance(begun, str) else (begun, None, 0)
                except Unsupported:
                    pass
            plain = _to_host(plain)
            return plain if type(plain) is Tensor else plain.as_subclass(Tensor), None, zeros
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return None, None if device == "cpu" else "values on %s cannot be read: %s: %s" % (
            device, type(error).__name__, str(error)[:200]), 0


def _stored(sparse):
    """The elements that a sparse tensor stores, each once, and how many zeros it has beside them."""
    elements = sparse.numel()
    if sparse.layout is torch.sparse_coo:
        sparse = sparse.coalesce()
    values = sparse.values()
    return values, elements - values.numel()


def _host_alias(tensor):
    """The same host memory as a plain tensor; None for a wrapper of other tensors, which has none."""
    with without_torch_dispatch():
        plain = Tensor.detach(tensor)
        plain = plain if type(plain) is Tensor else plain.as_subclass(Tensor)
    if type(tensor).__torch_dispatch__ is Tensor.__torch_dispatch__:
        return plain
    has_memory = plain.layout is torch.strided and (not plain.numel() or plain.data_ptr() != 0)
    return plain if has_memory else None


def _to_host(tensor):
    """One transfer; of the storage range where that is no larger, so that expanded tensors are not blown up."""
    if tensor.device.type == "cpu" or type(tensor) is not Tensor:
        return tensor.cpu()
    if not tensor.numel():
        return torch.empty(tensor.size(), dtype=tensor.dtype, device="cpu")
    if tensor.is_contiguous():
        return tensor.cpu()
    sizes, strides = tensor.size(), tensor.stride()
    length = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if length > tensor.numel():
        return tensor.cpu()
    return tensor.as_strided((length,), (1,)).cpu().as_strided(sizes, strides, 0)


_WITHOUT_DATA = ("FakeTensor", "FunctionalTensor", "AsyncCollectiveTensor", "UninitializedParameter", "UninitializedBuffer")


_BLOCKED_FORMATS = (29, 50, 51, 52, 53, 54)  # ACL_FORMAT_FRACTAL_NZ and its forms of other block sizes


def _is_blocked(tensor):
    """Whether an NPU stores the tensor in blocks: a copy of such memory may ask for sizes beyond reason."""
    query = getattr(sys.modules.get("torch_npu"), "get_npu_format", None)
    try:
        return query is not None and int(query(tensor)) in _BLOCKED_FORMATS
    except Exception:  # a version that cannot tell
        return False


def _has_data(tensor):
    name = type(tensor).__name__
    if name in _WITHOUT_DATA or _is_nested(tensor):
        return False
    functorch = getattr(torch._C, "_functorch", None)
    wrapped = getattr(functorch, "is_functorch_wrapped_tensor", None)
    return not (wrapped is not None and wrapped(tensor))
