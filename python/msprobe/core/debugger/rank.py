"""The rank of this process, which may become known late."""

from msprobe.core.common.log import logger


class Rank:
    """`read()` gives the rank in the framework's process group, None where there is no group yet."""

    def __init__(self, read):
        self._read = read
        self.value = None

    def find(self, rank_id=None):
        """`rank_id` of the user wins over the rank of the process group. True if the rank was unknown until now."""
        was_unknown = self.value is None
        if rank_id is not None:
            self.value = rank_id
        elif was_unknown:
            self.value = self._read()
        logger.rank = self.value
        return was_unknown and self.value is not None
