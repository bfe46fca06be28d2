"""Kinds of fault that tools like this have had, one test for the smallest input of each: values and their files.

The numbers are those of the catalogue of faults. The other files test_fault_kinds_*.py hold the rest.
"""

import os
import zlib

import numpy
import pytest
import torch
import torch.nn.functional as F

from capabilities import needs
from watchers import Anything

TASKS = ("statistics", "tensor", "md5")
STATISTICS = ("Max", "Min", "Mean", "Norm")


def argument(record, value, task="statistics", **section):
    """(the element of a tensor that was an argument, the dump)."""
    dump = record(lambda: torch.reshape(value, (-1,)), task=task, **section)
    return dump.data["Torch.reshape.0.forward"]["input_args"][0], dump


def crc(tensor):
    return "%08x" % zlib.crc32(tensor.contiguous().numpy().tobytes())


def statistics(element):
    return tuple(element[key] for key in STATISTICS)


def test_b01_scalar_statistics_are_those_of_the_time_of_the_call(record):
    x = torch.tensor(1.0)
    data = record(lambda: (torch.neg(x), x.add_(1), x.mul_(7))).data
    assert statistics(data["Torch.neg.0.forward"]["input_args"][0]) == (1.0,) * 4
    assert statistics(data["Tensor.add_.0.forward"]["input_args"][0]) == (1.0,) * 4
    assert statistics(data["Tensor.add_.0.forward"]["output"][0]) == (2.0,) * 4


def test_b02_the_only_tensor_of_a_flush_has_its_statistics(record):
    element, _ = argument(record, torch.tensor([3.0, 4.0]))
    assert list(element) == ["type", "dtype", "shape", *STATISTICS, "requires_grad"]
    assert statistics(element) == (4.0, 3.0, 3.5, 5.0)


@pytest.mark.parametrize("task", TASKS)
def test_b08_meta_tensors_are_described_and_never_read(record, task):
    dump = record(lambda: torch.neg(torch.empty(2, 2, device="meta")), task=task)
    forward = dump.data["Torch.neg.0.forward"]
    for element in (forward["input_args"][0], forward["output"][0]):
        assert (element["type"], element["dtype"], element["shape"]) == ("torch.Tensor", "torch.float32", [2, 2])
        assert statistics(element) == (None,) * 4
        assert element.get("md5") is None and "data_name" not in element
    if task == "tensor":
        assert os.listdir(dump.header["dump_data_dir"]) == []


@pytest.mark.parametrize("task", TASKS)
def test_b08_fake_tensors_are_described_and_never_read(record, task):
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake_tensor.FakeTensorMode():
        fake = torch.ones(2, 2)
    dump = record(lambda: torch.neg(fake), task=task)
    forward = dump.data["Torch.neg.0.forward"]
    for element in (forward["input_args"][0], forward["output"][0]):
        assert (element["type"], element["dtype"]) == ("torch._subclasses.fake_tensor.FakeTensor", "torch.float32")
        assert element["shape"] == [2, 2] and statistics(element) == (None,) * 4
        assert element.get("md5") is None and "data_name" not in element


def test_b09_bool_has_all_four_keys(record):
    for values, expected in (([True, False], (True, False)), ([True, True], (True, True)), ([False], (False, False))):
        element, _ = argument(record, torch.tensor(values))
        assert statistics(element) == (*expected, None, None)


@pytest.mark.parametrize("precision", ("low", "high"))
@pytest.mark.parametrize("values, dtype, expected", [
    ([16777217, 3], "int64", (16777217, 3, 8388610.0, (16777217.0**2 + 9) ** 0.5)),
    ([2**53 + 1, 0], "int64", (2**53 + 1, 0, float(2**52), float(2**53))),
    ([1e300, 1.0], "float64", (1e300, 1.0, 5e299, 1e300)),
    ([3.0, 4.0], "float32", (4.0, 3.0, 3.5, 5.0)),
])
def test_b10_integers_and_float64_lose_nothing(configured, load_dump, tmp_path, values, dtype, expected, precision):
    debugger = configured(top={"precision": precision})
    x = torch.tensor(values, dtype=getattr(torch, dtype))
    debugger.start()
    torch.reshape(x, (2,))
    debugger.stop()
    element = load_dump(tmp_path / "dump").data["Torch.reshape.0.forward"]["input_args"][0]
    assert statistics(element) == expected and type(element["Max"]) is type(values[0])


def test_b11_the_checksum_is_that_of_the_values_in_logical_order(record):
    x = torch.arange(6.0).bfloat16()
    for view in (x[1:], x.reshape(2, 3).t(), x.reshape(2, 3).t()[1:]):
        element, _ = argument(record, view, summary_mode="md5")
        assert element["md5"] == crc(view.float())
    assert argument(record, torch.tensor([1.0, 2.0]).bfloat16(), summary_mode="md5")[0]["md5"] == "2e3fa576"
    assert argument(record, torch.empty(0), summary_mode="md5")[0]["md5"] == "00000000"
    with_leading_zero = next(x for x in map(torch.tensor, range(1000)) if crc(x).startswith("0"))
    assert argument(record, with_leading_zero, summary_mode="md5")[0]["md5"] == crc(with_leading_zero)


