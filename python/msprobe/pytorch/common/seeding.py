"""Seeding on request; nothing else in the package touches random generators."""

import os
import random

import numpy
import torch

from msprobe.core.debugger import arguments
from msprobe.pytorch.common import fixed_random, removed_dropout

# What an NPU needs for the same numbers in every run, beside the framework's own switch.
_NPU_ENVIRONMENT = {
    "HCCL_DETERMINISTIC": "True", "LCCL_DETERMINISTIC": "1", "CLOSE_MATMUL_K_SHIFT": "1", "ATB_LLM_LCOC_ENABLE": "0"}

last_call = None  # the arguments of the last seed_all as text, for the head of a dump


def seed_all(seed=1234, mode=False, rm_dropout=False, is_enhanced=False):
    """Seeds random, numpy and torch on every device.

    `mode`: deterministic algorithms. `rm_dropout`: dropout uses p = 0 for the rest of the process; call it before layers
    are built. `is_enhanced`: generators are seeded again before each call of a random function, for the rest of the
    process, so that the same call gives the same values wherever it stands. Raises MsprobeException for a seed outside
    0..4294967295 and flags that are no bool.
    """
    arguments.seeding(seed, mode=mode, rm_dropout=rm_dropout, is_enhanced=is_enhanced)
    global last_call
    last_call = "seed=%d, mode=%s, rm_dropout=%s, is_enhanced=%s" % (seed, mode, rm_dropout, is_enhanced)
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
        os.environ.update(_NPU_ENVIRONMENT)
        npu.manual_seed_all(seed)
    if rm_dropout:
        removed_dropout.install()
    if is_enhanced:
        fixed_random.install(seed)
