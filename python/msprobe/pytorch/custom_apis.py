"""Functions that users want recorded beside the support list, of any module, class or object."""

import os
import sys

import torch

from msprobe import _core
from msprobe.core.common.log import logger
from msprobe.core.debugger.replaced_attribute import ReplacedAttribute

CUSTOM_OPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook_module", "custom_wrap_ops.yaml")

def _reaches_modes(function):
    """Whether torch shows its calls to modes: then nothing has to be replaced."""
    operators = tuple(getattr(torch._ops, name) for name in ("OpOverloadPacket", "OpOverload") if hasattr(torch._ops, name))
    if isinstance(function, operators):
        return True
    try:
        return torch.overrides.resolve_name(function) is not None
    except Exception:  # not hashable
        return False


def _overloads(function):
    """A call of an operator may be shown as one of its overloads."""
    names = getattr(function, "overloads", None)
    if names is None or not isinstance(function, getattr(torch._ops, "OpOverloadPacket", ())):
        return []
    return [getattr(function, name) for name in names()]


class _CustomApi:
    """One registered attribute; `install` and `remove` are exact and repeatable."""

    def __init__(self, session, owner, name, prefix):
        self.owner = owner
        self.name = name
        self.original = getattr(owner, name)
        self._index = session.register_api("%s.%s" % (prefix, name))
        self._attribute = ReplacedAttribute(owner, name, lambda f: session.make_recorded_function(self._index, f))
        self._table = None
        self._hidden = {}  # entries of the table that stand for the same functions

    def install(self, table):
        if _reaches_modes(self.original):
            self._enter_into(table)
        else:
            self._attribute.install()

    def remove(self):
        self._attribute.remove()

    def forget(self):
        self.remove()
        if self._table is not None:
            for function, index in self._hidden.items():
                if index is None:
                    self._table.pop(function, None)
                else:
                    self._table[function] = index
            self._table = None

    def _enter_into(self, table):
        if self._table is None:
            self._table = table
            for function in [self.original] + _overloads(self.original):
                self._hidden[function] = table.get(function)
                table[function] = self._index


class CustomApis:
    """All of a session. Replaced attributes are there from `install` to `remove` only."""

    def __init__(self, session):
        self._session = session
        self._apis = {}  # (id of the owner, name) -> _CustomApi, which keeps the owner
        self._table = None  # function -> index, while installed
        self._wanted = []  # (path of a module, name) that were not there yet

    def register(self, owner, name, prefix):
        self.restore(owner, name)
        api = self._apis[id(owner), name] = _CustomApi(self._session, owner, name, prefix)
        if self._table is not None:
            self._install(api)

    def restore(self, owner, name):
        api = self._apis.pop((id(owner), name), None)
        if api is not None:
            api.forget()

    def register_listed(self):
        """What custom_wrap_ops.yaml names."""
        modules, warnings = _core.pytorch_custom_ops(CUSTOM_OPS if os.path.exists(CUSTOM_OPS) else "")
        for warning in warnings:
            logger.warning(warning)
        self._wanted = [(path, name) for path, names in modules for name in names]
        self._look_for_wanted()

    def install(self, table):
        self._table = table
        self._look_for_wanted()
        for path, name in self._wanted:
            logger.warning_once("%s.%s of custom_wrap_ops.yaml is not recorded yet: %s; it is looked for again at every start()" % (
                path, name, "there is no such function" if path in sys.modules else "the module is not imported"))
        for api in list(self._apis.values()):
            self._install(api)

    def remove(self):
        self._table = None
        self.step_aside()

    def step_aside(self):
        for api in reversed(list(self._apis.values())):
            api.remove()

    def come_back(self):
        if self._table is not None:
            for api in list(self._apis.values()):
                self._install(api)

    def _install(self, api):
        try:
            api.install(self._table)
        except (AttributeError, TypeError) as error:
            logger.warning_once("%s of %r cannot be replaced and is not recorded: %s" % (api.name, api.owner, error))

    def _look_for_wanted(self):
        wanted, self._wanted = self._wanted, []
        for path, name in wanted:
            module = sys.modules.get(path)
            if callable(getattr(module, name, None)):
                self.register(module, name, path)
            else:
                self._wanted.append((path, name))
