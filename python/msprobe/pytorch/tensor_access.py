"""What the extension needs of torch: a few classes, and the description of tensors whose memory it cannot read itself."""

import contextlib

import torch
from torch import Size, Tensor, device, dtype  # noqa: F401  (read by the extension)
from torch.nn import Parameter  # noqa: F401

# Disables subclasses and modes alike; torch 2.x calls a subclass-only variant DisableTorchFunctionSubclass.
DisableTorchFunction = torch._C.DisableTorchFunction
next_sequence_number = getattr(torch.autograd, "_get_sequence_nr", None)


try:
    from torch.utils._python_dispatch import _disable_current_modes
except ImportError:  # older torch: modes of the user see what the tool does
    _disable_current_modes = contextlib.nullcontext
_dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_shape = Tensor.shape.__get__
_requires_grad = Tensor.requires_grad.__get__


def _unseen():
    """A context in which dispatch modes of the user do not see what is done to tensors; one that counts stays right."""
    return _disable_current_modes() if _dispatch_modes() else contextlib.nullcontext()


def add_gradients(a, b):
    with _unseen(), torch.no_grad():
        return a + b


def describe(tensor):
    """(type text, dtype text, shape, requires_grad, plain host tensor or None, further keys or None).

    Called for everything but plain strided host tensors: devices, subclasses, sparse, quantised, fake, meta, conjugate and
    functorch-wrapped tensors. Never touches memory that is not there. A size that is no number (nested tensors) is -1.
    """
    kind = "torch.Tensor"
    extra = None
    cls = type(tensor)
    if cls is not Tensor and cls is not Parameter:
        if cls.__module__.startswith("torch."):
            kind = cls.__module__ + "." + cls.__qualname__
    return kind, str(tensor.dtype), _sizes(tensor), bool(_requires_grad(tensor)), _host_copy(tensor), extra


def _sizes(tensor):
    try:
        return tuple(int(size) for size in _shape(tensor))
    except Exception:
        return tuple(_size(tensor, i) for i in range(tensor.dim()))


def _size(tensor, i):
    try:
        return int(Tensor.size(tensor, i))
    except Exception:
        return -1


def _host_copy(tensor):
    """A plain tensor in host memory with the same values, or None where there are none to read."""
    try:
        if tensor.device.type == "meta" or not _has_data(tensor):
            return None
        with _unseen(), torch.no_grad():
            plain = tensor.detach()
            if plain.is_quantized:
                plain = plain.dequantize()
            if plain.layout is not torch.strided:
                plain = plain.to_dense()
            plain = plain.resolve_conj().resolve_neg().cpu()
            return plain if type(plain) is Tensor else plain.as_subclass(Tensor)
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def _has_data(tensor):
    name = type(tensor).__name__
    if name in ("FakeTensor", "FunctionalTensor", "AsyncCollectiveTensor") or tensor.is_nested:
        return False
    if tensor.device.type != "cpu" and _is_captured(tensor.device.type):
        return False
    functorch = getattr(torch._C, "_functorch", None)
    wrapped = getattr(functorch, "is_functorch_wrapped_tensor", None)
    return not (wrapped is not None and wrapped(tensor))


def _is_captured(device_type):
    """Whether a graph of the device is being captured: there are no values yet, and a copy would spoil the capture."""
    capturing = getattr(getattr(torch, device_type, None), "is_current_stream_capturing", None)
    return capturing is not None and capturing()
