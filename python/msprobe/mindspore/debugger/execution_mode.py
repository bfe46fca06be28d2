"""How MindSpore runs the model: operator by operator, or as a graph (mindspore_dump.md 2.1)."""

import mindspore

PYNATIVE = "pynative"
GRAPH_KBYK = "graph_kbyk"
GRAPH_GE = "graph_ge"


def is_graph():
    return mindspore.get_context("mode") == mindspore.GRAPH_MODE


def current():
    if not is_graph():
        return PYNATIVE
    return GRAPH_GE if _jit_level() == "O2" else GRAPH_KBYK


def _jit_level():
    try:
        level = mindspore.context.get_jit_config().get("jit_level")
    except AttributeError:
        level = None
    level = level or mindspore.get_context("jit_level")
    return level or ("O2" if _is_first_generation() else "O0")


def _is_first_generation():
    """Whether this is the generation of devices whose version is plain "ascend910"."""
    if mindspore.get_context("device_target") != "Ascend":
        return False
    try:
        from mindspore._c_expression import MSContext

        return MSContext.get_instance().get_ascend_soc_version() == "ascend910"
    except (ImportError, AttributeError):
        return False


def synchronize():
    """Waits for all operators that have been launched."""
    if mindspore.get_context("device_target") != "CPU":
        mindspore.runtime.synchronize()
        return
    try:  # the other says that a CPU is not supported
        from mindspore.graph.api import _pynative_executor
    except ImportError:
        from mindspore.common.api import _pynative_executor
    _pynative_executor.sync()


def run_operators_one_by_one():
    """On a CPU, where each look at a value waits for the pipeline of operators: does without the pipeline (decisions 43).

    True if it has been asked for now. MindSpore ignores it once an operator has run.
    """
    if is_graph() or mindspore.get_context("device_target") != "CPU" or mindspore.get_context("pynative_synchronize"):
        return False
    mindspore.set_context(pynative_synchronize=True)
    return True
