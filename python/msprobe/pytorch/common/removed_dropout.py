"""Dropout with p = 0, for the rest of the process: functions, and the layers that are built from now on."""

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.modules.dropout import _DropoutNd

_FUNCTIONS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


def install():
    for name in _FUNCTIONS:
        original = getattr(functional, name, None)
        if original is not None and not hasattr(original, "_msprobe_original"):
            setattr(functional, name, _without_dropout(original))
    if not hasattr(_DropoutNd.__init__, "_msprobe_original"):
        _DropoutNd.__init__ = _layer_without_dropout(_DropoutNd.__init__)


def _without_dropout(original):
    # Annotated and without defaults of its own: scripts of torch.jit compile it.
    def without_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if p < 0.0 or p > 1.0:
            raise ValueError("dropout probability has to be between 0 and 1")
        return original(input, 0.0, training, inplace)

    without_dropout._msprobe_original = original
    return without_dropout


def _layer_without_dropout(original):
    def without_dropout(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.p = 0.0

    without_dropout._msprobe_original = original
    return without_dropout
