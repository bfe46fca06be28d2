"""Levels L1 and mix: functions of the support list, primitives of a model, compiled functions."""

import inspect
import pickle
import threading
import time
import types

import mindspore
import numpy as np
import pytest
from mindspore import Parameter, Tensor, grad, mint, nn, ops, value_and_grad

from capabilities_of_mindspore import needs_graph

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5


@pytest.fixture
def x():
    return Tensor(X)


def called(function, x):
    return lambda: grad(lambda x: function(x).sum())(x)


@pytest.mark.parametrize("name, function", [
    ("Functional.relu", lambda x: ops.relu(x)), ("Mint.abs", lambda x: mint.abs(x)),
    ("MintFunctional.relu", lambda x: mint.nn.functional.relu(x)), ("Tensor.exp", lambda x: x.exp()),
    ("Tensor.__add__", lambda x: x + 1), ("Tensor.__radd__", lambda x: 1 + x), ("Tensor.__mul__", lambda x: x * x),
    ("Tensor.__matmul__", lambda x: x @ x.T), ("Tensor.__neg__", lambda x: -x), ("Tensor.__truediv__", lambda x: x / 2),
])
def test_calls_have_the_names_of_the_document(record, x, name, function):
    dump = record(called(function, x))
    assert [n for n in dump.data if n.startswith(name + ".")] == [name + ".0.forward", name + ".0.backward"]


@needs_graph
def test_the_worked_example(record, x):
    def calls(x):
        y = mint.abs(mint.abs(x))
        a, b = ops.split(y, 2, axis=1)
        return a.sum() + (b * 2).sum()

    dump = record(lambda: grad(calls)(x), list=["Mint.abs", "Functional.split"])
    assert list(dump.data) == [
        "Mint.abs.0.forward", "Mint.abs.1.forward", "Functional.split.0.forward", "Functional.split.0.backward",
        "Mint.abs.1.backward", "Mint.abs.0.backward"]
    split = dump.data["Functional.split.0.forward"]
    assert split["input_args"][1] == {"type": "int", "value": 2} and split["input_kwargs"]["axis"]["value"] == 1
    assert [tensor["shape"] for tensor in split["output"]] == [[2, 2], [2, 1]]
    backward = dump.data["Functional.split.0.backward"]
    assert [tensor["Max"] for tensor in backward["input"]] == [1.0, 2.0]
    assert [tensor["shape"] for tensor in backward["output"]] == [[2, 3]]
    assert dump.data["Mint.abs.0.backward"]["output"][0]["Min"] == -2.0
    assert dump.construct == {}


def test_only_the_outermost_call_is_recorded(record, x):
    dump = record(lambda: (ops.mse_loss(x, x), ops.relu(x)))
    assert list(dump.data) == ["Functional.mse_loss.0.forward", "Functional.relu.0.forward"]


def test_nothing_of_the_tool_is_recorded(record, x):
    dump = record(lambda: [ops.norm(x), mint.max(x), x.sum()], summary_mode="md5")
    assert list(dump.data) == ["Functional.norm.0.forward", "Mint.max.0.forward", "Tensor.sum.0.forward"]


def test_inputs_are_those_before_the_call(record):
    def assign():
        target = Parameter(Tensor([1.0, 2.0]), name="target")
        ops.assign_add(target, Tensor([10.0, 10.0]))

    forward = record(assign).data["Functional.assign_add.0.forward"]
    assert forward["input_args"][0]["Max"] == 2.0 and forward["output"][0]["Max"] == 12.0


def test_methods_of_parameters_are_recorded_as_those_of_tensors(record):
    parameter = Parameter(Tensor([1.0, 2.0]), name="p")
    assert list(record(lambda: (parameter * 2, parameter.exp())).data) == ["Tensor.__mul__.0.forward", "Tensor.exp.0.forward"]


@needs_graph
def test_a_tensor_in_two_places_has_the_sum_of_both_contributions(record, x):
    backward = record(called(lambda x: ops.mul(x, x), x)).data["Functional.mul.0.backward"]
    assert [tensor["Max"] for tensor in backward["output"]] == [2 * X.max()] * 2 or len(backward["output"]) == 2


def test_an_exception_of_a_call_passes_and_leaves_no_record(configured, load_dump, tmp_path, x):
    debugger = configured()
    debugger.start()
    with pytest.raises((TypeError, ValueError)):
        ops.relu("text")
    ops.relu(x)
    debugger.stop()
    debugger.step()
    assert list(load_dump(tmp_path / "dump").data) == ["Functional.relu.0.forward"]


def test_stand_ins_look_like_what_they_stand_for(configured):
    originals = ops.relu, mindspore.Tensor.__add__, ops.split
    configured()
    for original, stand_in in zip(originals, (ops.relu, mindspore.Tensor.__add__, ops.split)):
        assert stand_in is not original and stand_in == original and hash(stand_in) == hash(original)
        assert stand_in.__name__ == original.__name__ and stand_in.__doc__ == original.__doc__
    assert inspect.signature(ops.split) == inspect.signature(originals[2])
    assert isinstance(ops.relu, types.FunctionType)
    assert pickle.loads(pickle.dumps(ops.relu)) == ops.relu
    assert {originals[0]: 1}[ops.relu] == 1


