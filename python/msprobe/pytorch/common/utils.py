"""The path that older scripts import from."""

from msprobe.pytorch.common.seeding import seed_all

__all__ = ["seed_all"]
