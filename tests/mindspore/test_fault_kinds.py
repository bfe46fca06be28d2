"""Faults that dumps of MindSpore have had, by their numbers; those of values and kernel dumps stand in their own files."""

import importlib
import json
import os

import mindspore
import numpy as np
import pytest
from mindspore import Tensor, grad, nn, ops

from capabilities_of_mindspore import needs_graph

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5


def jit_executor():
    """The class that runs compiled functions: its place has changed."""
    for module in ("mindspore.graph.api", "mindspore.common.api"):
        try:
            return importlib.import_module(module)._JitExecutor
        except (ImportError, AttributeError):
            pass


@pytest.mark.parametrize("task", ["md5", "tensor"])
def test_b51_b52_a_transposed_bfloat16_tensor_is_read_as_float32(record, task):
    tensor = Tensor(X, mindspore.float32).astype(mindspore.bfloat16).T
    dump = record(lambda: ops.is_tensor(tensor), task=task)
    element = dump.data["Functional.is_tensor.0.forward"]["input_args"][0]
    assert element["dtype"] == "BFloat16" and element["shape"] == [3, 2]
    if task == "tensor":
        loaded = np.load(os.path.join(dump.header["dump_data_dir"], element["data_name"]))
        assert np.array_equal(loaded, X.T) and loaded.dtype == np.float32


def test_b54_compiled_functions_are_recorded_in_the_steps_asked_for(configured, load_dump, tmp_path):
    @mindspore.jit
    def compiled(x):
        return ops.relu(x) * 2

    debugger = configured(top={"step": [1]})
    executor = jit_executor()
    stand_in = executor.__call__
    for _ in range(3):
        debugger.start()
        grad(lambda x: compiled(x).sum())(Tensor(X))
        debugger.stop()
        debugger.step()
    names = [name for name in load_dump(tmp_path / "dump", step=1).data if name.startswith("Jit")]
    assert names == ["Jit.compiled.0.forward", "Jit.compiled.0.backward"]
    assert sorted(os.listdir(tmp_path / "dump")) == ["step1"]
    assert stand_in.__module__.startswith("msprobe") and not executor.__call__.__module__.startswith("msprobe")


@needs_graph
def test_b55_a_primitive_with_an_input_that_needs_no_gradient_has_its_backward(record):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.gather = ops.Gather()

        def construct(self, x, index):
            return self.gather(x, index, 0)

    net, index = Net(), Tensor([1, 0], mindspore.int32)
    dump = record(lambda: grad(lambda x: net(x, index).sum())(Tensor(X)), model=net)
    backward = dump.data["Primitive.gather.Gather.0.backward"]
    assert backward["output"][0]["shape"] == [2, 3] and backward["output"][1] is None
    assert isinstance(net.gather, ops.Gather) and type(net.gather) is ops.Gather


def test_b60_keywords_reach_a_cell_with_a_backward_of_its_own(record):
    class Own(nn.Cell):
        def construct(self, x, *, scale=None):
            return x * scale

        def bprop(self, x, out, dout):
            return (dout,)

    net = nn.SequentialCell(nn.ReLU())
    net.own = Own()

    class Top(nn.Cell):
        def __init__(self):
            super().__init__()
            self.own = net.own

        def construct(self, x):
            return self.own(x, scale=Tensor([3.0]))

    top = Top()
    dump = record(lambda: top(Tensor(X)), level="L0", model=top)
    assert dump.data["Cell.own.Own.forward.0"]["input_kwargs"]["scale"]["Max"] == 3.0


def test_b63_static_and_instance_methods_keep_their_binding(record):
    dump = record(lambda: (Tensor.from_numpy(X), Tensor(X).exp()))
    assert list(dump.data) == ["Tensor.from_numpy.0.forward", "Tensor.exp.0.forward"]
    assert isinstance(mindspore.Tensor.__dict__["from_numpy"], staticmethod)
    assert np.array_equal(Tensor.from_numpy(X).asnumpy(), X)


def test_b65_a_dtype_as_an_argument(record):
    data = record(lambda: ops.cast(Tensor(X), mindspore.float16)).data["Functional.cast.0.forward"]
    assert data["input_args"][1] == {"type": "mindspore.dtype", "value": "Float16"}


def test_b68_an_odd_path_and_a_foreign_task(fresh_debugger, tmp_path, load_dump):
    folder = tmp_path / "path with (odd) [chars] +"
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"task": "statistics", "level": "L1", "dump_path": str(folder), "grad_probe": {"grad_level": "L1"},
                                  "statistics": {}}))
    debugger = fresh_debugger(str(config))
    debugger.start()
    ops.relu(Tensor(X))
    debugger.stop()
    debugger.step()
    assert list(load_dump(folder).data) == ["Functional.relu.0.forward"]


def test_b69_a_cell_under_two_names_is_one_with_its_parent(record):
    class Inner(nn.Cell):
        def __init__(self, shared):
            super().__init__()
            self.shared = shared

        def construct(self, x):
            return self.shared(x)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first = Inner(nn.ReLU())
            self.again = self.first.shared

        def construct(self, x):
            return self.again(self.first(x))

    net = Net()
    dump = record(lambda: net(Tensor(X)), level="L0", model=net)
    assert [name for name in dump.data] == [
        "Cell.first.shared.ReLU.forward.0", "Cell.first.Inner.forward.0", "Cell.first.shared.ReLU.forward.1"]
    assert dump.construct["Cell.first.shared.ReLU.forward.0"] == "Cell.first.Inner.forward.0"
