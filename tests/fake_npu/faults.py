"""Faults of single operators, by the operator's name without namespace and overload ("mm", "gelu_backward").

A fault is a function of the operator's output tensor in host memory; it returns the output to hand out. From outside the
process: FAKE_NPU_FAULTS="mm=zero_row,gelu_backward=crash,mul=add_one:backward".
"""

import os
import signal
import time

import torch


def zero_row(output):
    """The last row is zero, as if a tile had not been written."""
    if output.numel():
        output.reshape(-1, output.shape[-1] if output.dim() else 1)[-1] = 0
    return output


def drop_nans(output):
    return torch.nan_to_num(output, nan=0.0) if output.is_floating_point() else output


def add_one(output):
    """The first element is off by one."""
    if output.numel() and output.dtype is not torch.bool:
        output.view(-1)[0] += 1
    return output


def round_mantissa(output):
    """Ten bits of mantissa, as TF32 has them."""
    if output.dtype is not torch.float32:
        return output
    bits = output.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32).view_as(output)


def ignore_strides(output):
    """The values stand in memory order of the transposed result."""
    return output.t().contiguous().view(output.shape) if output.dim() == 2 else output


def out_of_memory(output):
    raise torch.OutOfMemoryError("NPU out of memory. Tried to allocate %d bytes" % output.nbytes)


def device_lost(output):
    raise RuntimeError("ACL stream synchronize failed, error code: 507011")


def not_implemented(output):
    raise NotImplementedError('"operator" not implemented for %s' % output.dtype)


def crash(output):
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(output):
    while True:
        time.sleep(60)


_table = {}


def inject(operator, fault, when=lambda: True):
    """`when()` is asked at each call of the operator."""
    _table[operator] = (fault, when)


def in_backward():
    return torch._C._current_graph_task_id() != -1


def clear():
    _table.clear()


def apply(operator, output):
    """The output, wrong if a fault is injected into the operator. Called for every result of every operator."""
    fault, when = _table.get(operator, (None, None))
    return output if fault is None or not when() else fault(output)


def inject_from_environment():
    for entry in filter(None, os.environ.get("FAKE_NPU_FAULTS", "").split(",")):
        operator, _, fault = entry.partition("=")
        fault, _, when = fault.partition(":")
        inject(operator, globals()[fault], in_backward if when == "backward" else lambda: True)
