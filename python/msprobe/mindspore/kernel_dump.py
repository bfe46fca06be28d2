"""Level L2: MindSpore dumps its kernels itself. The tool writes the file that says so, at the first `start`."""

import atexit
import importlib
import os

import mindspore

from msprobe.core.common.log import logger
from msprobe.core.debugger import arguments
from msprobe.core.debugger.models import Models
from msprobe.mindspore.debugger import execution_mode

_FIRST_WITH_HASH_PREFIX = (2, 7, 1)


def _version():
    parts = mindspore.__version__.split(".")[:3]
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in parts)


def _graph_has_run():
    """Whether MindSpore has compiled a graph in this process: it reads its dump configuration then, and never again."""
    for module in ("mindspore.graph.api", "mindspore.common.api"):
        try:
            api = importlib.import_module(module)
        except ImportError:
            continue
        # Of each cell a set, which is empty until the cell has been compiled.
        return bool(getattr(api, "ms_compile_cache", None)) or any(getattr(api, "cells_compile_cache", {}).values())
    return False


class KernelDump:
    """Stands in for a Collection: `start` acts once, what follows is MindSpore's affair."""

    def __init__(self, session, framework):
        self.session = session
        self.models = Models()
        self.hooks = None
        self._framework = framework
        self._started = False
        self._set = {}

    def start(self, model=None, token_range=None, rank_id=None):
        self.models.add(arguments.named_models(model, self._framework.Module, self._framework.MODULE))
        if self._started:
            return False
        mode = execution_mode.current()
        if _graph_has_run():
            arguments.refuse("MindSpore has compiled a graph already and would ignore the dump: call start() before the first step")
        if mode == execution_mode.GRAPH_GE and os.environ.get("GRAPH_OP_RUN") == "1":
            arguments.refuse("GRAPH_OP_RUN=1 runs graphs kernel by kernel, which jit_level O2 does not dump: unset it")
        if mindspore.communication.GlobalComm.INITED:
            logger.warning("mindspore.communication.init() ran before start(): MindSpore may have read its dump configuration already")
        stores_statistics = mindspore.get_context("device_target") != "CPU"
        path, environment = self.session.write_kernel_dump_file(
            is_graph_engine=mode == execution_mode.GRAPH_GE, stores_statistics=stores_statistics,
            prefixes_hash_names=_version() >= _FIRST_WITH_HASH_PREFIX)
        self._apply(environment)
        self._started = True
        logger.info("%s has been created." % path)
        if not stores_statistics and self.session.task == "statistics":
            logger.info("MindSpore stores no statistics on a CPU: statistic.csv is made from its tensors as iterations end")
            self.session.start_kernel_statistics()
            atexit.register(self._finish_statistics)
        return True

    def stop(self):
        """Nothing: MindSpore dumps the iterations that the configuration names."""

    def step(self):
        """Nothing: MindSpore counts its iterations itself."""

    def take_no_new_calls(self):
        """Nothing, as `stop`."""

    def set_init_step(self, step):
        logger.warning("set_init_step() has no effect at level L2: MindSpore counts its iterations itself")

    def micro_step(self):
        logger.warning_once("micro_step() has no effect at level L2")

    def save(self, variable, name, save_backward):
        logger.warning_once("save() has no effect at level L2")

    def register_custom_api(self, module, api, api_prefix):
        logger.warning_once("register_custom_api() has no effect at level L2")

    def restore_custom_api(self, module, api):
        pass

    def _finish_statistics(self):
        """At exit, when no kernel runs any more."""
        try:
            execution_mode.synchronize()
            files, unreadable, problem = self.session.stop_kernel_statistics()
        except Exception as error:
            logger.error("statistic.csv is incomplete, msprobe recover %s makes it: %s" % (self.session.dump_path, error))
            return
        logger.info("statistics of %d tensors are in the files statistic.csv below %s" % (files, self.session.dump_path))
        if unreadable:
            logger.warning("%d tensors have blank statistics: %s" % (unreadable, problem))

    def _apply(self, environment):
        for name, value in environment:
            if value:
                self._set[name] = value
                os.environ[name] = value
            else:
                os.environ.pop(name, None)
        atexit.register(self._restore)

    def _restore(self):
        for name, value in self._set.items():
            if os.environ.get(name) == value:
                del os.environ[name]

