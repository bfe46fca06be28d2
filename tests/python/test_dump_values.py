"""Arguments and tensors of hostile or rare kinds: each is described or null, and the rest of the record stays whole."""

import dataclasses
import json
import os
import time
import warnings

import numpy
import pytest
import torch
import torch.nn.functional as F

from capabilities import needs
from watchers import Anything, Dispatched


def described(record, value, task="statistics"):
    dump = record(lambda: F.embedding(Anything(), (value,)), task=task)
    return dump.data["Functional.embedding.0.forward"]["input_args"][1][0]


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None


def self_containing_list():
    value = []
    value += [value, value, 1]
    return value, [None, None, {"type": "int", "value": 1}]


def self_containing_dict():
    value = {}
    value.update(a=value, b=value)
    return value, {"a": None, "b": None}


def self_containing_dataclass():
    value = Pair(None)
    value.first = value.second = value
    return value, {"first": None, "second": None}


@pytest.mark.parametrize("make", [self_containing_list, self_containing_dict, self_containing_dataclass])
@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_containers_inside_themselves(record, make, task):
    value, expected = make()
    assert described(record, value, task) == expected


def test_lists_that_share_their_parts_do_not_unfold_without_end(record):
    value = [1]
    for _ in range(60):
        value = [value, value]
    begin = time.monotonic()
    described(record, value)
    assert time.monotonic() - begin < 60


class RaisingText:
    def __str__(self):
        raise ArithmeticError("made by the test")


def test_a_value_that_raises_is_null_and_the_rest_of_the_record_stays(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    F.embedding(Anything(), ({RaisingText(): 1}, 5))
    debugger.stop()
    dump = load_dump(tmp_path)
    assert dump.data["Functional.embedding.0.forward"]["input_args"][1] == [None, {"type": "int", "value": 5}]
    assert dump.errors.count("made by the test") == 1


def test_failures_that_differ_each_time_do_not_fill_the_disk(fresh_debugger, load_dump, tmp_path):
    class Numbered:
        count = 0

        def __str__(self):
            Numbered.count += 1
            raise ArithmeticError("failure %d" % Numbered.count)

    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    for _ in range(300):
        F.embedding(Anything(), ({Numbered(): 1},))
    debugger.stop()
    told = [line for line in load_dump(tmp_path).errors.splitlines() if not line.startswith(" ")]
    assert Numbered.count == 300 and len(told) == 100


@pytest.mark.parametrize("value, expected", [(10**400, float("inf")), (-10**400, -float("inf")), (2**64, 2.0**64)])
def test_integers_beyond_any_number_format(record, value, expected):
    assert described(record, value) == {"type": "int", "value": expected}


def test_an_empty_numpy_array_has_no_statistics_and_no_warning(record):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        element = described(record, numpy.zeros((0, 2)))
    assert (element["shape"], element["Max"], element["Min"], element["Mean"]) == ([0, 2], None, None, None)


def test_made_up_attributes_are_no_dataclass(record):
    class MakesUp:
        def __getattr__(self, name):
            return {}

    assert described(record, [MakesUp(), Pair(1)]) == [None, {"first": {"type": "int", "value": 1}, "second": None}]


def test_nested_tensors(record):
    warnings.simplefilter("ignore")
    strided = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    dump = record(lambda: torch.clone(strided), task="tensor")
    assert dump.data["Torch.clone.0.forward"]["input_args"][0]["shape"] == [2, -1]


@needs("jagged")
def test_jagged_tensors(record):
    warnings.simplefilter("ignore")
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 3)], layout=torch.jagged)
    dump = record(lambda: torch.relu(jagged), task="tensor")
    element = dump.data["Torch.relu.0.forward"]["input_args"][0]
    assert element["shape"] == [2, -1, 3] and element["Max"] is None and "data_name" not in element


