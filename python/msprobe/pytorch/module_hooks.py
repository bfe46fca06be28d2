"""Hooks on the modules of a model, from `start` to `stop` only (levels L0 and mix); what they do is the extension's.

Gradients of modules come from hooks on existing autograd nodes: the full-backward hook of torch.nn.Module would change the
order in which gradients are summed.
"""

import weakref

import torch

from msprobe.core.common.log import logger

# A wrapper that shards its parameters: what is inside it is recorded, not itself.
_SKIPPED_CLASSES = ("FullyShardedDataParallel",)


class ModuleHooks:
    """`install` and `remove` are exact; installing again adds what is new. Hooks of the user stay where they are.

    Gradients still come in after `remove`; `end_step` takes the hooks for those of the parameters away.
    """

    def __init__(self, session):
        self._session = session
        self._known = weakref.WeakKeyDictionary()  # module -> (index, hooks), names of its parameters
        self._hooked = weakref.WeakSet()
        self._handles = []
        self._hooked_parameters = set()  # by id
        self._parameter_handles = []

    @property
    def installed(self):
        return bool(self._handles)

    def install(self, models):
        """`models`: (prefix, module) pairs; the prefix is "" for a single model, its index for one of several."""
        owners = {}
        for prefix, model in models:
            self._install_model(prefix, model, owners)
        if self._session.wants_parameter_gradients:
            for parameter, places in owners.values():
                if id(parameter) not in self._hooked_parameters:
                    self._hooked_parameters.add(id(parameter))
                    self._hook_parameter(parameter, places)

    def remove(self):
        self._hooked.clear()
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()

    def end_step(self):
        self._hooked_parameters.clear()
        handles, self._parameter_handles = self._parameter_handles, []
        for handle in handles:
            handle.remove()

    def _install_model(self, prefix, model, owners):
        for name, module in model.named_modules():  # a shared module comes once, under its first name
            if not name or type(module).__name__ in _SKIPPED_CLASSES:
                continue
            entry = self._known.get(module)
            if entry is None:
                parameters = list(module._parameters)
                path = prefix + "." + name if prefix else name
                entry = self._session.module_hooks(path, type(module).__name__, parameters), parameters
                self._known[module] = entry
            (index, before, after), parameters = entry
            if module not in self._hooked:
                if not self._hook_module(module, before, after):
                    continue
                self._hooked.add(module)
            for position, parameter_name in enumerate(parameters):
                parameter = module._parameters.get(parameter_name)
                if parameter is not None and parameter.requires_grad:
                    owners.setdefault(id(parameter), (parameter, []))[1].append((index, position))

    def _hook_module(self, module, before, after):
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


class _AccumulationHandle:
    """Older torch: a hook on the node that accumulates the gradient, which must be kept for the hook to stay."""

    def __init__(self, parameter, hook):
        with torch.enable_grad():
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
