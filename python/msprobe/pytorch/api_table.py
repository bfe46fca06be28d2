"""Which function object is which API: built from the support list, once per debugger."""

import os

import torch

from msprobe import _core

SUPPORT_LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook_module", "support_wrap_ops.yaml")

_DEFAULT_NAMESPACE = "_C_ascend"

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


def _function_names(category, module):
    """What the patterns of overlays choose from: names of the functions in a module of the category's namespace."""
    namespaces = {key: namespace for key, _, namespace in _NAMESPACES}
    namespaces["distributed"] = lambda: torch.distributed
    where = namespaces[category]() if category in namespaces else None
    for part in module.split(".") if module else ():
        where = getattr(where, part, None)
    return [name for name in dir(where) if _is_function(where, name)] if where is not None else []


def _is_function(where, name):
    try:
        value = getattr(where, name)
    except Exception:  # a name that is there only to say what is missing
        return False
    return callable(value) and not isinstance(value, type)


def _is_operator(name):
    return name.startswith("__") and name.endswith("__")


def _is_better(name, other):
    """Which of two names of one function is recorded: `x.abs()` is no operator, torch.mm was once called dsmm."""
    return not _is_operator(name) and (_is_operator(other) or len(name) < len(other))


def _engine_functions():
    """What runs autograd's engine: no records themselves, but activation checkpointing makes calls inside."""
    return torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad


def _registered_operators(namespaces):
    """(namespace, name, function objects) of the operators in torch.ops: what is called, and its overloads."""
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace in namespaces:
            found[namespace, name] = None
    for namespace, name in found:
        operator = _resolve(torch.ops, namespace + "." + name)
        if operator is not None:
            yield namespace, name, [operator] + [getattr(operator, overload) for overload in operator.overloads()]


class ApiTable:
    """`functions`: function object -> index; `operators`: name of an operator method of torch.Tensor -> index."""

    def __init__(self, session):
        self.functions = {function: _core.ENGINE_FUNCTION for function in _engine_functions()}
        self.operators = {}
        self._names = {}  # function object -> its prefix and name
        support_list = _core.pytorch_support_list(
            SUPPORT_LIST if os.path.exists(SUPPORT_LIST) else "", session.support_lists, _function_names)
        self.support_list = support_list
        for category, prefix, namespace in _NAMESPACES:
            where = namespace()
            if where is None:
                continue
            for name in support_list.get(category, ()):
                function = _resolve(where, name)
                if function is not None:
                    self._add(session, prefix, name, function)
        self._session = session
        self._namespaces = set(session.custom_op_namespaces)
        self._look_again = self._namespaces != {_DEFAULT_NAMESPACE}

    def look_for_operators(self):
        """Those of custom_op_namespaces. A namespace that the user has named is looked for until it is there."""
        if not self._namespaces:
            return
        for namespace, name, functions in _registered_operators(frozenset(self._namespaces)):
            self._namespaces.discard(namespace)
            index = self._session.register_api(namespace + "." + name)
            self.functions.update((function, index) for function in functions if self._is_new(function))
        if not self._look_again:
            self._namespaces.clear()

    def _add(self, session, prefix, name, function):
        # What seed_all has replaced calls the original, and that is what a mode sees of built-in functions.
        objects = [f for f in (function, getattr(function, "_msprobe_original", None))
                   if self._is_new(f) or self._is_renamed(f, prefix, name)]
        is_operator = prefix == "Tensor" and _is_operator(name)
        if not objects and not is_operator:
            return
        index = session.register_api(prefix + "." + name)
        if is_operator:
            self.operators[name] = index
        self.functions.update((f, index) for f in objects)
        self._names.update((f, (prefix, name)) for f in objects)

    def _is_new(self, function):
        try:
            return function is not None and function not in self.functions
        except TypeError:  # not hashable: cannot be recognised
            return False

    def _is_renamed(self, function, prefix, name):
        try:
            other_prefix, other = self._names.get(function, (None, None))
        except TypeError:
            return False
        return other_prefix == prefix and _is_better(name, other)