def test_names_bound_after_the_construction_are_recorded(record, x):
    bound = {}

    def bind(_debugger):
        from mindspore.ops import relu

        bound["relu"] = relu

    assert list(record(lambda: bound["relu"](x), prepare=bind).data) == ["Functional.relu.0.forward"]


def test_stand_ins_do_nothing_outside_and_go_after_the_last_step(configured, load_dump, tmp_path, x):
    original, method = ops.relu, mindspore.Tensor.__dict__.get("exp")
    debugger = configured(top={"step": [1]})
    for _ in range(3):
        ops.relu(x)
        debugger.start()
        ops.relu(x)
        debugger.stop()
        ops.relu(x)
        debugger.step()
    assert list(load_dump(tmp_path / "dump", step=1).data) == ["Functional.relu.0.forward"]
    assert not (tmp_path / "dump" / "step0").exists()
    assert ops.relu is original and mindspore.Tensor.__dict__.get("exp") is method


def test_other_threads_are_not_disturbed(configured, load_dump, tmp_path, x):
    debugger = configured()
    debugger.start()
    results = []
    thread = threading.Thread(target=lambda: results.append(ops.relu(x).asnumpy()))
    thread.start()
    thread.join()
    debugger.stop()
    debugger.step()
    assert np.array_equal(results[0], np.maximum(X, 0))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 4)
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.fc(x))


@needs_graph
def test_primitives_of_the_model_are_recorded_and_keep_what_they_are(record, x):
    net = Net()
    before = type(net.fc.matmul), net.fc.matmul
    step = value_and_grad(lambda x: net(x).sum(), 0, net.trainable_params())
    dump = record(lambda: step(x), model=net)
    names = [name for name in dump.data if name.startswith("Primitive")]
    assert {"Primitive.matmul.MatMul.0.forward", "Primitive.bias_add.BiasAdd.0.forward", "Primitive.relu.ReLU.0.forward",
            "Primitive.matmul.MatMul.0.backward"} <= set(names)
    matmul = dump.data["Primitive.matmul.MatMul.0.backward"]
    assert [tensor["shape"] for tensor in matmul["output"]] == [[2, 3], [4, 3]]  # by position
    assert (type(net.fc.matmul), net.fc.matmul) == before
    assert not [name for name in record(lambda: step(x)).data if name.startswith("Primitive")]  # no model, none of its own


def test_mix_links_calls_to_cells(record, x):
    net = Net()
    step = value_and_grad(lambda x: ops.exp(net(x)).sum(), 0, net.trainable_params())
    dump = record(lambda: step(x), level="mix", model=net)
    assert dump.construct["Primitive.matmul.MatMul.0.forward"] == "Cell.fc.Dense.forward.0"
    assert dump.construct["Primitive.matmul.MatMul.0.backward"] == "Cell.fc.Dense.backward.0"
    assert dump.construct["Functional.exp.0.forward"] is None
    assert {"Cell.fc.Dense.forward.0", "Cell.relu.ReLU.backward.0", "Cell.fc.Dense.parameters_grad.0"} <= set(dump.data)


@mindspore.jit
def compiled(x, y):
    return ops.relu(x) * y + mint.abs(x)


class Compiled(nn.Cell):
    @mindspore.jit
    def construct(self, x):
        return ops.exp(x) * 2


@needs_graph
def test_compiled_functions_and_cells_are_one_record_each(record, x):
    cell = Compiled()
    expected = compiled(x, x).asnumpy(), cell(x).asnumpy()
    results = []

    def calls():
        results.extend((compiled(x, x).asnumpy(), cell(x).asnumpy(), grad(lambda x: compiled(x, x).sum())(x).asnumpy()))

    dump = record(calls)
    assert [name for name in dump.data if not name.startswith("Tensor")] == [
        "Jit.compiled.0.forward", "Jit.Compiled.0.forward", "Jit.compiled.1.forward", "Jit.compiled.1.backward"]
    assert len(dump.data["Jit.compiled.0.forward"]["input_args"]) == 2
    assert len(dump.data["Jit.Compiled.0.forward"]["input_args"]) == 1
    assert [tensor["shape"] for tensor in dump.data["Jit.compiled.1.backward"]["output"]] == [[2, 3]] * 2
    assert np.array_equal(results[0], expected[0]) and np.array_equal(results[1], expected[1])


def test_a_first_compilation_while_collecting_sees_the_originals(record, x):
    @mindspore.jit
    def fresh(x):
        return ops.relu(x) + mint.exp(x) + x.abs()

    results = []
    dump = record(lambda: results.append(fresh(x).asnumpy()))
    assert list(dump.data) == ["Jit.fresh.0.forward"]
    assert np.allclose(results[0], np.maximum(X, 0) + np.exp(X) + np.abs(X))


