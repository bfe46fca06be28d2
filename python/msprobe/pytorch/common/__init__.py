from msprobe.pytorch.common.seeding import seed_all

__all__ = ["seed_all"]
