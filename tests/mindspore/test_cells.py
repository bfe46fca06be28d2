"""Level L0: records of cells, their tree, parameters and gradients."""

import shutil

import numpy as np
import pytest
from mindspore import Tensor, nn, ops, value_and_grad

from msprobe.core.common.exceptions import MsprobeException

from capabilities_of_mindspore import needs_graph


class Scale(nn.Cell):
    def construct(self, x, *, factor=None, options=None):
        return x * factor + options["offset"]


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 4)
        self.act = nn.ReLU()
        self.scale = Scale()

    def construct(self, x):
        y = self.act(self.fc(x))
        return self.act(self.scale(y, factor=Tensor([2.0]), options={"offset": 1.0})), [y, None]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.again = self.block.act
        self.head = nn.SequentialCell(nn.Dense(4, 2), nn.ReLU())

    def construct(self, x):
        y, (z, _) = self.block(x)
        return self.head(y + z)


def step_of(net, x=None):
    x = Tensor(np.arange(8, dtype=np.float32).reshape(2, 4)) if x is None else x
    step = value_and_grad(lambda x: net(x).sum(), 0, net.trainable_params())
    return lambda: step(x)


@pytest.fixture
def net():
    return Net()


FORWARD = [
    "Cell.block.fc.Dense.forward.0", "Cell.block.act.ReLU.forward.0", "Cell.block.scale.Scale.forward.0",
    "Cell.block.act.ReLU.forward.1", "Cell.block.Block.forward.0", "Cell.head.0.Dense.forward.0",
    "Cell.head.1.ReLU.forward.0", "Cell.head.SequentialCell.forward.0"]


def test_names_and_order_are_those_of_completion(record, net):
    dump = record(step_of(net), level="L0", model=net)
    assert [name for name in dump.data if ".forward." in name] == FORWARD
    assert sorted(name.replace("backward", "forward") for name in dump.data if ".backward." in name) == sorted(FORWARD)
    assert sorted(name for name in dump.data if "parameters_grad" in name) == [
        "Cell.block.fc.Dense.parameters_grad.0", "Cell.head.0.Dense.parameters_grad.0"]
    assert dump.header["framework"] == "mindspore" and dump.header["level"] == "L0"


def test_the_tree_has_forward_under_forward_and_backward_under_backward(record, net):
    dump = record(step_of(net), level="L0", model=net)
    for direction in ("forward", "backward"):
        block, head = "Cell.block.Block.%s.0" % direction, "Cell.head.SequentialCell.%s.0" % direction
        assert dump.construct["Cell.block.act.ReLU.%s.1" % direction] == block
        assert dump.construct["Cell.head.0.Dense.%s.0" % direction] == head
        assert dump.construct[block] is None and dump.construct[head] is None


def test_a_record_holds_arguments_keywords_outputs_and_parameters(record, net):
    dump = record(step_of(net), level="L0", model=net)
    scale = dump.data["Cell.block.scale.Scale.forward.0"]
    assert [tensor["shape"] for tensor in scale["input_args"]] == [[2, 4]]
    assert scale["input_kwargs"]["factor"]["Max"] == 2.0
    assert scale["input_kwargs"]["options"]["offset"] == {"type": "float", "value": 1.0}
    block = dump.data["Cell.block.Block.forward.0"]
    assert [part if part is None else part["shape"] for part in block["output"][1]] == [[2, 4], None]
    dense = dump.data["Cell.block.fc.Dense.forward.0"]
    assert {name: tensor["shape"] for name, tensor in dense["parameters"].items()} == {"weight": [4, 4], "bias": [4]}
    assert dump.data["Cell.block.act.ReLU.forward.0"]["parameters"] == {}


@needs_graph
def test_backward_holds_the_cells_own_gradients(record, net):
    step = step_of(net)
    gradients = step()[1]
    dump = record(step, level="L0", model=net)
    first = dump.data["Cell.block.fc.Dense.backward.0"]
    assert [tensor["shape"] for tensor in first["input"] + first["output"]] == [[2, 4], [2, 4]]
    assert first["output"][0]["Norm"] == pytest.approx(float(gradients[0].norm().asnumpy()), rel=1e-5)
    weight = dump.data["Cell.block.fc.Dense.parameters_grad.0"]["weight"][0]
    assert weight["Norm"] == pytest.approx(float(gradients[1][0].norm().asnumpy()), rel=1e-5)
    assert len(dump.data["Cell.block.Block.backward.0"]["input"]) == 2  # tensors of the list, too


@needs_graph
def test_a_shared_input_has_each_cells_own_contribution(record):
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Dense(4, 4, weight_init="ones"), nn.Dense(4, 4, weight_init="zeros")

        def construct(self, x):
            return self.a(x) + self.b(x)

    net = Twice()
    dump = record(step_of(net), level="L0", model=net)
    assert dump.data["Cell.a.Dense.backward.0"]["output"][0]["Max"] == 4.0
    assert dump.data["Cell.b.Dense.backward.0"]["output"][0]["Max"] == 0.0


def test_numbers_begin_anew_in_every_step_and_keys_are_equal(configured, load_dump, tmp_path, net):
    debugger, step = configured(level="L0"), step_of(net)
    for _ in range(3):
        debugger.start(net)
        step()
        debugger.stop()
        debugger.step()
    dumps = [load_dump(tmp_path / "dump", step=number) for number in range(3)]
    assert list(dumps[0].data) == list(dumps[1].data) == list(dumps[2].data) and len(dumps[0].data) == 18
    assert dumps[0].stack.keys() == dumps[2].stack.keys() == set(FORWARD)