def test_a_compilation_that_fails_leaves_the_tool_in_place(configured, load_dump, tmp_path, x):
    @mindspore.jit
    def broken(x):
        return undefined_name(x)  # noqa: F821

    debugger = configured()
    debugger.start()
    with pytest.raises(Exception):
        broken(x)
    ops.relu(x)
    debugger.stop()
    debugger.step()
    assert list(load_dump(tmp_path / "dump").data)[-1] == "Functional.relu.0.forward"


def test_a_compiled_function_without_arguments_is_told(configured, capfd, x):
    @mindspore.jit
    def nothing():
        return ops.ones((2,), mindspore.float32)

    debugger = configured()
    debugger.start()
    nothing()
    debugger.stop()
    debugger.step()
    assert "Jit.nothing is called without arguments and is not recorded" in capfd.readouterr().out


def test_captured_byte_code_runs_call_by_call_between_start_and_stop(configured, load_dump, tmp_path, capfd, x):
    @mindspore.jit(capture_mode="bytecode")
    def captured(x):
        return ops.relu(x) * 2

    expected = captured(x).asnumpy()
    debugger = configured(top={"step": [0]})
    debugger.start()
    result = captured(x).asnumpy()
    debugger.stop()
    debugger.step()
    assert "Functional.relu.0.forward" in load_dump(tmp_path / "dump").data
    assert "byte code is not captured" in capfd.readouterr().out
    assert np.array_equal(result, expected) and np.array_equal(captured(x).asnumpy(), expected)


def test_the_list_is_edited_by_an_overlay(record, tmp_path, monkeypatch, x):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("ops:\n  - -relu\n  - gelu\n  - no_such_name\nmint.ops: [\"ab*\"]\n")
    monkeypatch.setenv("MSPROBE_SUPPORT_LIST", str(overlay))
    dump = record(lambda: (ops.relu(x), ops.gelu(x), mint.absolute(x) if hasattr(mint, "absolute") else mint.abs(x)))
    assert [name.split(".")[1] for name in dump.data][0] == "gelu" and len(dump.data) == 2


def test_functions_of_the_user_are_recorded_on_request(configured, load_dump, tmp_path, x):
    module = types.SimpleNamespace(__name__="mine", double=lambda value: ops.mul(value, 2))
    original = module.double
    debugger = configured()
    debugger.register_custom_api(module, "double")
    debugger.start()
    called(lambda x: module.double(x), x)()
    debugger.stop()
    debugger.step()
    assert module.double is original
    assert {"mine.double.0.forward", "mine.double.0.backward"} <= set(load_dump(tmp_path / "dump").data)
    debugger.restore_custom_api(module, "double")


def test_calls_of_many_steps_cost_the_same(record, x):
    """Not a measurement: a number of calls that would take minutes if their cost grew with the dump."""
    begin = time.perf_counter()
    dump = record(lambda: [ops.relu(x) for _ in range(5000)])
    assert len(dump.data) == 5000 and time.perf_counter() - begin < 60


class Handle:
    """As communication hands it out."""

    def __init__(self, finish):
        self._finish = finish

    def wait(self):
        self._finish()


@pytest.fixture
def communication(monkeypatch):
    """mint.distributed on one process: all_reduce doubles its tensor, at once or when its handle is waited for."""
    from mindspore.mint import distributed

    def all_reduce(tensor, op="sum", group=None, async_op=False):
        def finish():
            tensor[:] = tensor * 2

        if not async_op:
            return finish()
        return Handle(finish)

    monkeypatch.setattr(distributed, "all_reduce", all_reduce)
    return distributed


def test_communication_shows_what_has_arrived_in_its_arguments(record, communication):
    x = Tensor([1.0, 2.0])
    forward = record(lambda: communication.all_reduce(x)).data["MintDistributed.all_reduce.0.forward"]
    assert forward["input_args"][0]["Max"] == 2.0 and forward["output"][0]["Max"] == 4.0


def test_asynchronous_communication_is_recorded_when_the_script_waits(record, communication):
    tensors = [Tensor([1.0]), Tensor([10.0])]
    wait = Handle.wait

    def calls():
        handles = [communication.all_reduce(tensor, "sum", None, True) for tensor in tensors]
        ops.relu(Tensor([1.0]))
        for handle in reversed(handles):
            handle.wait()
        assert all(type(handle) is Handle for handle in handles)

    dump = record(calls)
    assert [name for name in dump.data if "relu" in name or "all_reduce" in name] == [
        "Functional.relu.0.forward", "MintDistributed.all_reduce.1.forward", "MintDistributed.all_reduce.0.forward"]
    assert dump.data["MintDistributed.all_reduce.1.forward"]["output"][0]["Max"] == 20.0
    assert Handle.wait is wait


def test_communication_that_nobody_waits_for_has_null_outputs(record, communication):
    kept = []
    dump = record(lambda: kept.append(communication.all_reduce(Tensor([1.0]), async_op=True)))
    forward = dump.data["MintDistributed.all_reduce.0.forward"]
    assert forward["input_args"][0]["Max"] == 1.0 and forward["output"] == [None]
    kept[0].wait()
