"""The rank of this process, which may become known late."""

import torch

from msprobe.core.common.log import logger


class Rank:
    def __init__(self):
        self.value = None

    def find(self, rank_id=None):
        """`rank_id` of the user wins over the rank of torch.distributed. True if the rank was unknown until now."""
        was_unknown = self.value is None
        if rank_id is not None:
            self.value = rank_id
        elif was_unknown and torch.distributed.is_available() and torch.distributed.is_initialized():
            self.value = torch.distributed.get_rank()
        logger.rank = self.value
        return was_unknown and self.value is not None
