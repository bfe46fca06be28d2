"""What is recorded of values: statistics per dtype, checksums, tensor files, scalars, containers (mindspore_dump.md 10)."""

import collections
import dataclasses
import json
import math
import os
import zlib

import mindspore
import numpy as np
import pytest
from mindspore import Parameter, Tensor, ops

STATISTICS = ("Max", "Min", "Mean", "Norm")


def dtype_named(name):
    return mindspore.bool_ if name == "bool" else getattr(mindspore, name)


def given(record, *args, task="statistics", **section):
    """The record of a call that is handed these arguments and does nothing with them."""
    dump = record(lambda: ops.is_tensor(args), task=task, **section)
    return dump, dump.data["Functional.is_tensor.0.forward"]["input_args"][0]


def described(record, value, **section):
    return given(record, value, **section)[1][0]


def statistics(element):
    return tuple(element[key] for key in STATISTICS)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8"])
def test_statistics_of_numbers(record, dtype):
    values = np.array([[1.0, 2.0], [3.0, 6.0]])
    element = described(record, Tensor(values, getattr(mindspore, dtype)))
    assert statistics(element) == pytest.approx((6, 1, 3.0, math.sqrt(50)))
    assert element["type"] == "mindspore.Tensor" and element["shape"] == [2, 2]
    assert element["dtype"].lower() == dtype and "requires_grad" not in element
    if "int" in dtype:
        assert type(element["Max"]) is int


def test_large_integers_keep_their_digits(record):
    element = described(record, Tensor(np.array([2**53 + 1, 3]), mindspore.int64))
    assert (element["Max"], element["Min"]) == (2**53 + 1, 3)
    assert described(record, Tensor(np.array([2**31 - 1, 1], np.int32)))["Norm"] == pytest.approx(2.0**31, rel=1e-6)


def test_half_precision_does_not_overflow(record):
    element = described(record, Tensor(np.full(1000, 60000, np.float16)))
    assert element["Mean"] == 60000.0 and element["Norm"] == pytest.approx(6e4 * math.sqrt(1000))


def test_special_tensors(record):
    assert statistics(described(record, Tensor([True, False]))) == (True, False, None, None)
    assert statistics(described(record, Tensor(np.zeros((0, 3), np.float32)))) == (None,) * 4
    assert statistics(described(record, Tensor(-2.5))) == (-2.5,) * 4
    assert statistics(described(record, Tensor(np.array([3 + 4j, 0], np.complex64)))) == (5.0, 0.0, 2.5, 5.0)
    element = described(record, Tensor([float("nan"), float("inf"), 1.0]))
    assert math.isnan(element["Max"]) and math.isnan(element["Min"])


def test_the_norm_is_that_of_all_elements(record):
    assert described(record, Tensor([3.0, 4.0]))["Norm"] == 5.0


def test_views_are_read_in_place(record):
    whole = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert statistics(described(record, whole.T))[:2] == (11.0, 0.0)
    element = described(record, whole[1:, 1])
    assert statistics(element)[:2] == (9.0, 5.0) and element["shape"] == [2]


def test_values_are_those_of_the_time_of_the_call(record):
    target = Parameter(Tensor([1.0]), name="t")

    def calls():
        ops.is_tensor(target)
        ops.assign_add(target, Tensor([1.0]))

    data = record(calls).data
    assert data["Functional.is_tensor.0.forward"]["input_args"][0]["Max"] == 1.0


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("change", [lambda t: t, lambda t: t.T], ids=["contiguous", "transposed"])
def test_checksums_are_crc_32_of_the_values_in_order(record, dtype, change):
    tensor = change(Tensor(np.arange(6).reshape(2, 3), mindspore.float32).astype(dtype_named(dtype)))
    array = tensor.astype(mindspore.float32).asnumpy() if dtype == "bfloat16" else tensor.asnumpy()
    assert described(record, tensor, task="md5")["md5"] == "%08x" % zlib.crc32(np.ascontiguousarray(array).tobytes())


def test_the_checksum_of_nothing(record):
    assert described(record, Tensor(np.zeros((0,), np.float32)), task="md5")["md5"] == "00000000"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool",
                                   "complex64"])
def test_numpy_reads_every_file(record, dtype):
    values = np.arange(6).reshape(2, 3).T
    tensor = Tensor(np.ascontiguousarray(values), mindspore.float32).astype(dtype_named(dtype))
    dump, (element,) = given(record, tensor, task="tensor")
    assert element["data_name"] == "Functional.is_tensor.0.forward.input.0.0.npy"
    loaded = np.load(os.path.join(dump.header["dump_data_dir"], element["data_name"]))
    assert loaded.dtype == ("float32" if dtype == "bfloat16" else dtype) and loaded.flags["C_CONTIGUOUS"]
    assert np.array_equal(loaded, values.astype(loaded.dtype))
    assert element["dtype"].lower() == dtype


