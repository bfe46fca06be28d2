"""Everything that is installed while steps are collected."""

from msprobe.mindspore.api_hooks import ApiHooks, PrimitiveHooks
from msprobe.mindspore.cell_hooks import CellHooks
from msprobe.mindspore.compilation import Compilation
from msprobe.mindspore.debugger import execution_mode
from msprobe.mindspore.jit_hooks import JitHooks


class InstalledHooks:
    """Installs what the level needs; installing again adds what is new. `remove` takes off what is there from `start` to `stop`
    only, `end` the stand-ins as well, which are there from the construction on.
    """

    def __init__(self, session, custom_apis):
        self._custom_apis = custom_apis
        self._cells = CellHooks(session) if session.level in ("L0", "mix") else None
        self._primitives = None
        self._apis = None
        self._compilation = Compilation(self._step_aside, self._come_back)
        self._stand_ins = []
        if session.level in ("L1", "mix") and not execution_mode.is_graph():
            self._apis = ApiHooks(session)
            # The primitives keep their classes while a graph is compiled: MindSpore looks at what they are, not at `__call__`.
            self._stand_ins = [self._apis, JitHooks(session), self._compilation]
            if session.task != "overflow_check":
                self._primitives = PrimitiveHooks(session)
            for part in self._stand_ins:
                part.install()
        self._collects = False
        self.records_one = False

    def install(self, models):
        """`models`: [(prefix of the names, cell)]."""
        self._collects = True
        try:
            self._compilation.install()
            if self._primitives is not None:
                self._primitives.install(models)
            if self._cells is not None:
                self._cells.install(models)
            if self._apis is not None:
                self._custom_apis.install()
        except BaseException:
            self.remove()
            raise

    def end_step(self):
        if self._cells is not None:
            self._cells.end_step()

    def remove(self):
        self._collects = False
        self._custom_apis.remove()
        if self._cells is not None:
            self._cells.remove()
        if self._primitives is not None:
            self._primitives.remove()
        if not self._stand_ins:
            self._compilation.remove()

    def end(self):
        self.remove()
        for part in reversed(self._stand_ins):
            part.remove()
        self._stand_ins = []
        self._apis = None

    def _step_aside(self):
        if self._cells is not None:
            self._cells.step_aside()
        if self._apis is not None:
            self._apis.remove()
        self._custom_apis.remove()

    def _come_back(self):
        if self._apis is not None:
            self._apis.install()
        if self._collects:
            if self._apis is not None:
                self._custom_apis.install()
            if self._cells is not None:
                self._cells.come_back()
