"""Where the names of support_wrap_ops.yaml live, and which of them this MindSpore has."""

import importlib
import inspect
import os

from msprobe import _core

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dump", "hook_cell", "support_wrap_ops.yaml")

# Category of the list, prefix of the record, where the names live ("module" or "module:class").
_GROUPS = (
    ("tensor", "Tensor", ("mindspore:Tensor", "mindspore:Parameter")),  # in newer versions neither is a subclass of the other
    ("ops", "Functional", ("mindspore.ops",)),
    ("mint.ops", "Mint", ("mindspore.mint",)),
    ("mint.nn.functional", "MintFunctional", ("mindspore.mint.nn.functional",)),
    ("communication.comm_func", "Distributed", ("mindspore.communication.comm_func",)),
    ("mint.distributed", "MintDistributed", ("mindspore.mint.distributed",)),
)


def listed_functions(session):
    """(prefix, API, owner, attribute) of every function in the list; names that this version does not have are left out."""
    names = _core.mindspore_support_list(FILE if os.path.exists(FILE) else "", session.support_lists, _function_names)
    for category, prefix, places in _GROUPS:
        for place in places:
            namespace = _namespace(place)
            for name in names.get(category, ()) if namespace is not None else ():
                owner, attribute = _resolve(namespace, name)
                if owner is not None:
                    yield prefix, attribute, owner, attribute


def _namespace(place):
    module, _, name = place.partition(":")
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(found, name, None) if name else found


def _resolve(namespace, name):
    """(owner, attribute) of a function; (None, None) where there is none."""
    *path, attribute = name.split(".")
    owner = namespace
    for part in path:
        owner = getattr(owner, part, None)
    found = inspect.getattr_static(owner, attribute, None) if owner is not None else None
    if found is None or isinstance(found, type) or inspect.ismodule(found):
        return None, None
    return (owner, attribute) if callable(found) or isinstance(found, (staticmethod, classmethod)) else (None, None)


def _function_names(category, module):
    """What the patterns of overlays choose from: names of the functions in a module of the category's namespace."""
    namespaces = {key: places[0] for key, _, places in _GROUPS}
    where = _namespace(namespaces[category]) if category in namespaces else None
    for part in module.split(".") if module else ():
        where = getattr(where, part, None)
    return [name for name in dir(where) if _resolve(where, name)[0] is not None] if where is not None else []
