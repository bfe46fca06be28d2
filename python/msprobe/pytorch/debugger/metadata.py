"""What explains differences between two dumps later: versions, and the settings that change numbers. Part of dump.json's head."""

import os
import platform
import sys

import torch

from msprobe import __version__
from msprobe.pytorch.common import seeding

_ENVIRONMENT = (
    "CUDA_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE", "HCCL_DETERMINISTIC",
    "LCCL_DETERMINISTIC", "CLOSE_MATMUL_K_SHIFT", "ATB_LLM_LCOC_ENABLE", "NPU_ASD_ENABLE", "PYTHONHASHSEED", "TORCHDYNAMO_DISABLE")

# A fact that cannot be read is "unknown"; one that is None does not apply and is left out. No device is touched.
_FACTS = (
    ("tool_version", lambda: __version__),
    ("torch_version", lambda: torch.__version__),
    ("torch_npu_version", lambda: getattr(_npu_package(), "__version__", None)),
    ("python_version", platform.python_version),
    ("deterministic_algorithms", torch.are_deterministic_algorithms_enabled),
    ("float32_matmul_precision", lambda: torch.get_float32_matmul_precision()),
    ("cuda_matmul_allow_tf32", lambda: torch.backends.cuda.matmul.allow_tf32),
    ("cudnn_allow_tf32", lambda: torch.backends.cudnn.allow_tf32),
    ("cudnn_deterministic", lambda: torch.backends.cudnn.deterministic),
    ("npu_matmul_allow_hf32", lambda: _npu() and _npu().matmul.allow_hf32),
    ("npu_conv_allow_hf32", lambda: _npu() and _npu().conv.allow_hf32),
    ("autocast", lambda: _autocast() or None),
    ("seed_all", lambda: seeding.last_call),
    ("world_size", lambda: torch.distributed.get_world_size() if _is_distributed() else None),
    ("environment", lambda: ", ".join("%s=%s" % (n, os.environ[n]) for n in _ENVIRONMENT if n in os.environ) or None),
)


def read():
    facts = {}
    for name, fact in _FACTS:
        try:
            value = fact()
        except Exception:  # torch refuses to answer where its older and newer precision flags are mixed
            value = "unknown"
        if value is not None:
            facts[name] = str(value)
    return facts


def _npu():
    return getattr(torch, "npu", None)


def _npu_package():
    return sys.modules.get("torch_npu")


def _is_distributed():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _autocast():
    """"cpu:torch.bfloat16" for each kind of device that autocast is on for."""
    kinds = ["cuda", "cpu"] + (["npu"] if _npu() else [])
    try:
        on = [(kind, torch.get_autocast_dtype(kind)) for kind in kinds if torch.is_autocast_enabled(kind)]
    except (AttributeError, TypeError):  # older torch has a function for each kind
        on = [("cuda", torch.get_autocast_gpu_dtype())] if torch.is_autocast_enabled() else []
        on += [("cpu", torch.get_autocast_cpu_dtype())] if torch.is_autocast_cpu_enabled() else []
    return ", ".join("%s:%s" % pair for pair in on)
