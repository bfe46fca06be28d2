"""What explains differences between two dumps later: versions, and the settings that change numbers. Part of dump.json's head."""

import os
import platform

import mindspore

from msprobe import __version__

_ENVIRONMENT = ("ASCEND_LAUNCH_BLOCKING", "HCCL_DETERMINISTIC", "LCCL_DETERMINISTIC", "ATB_LLM_LCOC_ENABLE", "PYTHONHASHSEED",
                "MS_ENABLE_LCCL", "MS_ASCEND_CHECK_OVERFLOW_MODE")

# A fact that cannot be read is "unknown"; one that is None does not apply and is left out. No device is touched.
_FACTS = (
    ("tool_version", lambda: __version__),
    ("mindspore_version", lambda: mindspore.__version__),
    ("python_version", platform.python_version),
    ("device_target", lambda: mindspore.get_context("device_target")),
    ("deterministic", lambda: mindspore.get_context("deterministic")),
    ("environment", lambda: ", ".join("%s=%s" % (n, os.environ[n]) for n in _ENVIRONMENT if n in os.environ) or None),
)


def read():
    facts = {}
    for name, fact in _FACTS:
        try:
            value = fact()
        except Exception:
            value = "unknown"
        if value is not None:
            facts[name] = str(value)
    return facts
