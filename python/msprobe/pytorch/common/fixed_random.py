"""Random functions that give the same values at every call: the generator is seeded again before each."""

import functools
import random

import numpy
import torch

_TORCH = (
    (torch, ("alpha_dropout", "bernoulli", "dropout", "feature_alpha_dropout", "feature_dropout", "multinomial", "normal",
             "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "rrelu", "rrelu_")),
    (torch.Tensor, ("bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "normal_",
                    "random_", "uniform_")),
    (torch.nn.functional, ("alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
                           "fractional_max_pool2d", "fractional_max_pool3d", "gumbel_softmax", "rrelu",
                           "scaled_dot_product_attention")),
)

_seed = None


def install(seed):
    global _seed
    if _seed is None:
        _fix(random, _methods_of(random, random._inst), random.seed)
        _fix(numpy.random, _methods_of(numpy.random, numpy.random.mtrand._rand), numpy.random.seed)
        for owner, names in _TORCH:
            _fix(owner, names, torch.manual_seed)
    _seed = seed


def _methods_of(module, generator):
    """Functions of the module that draw from its hidden generator."""
    return [name for name, function in vars(module).items()
            if getattr(function, "__self__", None) is generator and not name.startswith("_")
            and "state" not in name and name != "seed"]


def _fix(owner, names, seed_generator):
    for name in names:
        original = getattr(owner, name, None)
        if original is None:
            continue

        # Bound early: the loop goes on.
        def call(*args, _original=original, **kwargs):
            seed_generator(_seed)
            return _original(*args, **kwargs)

        fixed = functools.update_wrapper(call, original)
        fixed._msprobe_original = original
        setattr(owner, name, fixed)
