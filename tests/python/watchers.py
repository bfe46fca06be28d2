"""What tests put between torch and its callers: modes and a subclass that note what they see, an argument for anything."""

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Seeing(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(function.__name__)
        return function(*args, **(kwargs or {}))


class Dispatched(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def seeing_subclass():
    """A subclass of torch.Tensor whose `seen` holds the names of the functions that were called with it."""

    class Subclass(torch.Tensor):
        seen = []

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            cls.seen.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    return Subclass


class Anything:
    """Lets any argument through a function of the support list."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return 7
