"""Statistics of tensors on a device: reduced there when the call happens, read back together, once per flush.

Nothing here waits for the device but `fetch`, which makes one transfer per device. What the numbers mean for a record is
decided by the extension; here is only what torch can tell no other way.
"""

import sys

import torch

from msprobe.pytorch.torch_modes import without_dispatch_modes

_INFINITY = float("inf")
# Elements reduced at a time: what is widened to double stays small beside the tensors of a training.
_PIECE = 1 << 24
_FLOAT8 = tuple(
    getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
    if hasattr(torch, name))
_vector_norm = torch.linalg.vector_norm
# Powers of two that bring the squares of any double into range.
_DOWN, _UP = 2.0**-600, 2.0**600


class Unsupported(Exception):
    """The device lacks an operator for this dtype: its values have to be copied to be known."""


class DeviceStatistics:
    """What is known of devices, and which of their failures have been told. Holds no tensor."""

    def __init__(self):
        self._told = set()
        self._has_double = {}

    def begin(self, tensor):
        """Statistics on the way, to be handed to `fetch`: a few numbers on the device, of a detached strided tensor that has
        elements. Or text, why its statistics will be unknown; empty if that has been told.

        Raises Unsupported. To be called with gradients off and without modes of the user.
        """
        device = tensor.device
        try:
            kind, numbers = self._reduce(tensor)
        except Exception as error:
            if _is_unsupported(error):
                raise Unsupported() from None
            return self._reason(device, error)
        current = getattr(getattr(torch, device.type, None), "current_stream", None)
        return device, kind, tensor.numel(), numbers, None if current is None else current(device)

    def fetch(self, begun):
        """For each of what `begin` returned (kind, element count, numbers), or None where the device gave none; and a list
        of reasons. None instead while a graph is being captured, which a transfer would spoil."""
        if any(is_captured(device.type) for device in {entry[0] for entry in begun}):
            return None
        with without_dispatch_modes(), torch.no_grad():
            return self._fetch(begun)

    def _fetch(self, begun):
        result, reasons = [None] * len(begun), []
        by_device = {}
        for position, entry in enumerate(begun):
            by_device.setdefault(entry[0], []).append(position)
        for device, positions in by_device.items():
            try:
                _join_streams(device, {begun[p][4] for p in positions} - {None})
                values = iter(_read([number for p in positions for number in begun[p][3]]))
            except Exception as error:
                reasons.append(self._reason(device, error))
                continue
            for position in positions:
                _, kind, count, numbers, _ = begun[position]
                result[position] = (kind, count, [next(values) for _ in numbers])
        return result, reasons

    def _reduce(self, x):
        if x.dtype is torch.bool:
            return "bool", [x.any(), x.all()]
        if x.dtype in _FLOAT8:
            x = x.float()
        if x.is_complex():
            x = x.abs()
        if x.dim() == 0:
            return "value", [x.clone()]
        kind = "floating" if x.is_floating_point() else "integer"
        reduce = _floating if kind == "floating" else _integer
        wide = self._wide(x)
        pieces = [reduce(piece, wide) for piece in _pieces(x)]
        if len(pieces) == 1:
            return kind, pieces[0]
        return kind, [_MERGE[kind][i](torch.stack(column)) for i, column in enumerate(zip(*pieces))]

    def _wide(self, x):
        """The dtype of sums: double, where the device computes with it at a usable speed."""
        device = x.device
        if x.dtype is torch.float64:
            return torch.float64
        if device.type == "npu" and "torch_npu" in sys.modules:  # its double is emulated by one slow core
            return torch.float32
        if device.type not in self._has_double:
            try:
                torch.ones(1, device=device).to(torch.float64).sum()
                self._has_double[device.type] = True
            except (TypeError, NotImplementedError, RuntimeError) as error:
                if not _is_unsupported(error):
                    raise
                self._has_double[device.type] = False
        return torch.float64 if self._has_double[device.type] else torch.float32

    def _reason(self, device, error):
        key = device.type, type(error).__name__
        if key in self._told:
            return ""
        self._told.add(key)
        return "statistics of tensors on %s are unknown: %s: %s" % (device, type(error).__name__, str(error)[:300])


def is_captured(device_type):
    """Whether a graph of the device is being captured: there are no values yet, and a copy would spoil the capture."""
    capturing = getattr(getattr(torch, device_type, None), "is_current_stream_capturing", None)
    return capturing is not None and capturing()


def _is_unsupported(error):
    text = str(error)
    return isinstance(error, (NotImplementedError, TypeError)) or "not implemented for" in text or "not support" in text


def _pieces(x):
    """Views that together are `x`, each of at most _PIECE elements where its longest dimension allows it."""
    if x.numel() <= _PIECE:
        return (x,)
    dim = max(range(x.dim()), key=x.size)
    length = max(1, _PIECE // (x.numel() // x.size(dim)))
    return x.split(length, dim)


def _floating(x, wide):
    """Maximum and minimum; the same over finite elements (infinite if there is none); the same with 0 for NaN; sum; norm.
    For double also the sum scaled down and the norm scaled down and up, for where they leave its range."""
    low, high = torch.aminmax(x)
    finite_high = x.nan_to_num(nan=-_INFINITY, posinf=-_INFINITY, neginf=-_INFINITY).amax()
    finite_low = x.nan_to_num(nan=_INFINITY, posinf=_INFINITY, neginf=_INFINITY).amin()
    known_low, known_high = torch.aminmax(x.nan_to_num(nan=0.0, posinf=_INFINITY, neginf=-_INFINITY))
    numbers = [high, low, finite_high, finite_low, known_high, known_low]
    is_double = x.dtype is torch.float64
    x = x.to(wide)
    numbers += [x.sum(), _vector_norm(x)]
    if is_double:
        down = x * _DOWN
        numbers += [down.sum(), _vector_norm(down), _vector_norm(x * _UP)]
    return numbers


def _integer(x, wide):
    """Maximum, minimum, sum, norm."""
    low, high = torch.aminmax(x)
    x = x.to(wide)
    return [high, low, x.sum(), _vector_norm(x)]


_MAX, _MIN = torch.Tensor.amax, torch.Tensor.amin
_MERGE = {
    "floating": (_MAX, _MIN, _MAX, _MIN, _MAX, _MIN, torch.sum, _vector_norm, torch.sum, _vector_norm, _vector_norm),
    "integer": (_MAX, _MIN, torch.sum, _vector_norm),
}


def _join_streams(device, streams):
    """The read must come behind what other streams compute."""
    module = getattr(torch, device.type, None)
    current = module.current_stream(device) if streams else None
    for stream in streams:
        if stream != current:
            current.wait_stream(stream)


def _read(numbers):
    """Python numbers of 0-d tensors of one device, in one transfer."""
    by_dtype = {}
    for position, number in enumerate(numbers):
        by_dtype.setdefault(number.dtype, []).append(position)
    # Wide dtypes first, so that each group of bytes is aligned for its dtype on the host.
    groups = sorted(by_dtype.items(), key=lambda group: -numbers[group[1][0]].element_size())
    packed = [torch.stack([numbers[p] for p in positions]) for _, positions in groups]
    if len(packed) == 1:
        host = [packed[0].cpu()]
    else:
        bytes_of_all = torch.cat([part.view(torch.uint8) for part in packed]).cpu()
        parts = bytes_of_all.split([part.numel() * part.element_size() for part in packed])
        host = [part.view(dtype) for part, (dtype, _) in zip(parts, groups)]
    values = [None] * len(numbers)
    for part, (_, positions) in zip(host, groups):
        for position, value in zip(positions, part.tolist()):
            values[position] = value
    return values
