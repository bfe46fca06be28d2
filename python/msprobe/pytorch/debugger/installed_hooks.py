"""Everything that is installed from `start` to `stop`, and nothing longer."""

from msprobe.pytorch.api_hooks import ApiHooks, put_mode, take_mode
from msprobe.pytorch.api_table import ApiTable
from msprobe.pytorch.distributed_hooks import DistributedHooks

try:
    from msprobe.pytorch.module_hooks import ModuleHooks
except ImportError:
    ModuleHooks = None


class InstalledHooks:
    """Installs what the level needs; installing again adds what is new. `remove` puts everything back."""

    def __init__(self, session):
        self._parts = []
        self._modules = None
        self._session = session
        if session.level in ("L1", "mix"):
            table = ApiTable(session)
            session.set_api_table(table.functions)
            session.set_mode_switch(put_mode, take_mode)
            apis = ApiHooks(session.recorder, table.operators)
            self._parts += [apis, DistributedHooks(session, table.support_list, apis.compiled_regions)]
        if session.level in ("L0", "mix") and ModuleHooks is not None:
            self._modules = ModuleHooks(session)

    def install(self, models):
        """`models`: [(prefix of the names, module)]."""
        try:
            for part in self._parts:
                part.install()
            if self._modules is not None:
                self._modules.install(models)
        except BaseException:
            self.remove()
            raise

    def end_step(self):
        """After the session's own: gradients of parameters are not awaited any more."""
        if self._modules is not None:
            self._modules.end_step()

    def remove(self):
        if self._modules is not None:
            self._modules.remove()
        for part in reversed(self._parts):
            part.remove()
