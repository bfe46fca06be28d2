"""Seeding on request."""

import os
import random

import numpy
import torch

from msprobe.core.common.exceptions import MsprobeException

_DROPOUT_FUNCTIONS = ("dropout", "dropout1d", "dropout2d", "dropout3d")


def seed_all(seed=1234, mode=False, rm_dropout=False):
    """Seeds random, numpy and torch on every device; `mode`: deterministic algorithms; `rm_dropout`: dropout uses p = 0.

    Call it before layers are built. Raises MsprobeException for a seed outside 0..4294967295.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= 0xFFFFFFFF:
        raise MsprobeException(
            MsprobeException.INVALID_PARAM_ERROR, "seed must be an integer from 0 to 4294967295, not %r" % (seed,))
    for name, value in (("mode", mode), ("rm_dropout", rm_dropout)):
        if not isinstance(value, bool):
            raise MsprobeException(MsprobeException.INVALID_PARAM_ERROR, "%s must be a bool, not %r" % (name, value))
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(mode)
    if torch.cuda.is_available():
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.cuda.manual_seed_all(seed)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
    npu = getattr(torch, "npu", None)
    if npu is not None:
        os.environ["HCCL_DETERMINISTIC"] = "True"
        npu.manual_seed_all(seed)
    if rm_dropout:
        _remove_dropout()


def _remove_dropout():
    functional = torch.nn.functional
    for name in _DROPOUT_FUNCTIONS:
        original = getattr(functional, name, None)
        if original is None or getattr(original, "_msprobe_without_dropout", False):
            continue

        def without_dropout(input, p=0.5, training=True, inplace=False, _original=original):
            return _original(input, 0.0, training, inplace)

        without_dropout._msprobe_without_dropout = True
        setattr(functional, name, without_dropout)
