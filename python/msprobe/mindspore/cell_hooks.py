"""Hooks on the cells of a model, from `start` to `stop` only (levels L0 and mix); what they do is the extension's.

Gradients of cells come from hooks on existing nodes of the backward graph: nothing is inserted, no tensor is replaced.
"""

import weakref

from mindspore import nn

from msprobe.core.common.log import logger
from msprobe.core.common.text import encodable
from msprobe.mindspore.tensor_access import as_function, register_tensor_hook

# Attributes of cells; the underlying ones come into being at the first hook.
_HOOK_CONTAINERS = ("_lazy_forward_pre_hook", "_lazy_forward_hook", "_forward_pre_hook", "_forward_hook")


class CellHooks:
    """`install` and `remove` are exact; installing again adds what is new. Hooks of the user stay where they are.

    Gradients still come in after `remove`; `end_step` takes the hooks for those of the parameters away. While a graph is
    compiled, which may be in the middle of a cell's call, the cells show no hooks of the tool (`step_aside`, `come_back`).
    """

    def __init__(self, session):
        self._session = session
        self._known = {}  # id of a cell -> (weak reference, (index, before, after), names of its parameters)
        self._hooked = {}  # id -> cell, while installed
        self._handles = []
        self._aside = []  # (cell, name of an attribute, its hooks with those of the tool), while a graph is compiled
        self._hooked_parameters = set()  # by id
        self._parameter_handles = []

    def install(self, models):
        """`models`: (prefix, cell) pairs; the prefix is "" for a single model, its index for one of several."""
        owners = {}
        for prefix, model in models:
            for name, cell in _inner_cells(model):
                self._install_cell(prefix + "." + name if prefix else name, cell, owners)
        self._hook_parameters(owners)

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

    def step_aside(self):
        """In place of its hooks every cell gets a copy without the tool's: the own ones may be run through just now."""
        own = {handle.handle_id for handle in self._handles}
        for cell in self._hooked.values():
            for name in _HOOK_CONTAINERS:
                hooks = vars(cell).get(name)
                if hooks:
                    self._aside.append((cell, name, hooks))
                    object.__setattr__(cell, name, type(hooks)((key, hook) for key, hook in hooks.items() if key not in own))

    def come_back(self):
        aside, self._aside = self._aside, []
        for cell, name, hooks in aside:
            object.__setattr__(cell, name, hooks)

    def _install_cell(self, path, cell, owners):
        known = self._known.get(id(cell))
        if known is None or known[0]() is not cell:
            parameters = list(cell._params)
            hooks = self._session.module_hooks(encodable(path), encodable(type(cell).__name__), [encodable(name) for name in parameters])
            known = self._known[id(cell)] = weakref.ref(cell), hooks, parameters
        _, (index, before, after), parameters = known
        if id(cell) not in self._hooked:
            self._hooked[id(cell)] = cell
            self._handles += _hook(cell, before, after)
        for position, name in enumerate(parameters):
            parameter = cell._params.get(name)
            if parameter is not None and parameter.requires_grad:
                owners.setdefault(id(parameter), (parameter, []))[1].append((index, position))

    def _hook_parameters(self, owners):
        if not self._session.wants_parameter_gradients:
            return
        for parameter, places in owners.values():
            if id(parameter) not in self._hooked_parameters:
                self._hooked_parameters.add(id(parameter))
                hook = self._session.parameter_hook(parameter, places)
                try:
                    self._parameter_handles.append(register_tensor_hook(parameter, hook))
                except Exception as error:
                    logger.warning_once("gradients of some parameters are not recorded: %s" % error)


def _inner_cells(model):
    """(name, cell) of all cells inside the model; a shared one comes once, under its first name."""
    return [(name, cell) for name, cell in model.cells_and_names() if cell is not model and isinstance(cell, nn.Cell)]


def _hook(cell, before, after):
    """Handles of the two hooks. MindSpore leaves hooks on cells with a `bprop` of their own out, forward ones too."""
    before, after = as_function(before), as_function(after)
    has_bprop = getattr(cell, "has_bprop", False)
    cell.has_bprop = False
    try:
        return [cell.register_forward_pre_hook(before, with_kwargs=True), _register_after(cell, after)]
    except TypeError:  # older versions hand hooks no keywords
        return [cell.register_forward_pre_hook(before), cell.register_forward_hook(after)]
    finally:
        cell.has_bprop = has_bprop


def _register_after(cell, hook):
    try:
        return cell.register_forward_hook(hook, prepend=True, with_kwargs=True, always_call=True)
    except TypeError:
        return cell.register_forward_hook(hook, with_kwargs=True)