@pytest.mark.parametrize("device", ("cpu", "npu", "cuda"))
def test_b12_a_checksum_waits_for_its_bytes(record, device):
    if device == "npu":
        pytest.importorskip("fake_npu", reason="needs a torch whose devices can be written in Python")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    x = torch.rand(300, 1000)
    there = x.to(device)
    dump = record(lambda: [torch.neg(there) for _ in range(100)], task="md5")
    found = {dump.data["Torch.neg.%d.forward" % i]["input_args"][0]["md5"] for i in range(100)}
    assert found == {crc(x)}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("dtype", [pytest.param(name, marks=needs(name)) for name in (
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")])
def test_b13_float8_keeps_its_dtype(record, dtype, task):
    x = torch.tensor([[1.0, 2.0], [4.0, 0.5]]).to(getattr(torch, dtype))
    element, dump = argument(record, x.t(), task=task)
    assert element["dtype"] == "torch." + dtype and element["shape"] == [2, 2]
    assert statistics(element) == (4.0, 0.5, 1.875, pytest.approx(21.25**0.5))
    if task == "md5":
        assert element["md5"] == "%08x" % zlib.crc32(x.t().contiguous().view(torch.uint8).numpy().tobytes())
    if task == "tensor":
        saved = torch.load(os.path.join(dump.header["dump_data_dir"], element["data_name"]), weights_only=True)
        assert saved.dtype is x.dtype and torch.equal(saved.float(), x.t().float())


@needs("float4_e2m1fn_x2")
@pytest.mark.parametrize("task", TASKS)
def test_b13_float4_keeps_its_dtype(record, task):
    x = torch.tensor([1, 2], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    element, _ = argument(record, x, task=task)
    assert element["dtype"] == "torch.float4_e2m1fn_x2" and statistics(element) == (None,) * 4


@pytest.mark.parametrize("top", ({}, {"async_dump": True}))
def test_b14_complex_statistics_are_of_magnitudes(configured, load_dump, tmp_path, top):
    debugger = configured(top=top)
    debugger.start()
    torch.reshape(torch.tensor([3 + 4j, 0]), (2,))
    debugger.stop()
    dump = load_dump(tmp_path / "dump")
    element = dump.data["Torch.reshape.0.forward"]["input_args"][0]
    assert element["dtype"] == "torch.complex64" and statistics(element) == (5.0, 0.0, 2.5, 5.0)
    assert dump.errors == ""


def test_b20_slices_and_sizes_of_any_number_are_plain_numbers(record):
    x = torch.arange(12.0).reshape(4, 3)

    def traced(tensor):
        return torch.reshape(tensor, tensor.shape)  # a size of tensors while tracing

    def step():
        x[slice(numpy.int64(1), torch.tensor(3), None), ...]
        torch.full((numpy.int64(2), 2), 1.0)
        torch.jit.trace(traced, (x,))

    dump = record(step)
    index = dump.data["Tensor.__getitem__.0.forward"]["input_args"][1]
    assert index == [{"type": "slice", "value": [1, 3, None]}, {"type": "ellipsis", "value": "..."}]
    full = dump.data["Torch.full.0.forward"]["input_args"][0]
    assert full == [{"type": "int64", "value": 2}, {"type": "int", "value": 2}]
    sizes = dump.data["Torch.reshape.0.forward"]["input_args"][1]
    assert sizes == {"type": "torch.Size", "value": [4, 3]}


@pytest.mark.parametrize("task", ("statistics", "tensor"))
@pytest.mark.parametrize("array, dtype, numbers", [
    (numpy.array([1.5, -2.0], dtype=numpy.float32), "float32", (1.5, -2.0, -0.25)),
    (numpy.array(["a", "bcd"]), "<U3", (None,) * 3),
    (numpy.array([object(), None]), "object", (None,) * 3),
    (numpy.zeros((0, 2)), "float64", (None,) * 3),
])
def test_b21_numpy_arrays_of_any_kind_are_described(record, array, dtype, numbers, task):
    dump = record(lambda: F.embedding(Anything(), (array, 1)), task=task)
    element, after = dump.data["Functional.embedding.0.forward"]["input_args"][1]
    assert (element["type"], element["dtype"], element["shape"]) == ("numpy.ndarray", dtype, list(array.shape))
    assert statistics(element)[:3] == numbers
    assert after == {"type": "int", "value": 1}
    if task == "tensor":
        (name,) = os.listdir(dump.header["dump_data_dir"]) or [None]
        assert name == element.get("data_name") and (name is not None or array.dtype == object)
        if name is not None:
            path = os.path.join(dump.header["dump_data_dir"], name)
            saved = numpy.load(path, allow_pickle=False) if name.endswith(".npy") else torch.load(path, weights_only=True).numpy()
            assert saved.dtype == array.dtype and saved.shape == array.shape and (saved == array).all()


def test_b39_devices_and_dtypes_in_any_form(record):
    def step():
        for device in (0, "cpu", torch.device("cpu"), torch.device("cuda", 1)):
            torch.full_like(Anything(), 1, device=device, dtype=torch.float16)

    data = record(step).data
    values = [data["Torch.full_like.%d.forward" % i]["input_kwargs"] for i in range(4)]
    assert [kwargs["device"] for kwargs in values] == [
        {"type": "torch.device", "value": text} for text in ("0", "cpu", "cpu", "cuda:1")]
    assert all(kwargs["dtype"] == {"type": "torch.dtype", "value": "torch.float16"} for kwargs in values)


@pytest.mark.parametrize("view", [
    torch.arange(6.0).half()[1:], torch.arange(5, dtype=torch.int8), torch.arange(7, dtype=torch.int8)[3:], torch.tensor(2.5)])
def test_b43_checksums_of_views_at_any_address_and_of_any_length(record, view):
    assert argument(record, view, summary_mode="md5")[0]["md5"] == crc(view)


def test_b43_the_xor_checksum_is_refused(configured):
    with pytest.raises(Exception, match='xor.*md5'):
        configured(summary_mode="xor")
