"""Which function object is which API: built from the support list, once per debugger."""

import os

import torch

from msprobe import _core

SUPPORT_LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook_module", "support_wrap_ops.yaml")

# Category of the support list, prefix of the record, where the names live. A function with two names is the first.
_NAMESPACES = (
    ("functional", "Functional", lambda: torch.nn.functional),
    ("torch", "Torch", lambda: torch),
    ("tensor", "Tensor", lambda: torch.Tensor),
    ("_VF", "VF", lambda: torch._VF),
    ("torch_npu", "NPU", lambda: getattr(torch.ops, "npu", None) if hasattr(torch, "npu") else None),
)


def _resolve(namespace, name):
    """The function `name` of the namespace, or None where this version has none."""
    target = namespace
    for part in name.split("."):
        try:
            target = getattr(target, part)
        except (AttributeError, RuntimeError):
            return None
    return target if callable(target) else None


class ApiTable:
    """`functions`: function object -> index; `operators`: name of an operator method of torch.Tensor -> index."""

    def __init__(self, session):
        self.functions = {}
        self.operators = {}
        support_list = _core.pytorch_support_list(SUPPORT_LIST if os.path.exists(SUPPORT_LIST) else "")
        for category, prefix, namespace in _NAMESPACES:
            where = namespace()
            if where is None:
                continue
            for name in support_list.get(category, ()):
                function = _resolve(where, name)
                if function is None:
                    continue
                is_operator = prefix == "Tensor" and name.startswith("__") and name.endswith("__")
                if is_operator:
                    self.operators[name] = session.register_api("%s.%s" % (prefix, name))
                try:
                    if function not in self.functions:
                        index = self.operators[name] if is_operator else session.register_api(prefix + "." + name)
                        self.functions[function] = index
                except TypeError:  # not hashable: cannot be recognised
                    continue