def test_a_backward_after_stop_belongs_to_its_step(configured, load_dump, tmp_path, net):
    class Stopping(nn.Cell):
        def construct(self, x):
            debugger.stop()
            return x

    debugger = configured(level="L0")
    last = Stopping()
    step = value_and_grad(lambda x: last(net(x)).sum(), 0, net.trainable_params())
    debugger.start(net)
    step(Tensor(np.ones((2, 4), np.float32)))
    debugger.step()
    assert len([name for name in load_dump(tmp_path / "dump").data if ".backward." in name]) == len(FORWARD)


@needs_graph
def test_a_cell_with_a_backward_of_its_own_is_recorded(record):
    class Own(nn.Cell):
        def construct(self, x, scale=None):
            return x * scale

        def bprop(self, x, scale, out, dout):
            return dout * 3.0, ops.zeros_like(scale)

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.own, self.fc = Own(), nn.Dense(4, 4)

        def construct(self, x):
            return self.own(self.fc(x), scale=Tensor([2.0]))

    net = Outer()
    plain = step_of(net)()
    dump = record(step_of(net), level="L0", model=net)
    assert dump.data["Cell.own.Own.forward.0"]["input_kwargs"]["scale"]["Max"] == 2.0
    assert dump.data["Cell.own.Own.backward.0"]["output"][0]["Max"] == 3.0
    again = step_of(net)()
    assert np.array_equal(plain[0].asnumpy(), again[0].asnumpy()) and net.own.has_bprop


def test_an_exception_of_a_cell_passes_and_leaves_the_tree_right(configured, load_dump, tmp_path):
    class Broken(nn.Cell):
        def construct(self, x):
            raise ZeroDivisionError("mine")

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner, self.relu = Broken(), nn.ReLU()

        def construct(self, x):
            return self.inner(x)

    class Top(nn.Cell):
        def __init__(self):
            super().__init__()
            self.outer, self.relu = Outer(), nn.ReLU()

        def construct(self, x):
            with pytest.raises(ZeroDivisionError, match="mine"):
                self.outer(x)
            return self.relu(x)

    net, debugger = Top(), configured(level="L0")
    debugger.start(net)
    net(Tensor([1.0]))
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    assert dump.construct["Cell.relu.ReLU.forward.0"] is None
    assert "output" not in dump.data["Cell.outer.inner.Broken.forward.0"] and dump.errors == ""


def test_hooks_of_the_user_stay_and_the_tools_go(configured, net):
    seen = []
    net.block.act.register_forward_hook(lambda cell, inputs, output: seen.append(1))
    debugger = configured(level="L0")
    debugger.start(net)
    step_of(net)()
    debugger.stop()
    debugger.step()
    assert len(seen) == 2
    assert len(net.block.act._forward_hook) == 1 and not net.block.fc._forward_hook and not net.block.fc._forward_pre_hook
    step_of(net)()
    assert len(seen) == 4


def test_frozen_parameters_have_no_gradients(record, net):
    net.head[0].weight.requires_grad = False
    dump = record(step_of(net), level="L0", model=net)
    assert list(dump.data["Cell.head.0.Dense.parameters_grad.0"]) == ["bias"]


def test_several_models_have_their_positions_in_the_names(configured, load_dump, tmp_path):
    models = [nn.SequentialCell(nn.ReLU()), nn.SequentialCell(nn.Tanh())]
    debugger = configured(level="L0")
    debugger.start(models)
    models[1](models[0](Tensor([1.0])))
    debugger.stop()
    debugger.step()
    assert list(load_dump(tmp_path / "dump").data) == ["Cell.0.0.ReLU.forward.0", "Cell.1.0.Tanh.forward.0"]


@pytest.mark.parametrize("model, expected", [
    (None, "needs the model"), (3, "model must be a mindspore.nn.Cell or a list of them, not int"),
    ([nn.ReLU(), 3], "element 1 is a int")])
def test_what_is_no_model_is_refused(configured, model, expected):
    with pytest.raises(MsprobeException, match=expected):
        configured(level="L0").start(model)


def test_a_token_range_counts_calls_of_the_model(configured, load_dump, tmp_path, net):
    debugger = configured(level="L0")
    debugger.start(net, token_range=[1, 2])
    for i in range(4):
        net(Tensor(np.full((2, 4), i, np.float32)))
    debugger.stop()
    debugger.step()
    data = load_dump(tmp_path / "dump").data
    assert [data["Cell.block.fc.Dense.forward.%d" % i]["input_args"][0]["Max"] for i in range(2)] == [1.0, 2.0]
    assert "Cell.block.fc.Dense.forward.2" not in data


def test_scope_list_and_data_mode_keep_the_numbering(configured, load_dump, tmp_path, net):
    def names(**section):
        shutil.rmtree(tmp_path / "dump", ignore_errors=True)
        debugger = configured(level="L0", **section)
        debugger.start(net)
        step_of(net)()
        debugger.stop()
        debugger.step()
        return load_dump(tmp_path / "dump")

    assert list(names(list=["act.ReLU.forward.1"]).data) == ["Cell.block.act.ReLU.forward.1"]
    inside = names(scope=["Cell.block.scale.Scale.forward.0", "Cell.head.0.Dense.forward.0"]).data
    # The block began before the scope did; what begins inside is kept whole.
    assert [name for name in inside if ".forward." in name] == [FORWARD[i] for i in (2, 3, 5, 7)]
    inputs = names(data_mode=["forward", "input"]).data
    assert list(inputs) == FORWARD and "output" not in inputs[FORWARD[0]]
    assert all(".backward." in name or "parameters_grad" in name for name in names(data_mode=["backward"]).data)
