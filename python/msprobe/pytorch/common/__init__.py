from msprobe.pytorch.common.utils import seed_all

__all__ = ["seed_all"]
