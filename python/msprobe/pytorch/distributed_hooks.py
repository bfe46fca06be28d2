"""Lets the extension see the calls of torch.distributed, from `start` to `stop` only.

Not the functions are replaced but the code they run: torch and scripts compare these functions by identity
(`op.op is isend` in batch_isend_irecv) and keep them from before `start` to after `stop`.
"""

import inspect
import os
import sys
import types

import torch

IGNORE_RULES = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "hook_module", "builtin_ignore_ops.yaml")

# Category of the support list, modules in which its names live.
_NAMESPACES = (
    ("distributed", ("torch.distributed", "torch.distributed.distributed_c10d")),
    ("npu_distributed", ("torch_npu.distributed", "torch_npu.distributed.distributed_c10d")),
)
_PLACE = "msprobe: where the recording call goes"


def _functions(support_list):
    """(name, function) of every Python function that the list names; modules that nobody imported are left alone."""
    found = {}
    for category, modules in _NAMESPACES:
        for name in support_list.get(category, ()):
            for module in modules:
                function = getattr(sys.modules.get(module), name, None)
                if isinstance(function, types.FunctionType):
                    found[id(function)] = (name, function)
    return list(found.values())


def _copy(function):
    """The same function under another identity, to be called while the first one's code is replaced."""
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _forwarding_code(function, call):
    """Code with which `function` only hands its arguments to `call`. It names the same free variables: a function's
    closure stays what it is when its code is replaced."""
    free = function.__code__.co_freevars
    source = "def outer(%s):\n  def inner(*args, **kwargs):\n    call = %r\n    %s\n    return call(*args, **kwargs)\n  return inner"
    scope = {}
    # A file of the tool, for its frames are left out of stacks; one without lines, which tracebacks would show.
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "<recorded call>")
    exec(compile(source % (", ".join(free), _PLACE, ", ".join(free) or "pass"), file, "exec"), scope)
    code = scope["outer"](*free).__code__
    return code.replace(
        co_consts=tuple(call if constant == _PLACE else constant for constant in code.co_consts),
        co_name=function.__code__.co_name)


def _signature(function):
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


class _Replaced:
    """The code of one function, there and back."""

    def __init__(self, function, make_call):
        self._signature = _signature(function)
        parameters = list(self._signature.parameters) if self._signature else []
        self._code = function.__code__
        self._forwarding = _forwarding_code(function, make_call(parameters, _copy(function)))
        self._shows_signature = False
        self.function = function

    def install(self):
        """False if somebody has given the function other code meanwhile."""
        function = self.function
        if function.__code__ is not self._code:
            return False
        # Functions that wrap another show that one's signature.
        if self._signature is not None and not hasattr(function, "__wrapped__") and not hasattr(function, "__signature__"):
            function.__signature__ = self._signature
            self._shows_signature = True
        function.__code__ = self._forwarding
        return True

    def remove(self):
        if self.function.__code__ is self._forwarding:
            self.function.__code__ = self._code
        if self._shows_signature:
            self.function.__dict__.pop("__signature__", None)
            self._shows_signature = False


class DistributedHooks:
    """Installs and removes; exact and repeatable. Functions that come up later are taken at the next `install`.

    They step aside while compiled code runs, which has its own ways with these functions.
    """

    def __init__(self, session, support_list, compiled_regions):
        self._session = session
        self._support_list = support_list
        self._compiled_regions = compiled_regions
        compiled_regions.listeners.append((self._take_back, self._come_back))
        self._active = False
        self._indices = {}
        self._known = {}
        self._installed = []
        session.load_ignore_rules(IGNORE_RULES if os.path.exists(IGNORE_RULES) else "")

    def install(self):
        self._active = torch.distributed.is_available()
        if not self._compiled_regions.running:
            self._come_back()

    def remove(self):
        self._active = False
        self._take_back()

    def _come_back(self):
        if not self._active or self._installed:
            return
        for name, function in _functions(self._support_list):
            known = self._known.get(id(function))
            if known is None or known.function is not function or not known.install():
                known = self._known[id(function)] = self._replace(name, function)
                known.install()
            self._installed.append(known)

    def _take_back(self):
        while self._installed:
            self._installed.pop().remove()

    def _replace(self, name, function):
        if name not in self._indices:
            self._indices[name] = self._session.register_api("Distributed." + name)
        index = self._indices[name]
        return _Replaced(
            function,
            lambda parameters, original: self._session.make_distributed_call(index, name, parameters, original))