def test_files_of_scalars_and_empty_tensors(record):
    dump, elements = given(record, Tensor(2.0), Tensor(np.zeros((0, 3), np.float32)), task="tensor")
    shapes = [np.load(os.path.join(dump.header["dump_data_dir"], element["data_name"])).shape for element in elements]
    assert shapes == [(), (0, 3)]


@dataclasses.dataclass
class Options:
    scale: float
    mask: object


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize("value, expected", [
    (None, None), (True, {"type": "bool", "value": True}), (3, {"type": "int", "value": 3}),
    (1.5, {"type": "float", "value": 1.5}), ("text", {"type": "str", "value": "text"}),
    (slice(1, None, 2), {"type": "slice", "value": [1, None, 2]}), (..., {"type": "ellipsis", "value": "..."}),
    (mindspore.float16, {"type": "mindspore.dtype", "value": "Float16"}),
    (mindspore.bfloat16, {"type": "mindspore.dtype", "value": "BFloat16"}),
    (np.float32(2), {"type": "float32", "value": 2.0}), (np.int64(5), {"type": "int64", "value": 5}),
    ([1, (2,)], [{"type": "int", "value": 1}, [{"type": "int", "value": 2}]]),
    ({"k": 1}, {"k": {"type": "int", "value": 1}}), (object(), None),
    (Options(2.0, None), {"scale": {"type": "float", "value": 2.0}, "mask": None}),
    (Pair(1, 2), [{"type": "int", "value": 1}, {"type": "int", "value": 2}])], ids=lambda value: type(value).__name__)
def test_values_that_are_no_tensors(record, value, expected):
    assert described(record, value) == expected


def test_a_keyword_dtype_is_one(record):
    data = record(lambda: ops.ones((2,), dtype=mindspore.float16)).data["Functional.ones.0.forward"]
    assert data["input_kwargs"]["dtype"] == {"type": "mindspore.dtype", "value": "Float16"}


def test_outputs_that_are_lists_have_positions_inside_a_position(record):
    dump = record(lambda: (ops.meshgrid(Tensor([1.0, 2.0]), Tensor([3.0]))), task="tensor")
    output = dump.data["Functional.meshgrid.0.forward"]["output"]
    assert [tensor["data_name"].rsplit(".forward.", 1)[1] for tensor in output] == ["output.0.npy", "output.1.npy"]


def test_types_that_are_null_are_told_once(configured, capfd):
    debugger = configured()
    debugger.start()
    for _ in range(3):
        ops.is_tensor(object())
    debugger.stop()
    debugger.step()
    assert "values of these types are null in the records: object (3 times)" in capfd.readouterr().out


def test_a_subclass_of_tensors_that_raises_costs_its_value_alone(configured, load_dump, tmp_path):
    class Odd(Tensor):
        @property
        def shape(self):
            raise RuntimeError("no shape")

    debugger = configured()
    debugger.start()
    ops.is_tensor((Odd(Tensor([1.0])), 2))
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    assert dump.data["Functional.is_tensor.0.forward"]["input_args"] == [[None, {"type": "int", "value": 2}]]
    assert "no shape" in dump.errors


def test_overflow_check_keeps_what_is_not_finite(configured, load_dump, tmp_path, capfd):
    debugger = configured("overflow_check", overflow_nums=1)
    debugger.start()
    ops.exp(Tensor([1.0]))
    ops.exp(Tensor([1000.0]))
    ops.exp(Tensor([2000.0]))
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    assert list(dump.data) == ["Functional.exp.1.forward"]
    name = dump.data["Functional.exp.1.forward"]["output"][0]["data_name"]
    assert np.isinf(np.load(os.path.join(dump.header["dump_data_dir"], name))).all()
    assert "dump has successfully ended" in capfd.readouterr().out


def test_structure_has_names_alone(record):
    from mindspore import nn

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()

        def construct(self, x):
            return self.relu(x)

    net = Net()
    dump = record(lambda: net(Tensor([1.0])), task="structure", level="L0", model=net)
    assert "Cell.relu.ReLU.forward.0" in dump.construct
    assert "Max" not in json.dumps(dump.data)


def test_save_at_level_debug(configured, tmp_path):
    debugger = configured("tensor", "debug")
    value = {"a": Tensor([1.0, 2.0]), "b": [3, "text"]}
    debugger.save(value, "mine")
    mindspore.grad(lambda x: (debugger.save(x, "inner"), (x * 3).sum())[1])(Tensor([1.0]))
    debugger.step()
    data = json.load(open(tmp_path / "dump" / "step0" / "rank" / "debug.json"))["data"]
    assert data["mine.0.debug"]["a"]["Max"] == 2.0 and data["mine.0.debug"]["b"][0] == {"type": "int", "value": 3}
    assert data["inner_grad.0.debug"]["Max"] == 3.0