def test_a_subclass_whose_attributes_raise(record):
    class Raising(torch.Tensor):
        shape = property(lambda self: 1 / 0)
        requires_grad = property(lambda self: 1 / 0)

    tensor = torch.full((2,), 3.0).as_subclass(Raising)
    element = record(lambda: torch.relu(tensor)).data["Torch.relu.0.forward"]["input_args"][0]
    assert element["shape"] == [2] and element["Max"] == 3.0 and element["requires_grad"] is False


def test_dispatch_modes_of_the_user_do_not_see_the_tool(record):
    mode = Dispatched()
    sparse, conjugate = torch.eye(2).to_sparse(), torch.ones(2, dtype=torch.complex64).conj()

    def step():
        with mode:
            torch.neg(sparse)
            torch.sin(conjugate)

    step()
    plain = list(mode.names)
    mode.names.clear()
    dump = record(step)
    assert mode.names == plain
    assert dump.data["Torch.neg.0.forward"]["input_args"][0]["Max"] == 1.0


def test_a_mode_of_the_user_does_not_steal_the_name_of_an_operator(record):
    from torch.overrides import TorchFunctionMode

    class Looking(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if args and isinstance(args[0], torch.Tensor):
                args[0].shape
            return function(*args, **(kwargs or {}))

    a = torch.ones(2)

    def step():
        with Looking():
            a + a
            -a

    dump = record(step)
    assert list(dump.data) == ["Tensor.__add__.0.forward", "Tensor.__neg__.0.forward"]
    assert dump.data["Tensor.__neg__.0.forward"]["output"][0]["Max"] == -1.0


def test_replaced_operators_equal_their_originals(record):
    original = torch.Tensor.__add__
    table = {original: "addition"}

    def step():
        assert torch.Tensor.__add__ == original and original == torch.Tensor.__add__
        assert table[torch.Tensor.__add__] == "addition" and {torch.Tensor.__add__: 1}[original] == 1
        assert torch.Tensor.__add__ != torch.Tensor.__mul__
        torch.relu(torch.ones(2))

    record(step)


def data_names(element):
    if isinstance(element, dict):
        return ({element["data_name"]} if "data_name" in element else set()).union(*map(data_names, element.values()))
    return set().union(*map(data_names, element)) if isinstance(element, list) else set()


def test_a_call_that_raised_leaves_no_file_and_none_that_the_next_call_could_meet(record):
    def step():
        for _ in range(20):
            with pytest.raises(RuntimeError):
                torch.add(torch.full((300, 300), 5.0), torch.ones(7))
            torch.add(torch.full((2,), 1.0), 1)

    dump = record(step, task="tensor")
    folder = dump.header["dump_data_dir"]
    assert data_names(dump.data) == set(os.listdir(folder))
    for number in range(20):
        assert torch.load(os.path.join(folder, "Torch.add.%d.forward.input.0.pt" % number)).tolist() == [1.0, 1.0]


def test_gradients_of_some_inputs_only_are_recorded(record):
    x = torch.ones(2, 3, 4, requires_grad=True)
    weight = torch.ones(5, 4, requires_grad=True)

    def step():
        torch.autograd.grad(F.linear(x, weight).sum(), [weight])

    dump = record(step, task="tensor")
    shapes = [gradient and gradient["shape"] for gradient in dump.data["Functional.linear.0.backward"]["output"]]
    assert shapes == [None, [5, 4]]
    assert data_names(dump.data) == set(os.listdir(dump.header["dump_data_dir"]))


def test_calls_of_thousands_of_nodes_or_inputs_cost_linear_time(record):
    lstm = torch.nn.LSTM(4, 4)
    many = [torch.ones(1, requires_grad=True) for _ in range(20000)]

    def step():
        lstm(torch.ones(4000, 1, 4))[0].sum().backward()
        torch.stack(many).sum().backward()

    begin = time.monotonic()
    dump = record(step)
    assert time.monotonic() - begin < 20
    assert len(dump.data["Torch.stack.0.backward"]["output"]) == 20000
    json.dumps(dump.data["Torch.lstm.0.backward"])
