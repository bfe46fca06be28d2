"""Hooks on the modules of a model, from `start` to `stop` only (levels L0 and mix); what they do is the extension's.

Gradients of modules come from hooks on existing autograd nodes: the full-backward hook of torch.nn.Module would change the
order in which gradients are summed.
"""

import weakref

import torch

from msprobe.core.common.log import logger
from msprobe.core.common.text import encodable
from msprobe.pytorch.torch_modes import DisableTorchFunction, without_dispatch_modes

# A wrapper that shards its parameters: what is inside it is recorded, not itself.
_SKIPPED_CLASSES = ("FullyShardedDataParallel",)


class ModuleHooks:
    """`install` and `remove` are exact; installing again adds what is new. Hooks of the user stay where they are.

    Gradients still come in after `remove`; `end_step` takes the hooks for those of the parameters away. While compiled code
    runs all of them are off the modules (`step_aside`, `come_back`).
    """

    def __init__(self, session):
        self._session = session
        self._known = weakref.WeakKeyDictionary()  # module -> (index, before, after), names of its parameters
        self._hooked = weakref.WeakKeyDictionary()  # module -> (before, after), while installed
        self._handles = []
        self._hooked_parameters = set()  # by id
        self._parameter_handles = []

    def install(self, models):
        """`models`: (prefix, module) pairs; the prefix is "" for a single model, its index for one of several."""
        owners = {}
        for prefix, model in models:
            for name, module in _recordable_modules(model):
                self._install_module(prefix + "." + name if prefix else name, module, owners)
        self._hook_parameters(owners)

    def install_one(self, name, module):
        """`module` itself under this name, without the modules inside it."""
        owners = {}
        self._install_module(name, module, owners)
        self._hook_parameters(owners)

    def is_hooked(self, module):
        return module in self._hooked

    def remove(self):
        self._hooked.clear()
        self.step_aside()

    def end_step(self):
        self._hooked_parameters.clear()
        handles, self._parameter_handles = self._parameter_handles, []
        for handle in handles:
            handle.remove()

    def step_aside(self):
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()

    def come_back(self):
        if not self._handles:
            for module, hooks in list(self._hooked.items()):
                self._hook(module, *hooks)

    def _install_module(self, path, module, owners):
        entry = self._known.get(module)
        if entry is None:
            parameters = list(module._parameters)
            entry = self._session.module_hooks(
                encodable(path), encodable(type(module).__name__), [encodable(name) for name in parameters]), parameters
            self._known[module] = entry
        (index, before, after), parameters = entry
        if module not in self._hooked:
            if not self._hook(module, before, after):
                return
            self._hooked[module] = before, after
        for position, parameter_name in enumerate(parameters):
            parameter = module._parameters.get(parameter_name)
            if parameter is not None and parameter.requires_grad:
                owners.setdefault(id(parameter), (parameter, []))[1].append((index, position))

    def _hook_parameters(self, owners):
        if not self._session.wants_parameter_gradients:
            return
        for parameter, places in owners.values():
            if id(parameter) not in self._hooked_parameters:
                self._hooked_parameters.add(id(parameter))
                self._hook_parameter(parameter, places)

    def _hook(self, module, before, after):
        try:
            self._handles.append(_register_before(module, before))
            self._handles.append(_register_after(module, after))
        except Exception as error:  # a scripted module takes no hooks in some versions
            logger.warning_once("modules of class %s cannot be hooked and are not recorded: %s" % (
                type(module).__name__, error))
            return False
        return True

    def _hook_parameter(self, parameter, places):
        hook = self._session.parameter_hook(parameter, places)
        try:
            if hasattr(parameter, "register_post_accumulate_grad_hook"):
                self._parameter_handles.append(parameter.register_post_accumulate_grad_hook(hook))
            else:
                self._parameter_handles.append(_AccumulationHandle(parameter, hook))
        except RuntimeError as error:  # not a leaf: a parametrised weight
            logger.debug("the gradient of a parameter is not recorded: %s" % error)


def _recordable_modules(model):
    """(name, module) of all modules inside the model; a shared one comes once, under its first name.

    Not those that run as part of a compiled or scripted module: hooks would break its graph, or are not called.
    """
    seen = {model}
    stack = [iter(_children("", model))]
    while stack:
        name, module = next(stack[-1], (None, None))
        if module is None:
            stack.pop()
        elif module not in seen:
            seen.add(module)
            if getattr(module, "_compiled_call_impl", None) is not None or isinstance(module, torch.jit.ScriptModule):
                continue
            if type(module).__name__ not in _SKIPPED_CLASSES:
                yield name, module
            if not hasattr(module, "_orig_mod"):  # what torch.compile(module) returns
                stack.append(iter(_children(name + ".", module)))


def _children(prefix, module):
    return [(prefix + name, child) for name, child in module._modules.items() if child is not None]


class _AccumulationHandle:
    """Older torch: a hook on the node that accumulates the gradient, which must be kept for the hook to stay."""

    def __init__(self, parameter, hook):
        with DisableTorchFunction(), without_dispatch_modes(), torch.enable_grad():
            self._node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
        self._handle = self._node.register_hook(hook)

    def remove(self):
        self._handle.remove()
        self._node = None


def _register_before(module, hook):
    try:
        return module.register_forward_pre_hook(hook, with_kwargs=True)
    except TypeError:  # torch before 2.0 hands hooks no keywords
        return module.register_forward_pre_hook(hook)


def _register_after(module, hook):
    try:
        return module.register_forward_hook(hook, prepend=True, always_call=True)
    except TypeError:
        return module.register_forward_hook(hook)
