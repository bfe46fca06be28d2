"""Seeding on request; nothing else in the package touches random generators."""

import os
import random

import mindspore
import numpy

from msprobe.core.debugger import arguments

last_call = None  # the arguments of the last seed_all as text, for the head of a dump


def seed_all(seed=1234, mode=False, rm_dropout=False):
    """Seeds random, numpy and MindSpore.

    `mode`: deterministic operators. `rm_dropout`: dropout keeps everything for the rest of the process; call it before layers
    are built. Raises MsprobeException for a seed outside 0..4294967295 and flags that are no bool.
    """
    arguments.seeding(seed, mode=mode, rm_dropout=rm_dropout)
    global last_call
    last_call = "seed=%d, mode=%s, rm_dropout=%s" % (seed, mode, rm_dropout)
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    numpy.random.seed(seed)
    mindspore.set_seed(seed)
    mindspore.set_context(deterministic="ON" if mode else "OFF")
    os.environ["HCCL_DETERMINISTIC"] = str(mode)
    if rm_dropout:
        _remove_dropout()


def _remove_dropout():
    from mindspore import mint, ops

    for name in ("Dropout", "Dropout2D", "Dropout3D"):
        _keep_everything(ops, name, keep_prob=1.0)
    if hasattr(mint, "nn"):
        _keep_everything(mint.nn, "Dropout", p=0.0)
        if hasattr(mint.nn, "functional"):
            mint.nn.functional.dropout = _identity


def _keep_everything(module, name, **fixed):
    """A class of the module with arguments that the script cannot change."""
    kind = getattr(module, name, None)
    if kind is None or getattr(kind, "_msprobe_original", None) is not None:
        return

    def __init__(self, *args, **kwargs):
        kind.__init__(self, **fixed)

    setattr(module, name, type(name, (kind,), {"__init__": __init__, "_msprobe_original": kind, "__module__": kind.__module__}))


def _identity(input, *args, **kwargs):
    return input
