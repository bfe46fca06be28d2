"""What tests need of torch, where versions differ. Never by version number."""

import inspect

import pytest
import torch

# Before torch 2.0 the hooks of a module are not given its keyword arguments.
MODULE_HOOKS_SEE_KEYWORDS = "with_kwargs" in inspect.signature(torch.nn.Module.register_forward_pre_hook).parameters


def has(path):
    """Whether `torch.<path>` is there: "nn.functional.scaled_dot_product_attention"."""
    target = torch
    for part in path.split("."):
        if not hasattr(target, part):
            return False
        target = getattr(target, part)
    return True


def needs(*paths):
    """Marks a test or a parameter set that this torch may be too old for."""
    missing = [path for path in paths if not has(path)]
    return pytest.mark.skipif(bool(missing), reason="this torch has no " + ", ".join(missing))
