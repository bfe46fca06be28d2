"""What the extension needs of MindSpore: a few classes, and the description of tensors whose memory it cannot read itself."""

from mindspore import Parameter, Tensor  # noqa: F401  (read by the extension)
from mindspore._c_expression import typing as _typing

try:
    from mindspore._c_expression import TensorPy as TensorBase
except ImportError:  # older versions
    from mindspore._c_expression import Tensor as TensorBase  # noqa: F401

dtype = _typing.Type

_NO_HOST_MEMORY = ("qint4x2", "float8_e8m0", "hifloat8")


def add_gradients(a, b):
    return a + b


def describe(tensor, _statistics=None):
    """(type text, dtype text, shape, None, value, None, None, failure text or None).

    Called for everything but plain tensors in host memory: those of devices, and subclasses. The value is a plain host tensor,
    or None.
    """
    value, failure = None, None
    try:
        if not getattr(tensor, "has_init", False):
            value = _host_copy(tensor)
    except Exception as error:
        failure = "statistics of a tensor are null: %s: %s" % (type(error).__name__, error)
    return "mindspore.Tensor", str(tensor.dtype), tuple(tensor.shape), None, value, None, None, failure


def _host_copy(tensor):
    """Only the bytes are fetched: what they mean stays as it is."""
    if str(tensor.dtype) in _NO_HOST_MEMORY:
        return None
    return Tensor(tensor.asnumpy(), dtype=tensor.dtype)
