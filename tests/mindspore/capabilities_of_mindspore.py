"""What tests ask of the installed MindSpore."""

import pytest
from mindspore import _c_expression

# Before 2.9 gradients of inputs are not known.
SHOWS_GRAPH = hasattr(getattr(_c_expression, "BackwardNodePy", None), "_unique_id")
needs_graph = pytest.mark.skipif(not SHOWS_GRAPH, reason="this MindSpore does not show its backward graph")
