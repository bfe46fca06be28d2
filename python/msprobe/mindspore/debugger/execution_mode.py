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
