"""Surroundings in which data would be missing."""

import os
import sys

from msprobe.core.common.log import logger


def check():
    if "torch_npu" in sys.modules and os.environ.get("NPU_ASD_ENABLE", "0") != "0":
        logger.warning("NPU_ASD_ENABLE is %s: data of some APIs will be missing; set it to 0" % os.environ["NPU_ASD_ENABLE"])
