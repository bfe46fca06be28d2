"""Everything that is installed from `start` to `stop`, and nothing longer."""

from msprobe.pytorch.api_hooks import ApiHooks, put_mode, take_mode
from msprobe.pytorch.api_table import ApiTable
from msprobe.pytorch.compiled_regions import CompiledRegions
from msprobe.pytorch.distributed_hooks import DistributedHooks
from msprobe.pytorch.engine_hooks import EngineHooks
from msprobe.pytorch.module_hooks import ModuleHooks
from msprobe.pytorch.tensor_access import current_graph_task


class InstalledHooks:
    """Installs what the level needs; installing again adds what is new. `remove` puts everything back."""

    def __init__(self, session, custom_apis):
        self._parts = []
        self._modules = None
        self._session = session
        self._compiled_regions = CompiledRegions()
        self._custom_apis = custom_apis
        self._table = None  # at levels that record APIs
        if session.level in ("L1", "L2", "mix"):
            table = self._table = ApiTable(session)
            session.set_api_table(table.functions)
            session.set_mode_switch(put_mode, take_mode)
            self._parts += [ApiHooks(session.recorder, table.operators, self._compiled_regions),
                            EngineHooks(), DistributedHooks(session, table.support_list, self._compiled_regions)]
            self._compiled_regions.listeners.append((custom_apis.step_aside, custom_apis.come_back))
        elif current_graph_task is None:  # older torch: what backward makes again is told by the engine's call
            self._parts.append(EngineHooks())
        if session.level in ("L0", "mix"):
            self._modules = ModuleHooks(session)
            self._compiled_regions.listeners.append((self._modules.step_aside, self._modules.come_back))
        self._single = []  # ModuleHooks of single modules; the last one may be installed
        self.records_one = False

    def install(self, models):
        """`models`: [(prefix of the names, module)]."""
        self._remove_single()
        try:
            self._compiled_regions.install()
            if self._modules is not None:  # before the mode, which would be shown what torch does to hook a parameter
                self._modules.install(models)
                if self._compiled_regions.running:
                    self._modules.step_aside()
            for part in self._parts:
                part.install()
            if self._table is not None:
                self._table.look_for_operators()
                self._custom_apis.install(self._table.functions)
                if self._compiled_regions.running:
                    self._custom_apis.step_aside()
        except BaseException:
            self.remove()
            raise

    def install_one(self, name, module):
        """Until `install` or `remove`, records only calls of `module`, under this name."""
        self.remove()
        self.records_one = True
        self._single.append(ModuleHooks(self._session))
        self._single[-1].install_one(name, module)

    def records_module(self, module):
        return self._modules is not None and self._modules.is_hooked(module)

    def end_step(self):
        """After the session's own: gradients of parameters are not awaited any more."""
        for hooks in self._single + ([self._modules] if self._modules is not None else []):
            hooks.end_step()
        self._single.clear()

    def end(self):
        self.remove()

    def _remove_single(self):
        self.records_one = False
        for hooks in self._single:
            hooks.remove()

    def remove(self):
        self._remove_single()
        if self._modules is not None:
            self._modules.remove()
        self._custom_apis.remove()
        for part in reversed(self._parts):
            part.remove()
        self._compiled_regions.remove()
