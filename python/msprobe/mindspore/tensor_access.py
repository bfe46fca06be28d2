"""What the extension needs of MindSpore: a few classes, and the description of tensors whose memory it cannot read itself."""

import inspect

import mindspore
from mindspore import Parameter, Tensor, _c_expression, nn  # noqa: F401  (read by the extension)
from mindspore._c_expression import typing as _typing

try:
    from mindspore._c_expression import TensorPy as TensorBase
except ImportError:  # older versions
    from mindspore._c_expression import Tensor as TensorBase  # noqa: F401

dtype = _typing.Type

_UNREADABLE = ("qint4x2", "int4", "hifloat8")


# From 2.9 on: the nodes, and which of them are one. Older versions tell the gradients of a call's outputs alone.
SHOWS_GRAPH = hasattr(Tensor, "_grad_node") and hasattr(getattr(_c_expression, "BackwardNodePy", None), "_unique_id")


# Older versions call no hook after an exception: whether a cell's call has ended is told by this code's frames.
module_call_code = (None if "always_call" in inspect.signature(nn.Cell.register_forward_hook).parameters
                    else nn.Cell.__call__.__code__)


def has_host_memory_alone():
    """For versions whose tensors do not say where they are."""
    return mindspore.get_context("device_target") == "CPU"


def register_tensor_hook(tensor, hook):
    return Tensor.register_hook(tensor, as_function(hook))


def as_function(hook):
    """Older versions take nothing but Python functions for hooks."""

    def call(*arguments):
        return hook(*arguments)

    return call


def add_gradients(a, b):
    return a + b


def describe(tensor, _statistics=None):
    """(type text, dtype text, shape, None, value, None, None, failure text or None, 0).

    Called for everything but plain tensors in host memory: those of devices, subclasses, and in older versions those that no
    operator has used yet. The value is a numpy array, or None.
    """
    value, failure = None, None
    try:
        if not getattr(tensor, "has_init", False):
            value = _host_copy(tensor)
    except Exception as error:
        failure = "statistics of a tensor are null: %s: %s" % (type(error).__name__, error)
    return "mindspore.Tensor", str(tensor.dtype), tuple(tensor.shape), None, value, None, None, failure, 0


def _host_copy(tensor):
    """A numpy array of the values; what numpy has no dtype for as float32."""
    if str(tensor.dtype).lower() in _UNREADABLE:
        return None
    array = tensor.asnumpy()
    return array if array.dtype.kind in "biufc" else array.astype("float32")
