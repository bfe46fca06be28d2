"""What the extension needs of torch: a few classes, and the description of tensors whose memory it cannot read itself."""

import torch
from torch import Size, Tensor, device, dtype  # noqa: F401  (read by the extension)
from torch.nn import Parameter  # noqa: F401

# Disables subclasses and modes alike; torch 2.x calls a subclass-only variant DisableTorchFunctionSubclass.
DisableTorchFunction = torch._C.DisableTorchFunction
next_sequence_number = getattr(torch.autograd, "_get_sequence_nr", None)


def add_gradients(a, b):
    with torch.no_grad():
        return a + b


def describe(tensor):
    """(type text, dtype text, shape, requires_grad, plain host tensor or None, further keys or None).

    Called for everything but plain strided host tensors: devices, subclasses, sparse, quantised, fake, meta, conjugate and
    functorch-wrapped tensors. Never touches memory that is not there.
    """
    kind = "torch.Tensor"
    extra = None
    cls = type(tensor)
    if cls is not Tensor and cls is not Parameter:
        if cls.__module__.startswith("torch."):
            kind = cls.__module__ + "." + cls.__qualname__
    shape = tuple(int(size) for size in tensor.shape)
    return kind, str(tensor.dtype), shape, bool(tensor.requires_grad), _host_copy(tensor), extra


def _host_copy(tensor):
    """A plain tensor in host memory with the same values, or None where there are none to read."""
    try:
        if tensor.device.type == "meta" or not _has_data(tensor):
            return None
        with torch.no_grad():
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
    if name in ("FakeTensor", "FunctionalTensor", "AsyncCollectiveTensor"):
        return False
    functorch = getattr(torch._C, "_functorch", None)
    wrapped = getattr(functorch, "is_functorch_wrapped_tensor", None)
    return not (wrapped is not None and wrapped(tensor))
