"""What tests ask of the installed MindSpore."""

import pytest
from mindspore import Tensor

# Before 2.8 gradients of inputs are not known.
needs_graph = pytest.mark.skipif(not hasattr(Tensor, "_grad_node"), reason="this MindSpore does not show its backward graph")
