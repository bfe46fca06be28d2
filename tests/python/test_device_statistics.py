"""Tensors on a device: statistics are computed there and read back together; what leaves the device is counted."""

import gc
import json
import math
import os
import signal
import subprocess
import sys
import time
import weakref

import pytest
import torch

try:
    from fake_npu import faults, transfers
except ImportError:
    pytest.skip("needs a torch whose devices can be written in Python", allow_module_level=True)

import models
from watchers import Dispatched

NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def healthy_device():
    transfers.reset()
    yield
    faults.clear()
    torch.npu.capturing = False
    transfers.reset()


def tensors(element):
    if isinstance(element, dict):
        if "shape" in element and "dtype" in element:
            return [element]
        element = list(element.values())
    return [tensor for part in element for tensor in tensors(part)] if isinstance(element, list) else []


def copied():
    """Bytes of each copy to the host since the last call; nothing else may have been read."""
    copies = transfers.copies
    assert transfers.scalars == 0 and transfers.waits == 0
    transfers.reset()
    return copies


def one_argument(record, tensor, task="statistics", **section):
    dump = record(lambda: torch.neg(tensor), task=task, **section)
    return dump, dump.data["Torch.neg.0.forward"]["input_args"][0]


def told(dump):
    """The lines of dump_error_info.log that are no stacks."""
    return [line for line in dump.errors.splitlines() if not line.startswith(" ")]


STATISTICS = ("Max", "Min", "Mean", "Norm", "Max_except_inf_nan", "Min_except_inf_nan")
KINDS = {
    "float32": torch.tensor([[1.5, -2.0], [0.25, 7.0]]),
    "float16": torch.tensor([60000.0, 60000.0, -3.0]).half(),
    "bfloat16": torch.tensor([1e30, -3.0]).bfloat16(),
    "float64": torch.tensor([1e300, 1.0], dtype=torch.float64),
    "tiny float64": torch.tensor([1e-300, 2e-300], dtype=torch.float64),
    "int64": torch.tensor([16777217, 3, 2**60 + 1]),
    "uint8": torch.tensor([1, 2, 250], dtype=torch.uint8),
    "bool": torch.tensor([True, False]),
    "all true": torch.tensor([True, True]),
    "complex64": torch.tensor([3 + 4j, 0]),
    "complex128": torch.tensor([3 + 4j, 1e200 + 1e200j], dtype=torch.complex128),
    "nan": torch.tensor([NAN, 1.0, -2.0]),
    "infinities": torch.tensor([INFINITY, -INFINITY, 3.0]),
    "positive infinity": torch.tensor([INFINITY, 3.0]),
    "only nan": torch.tensor([NAN, NAN]),
    "nothing finite": torch.tensor([NAN, -INFINITY]),
    "both infinities and nan": torch.tensor([NAN, INFINITY, -INFINITY]),
    "0-d": torch.tensor(2.5),
    "0-d int": torch.tensor(2**53 + 1),
    "0-d bool": torch.tensor(True),
    "0-d complex": torch.tensor(3 + 4j),
    "0-d infinity": torch.tensor(-INFINITY),
    "empty": torch.ones(0, 3),
    "e4m3": torch.tensor([448.0, -2.0, 0.5]).to(torch.float8_e4m3fn),
    "e5m2": torch.tensor([448.0, -2.0, 0.5]).to(torch.float8_e5m2),
}


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_of_every_kind_equal_those_on_the_host(record, kind):
    x = KINDS[kind]
    on_device = x.to("npu")
    gc.collect()
    transfers.reset()

    def step():
        for tensor in (on_device, x):
            torch.reshape(tensor, (-1,))

    dump = record(step)
    device, host = (dump.data["Torch.reshape.%d.forward" % i]["input_args"][0] for i in (0, 1))
    for key in STATISTICS:
        assert (key in device) == (key in host), key
        assert same(device.get(key), host.get(key)), (key, device.get(key), host.get(key))
    assert device["shape"] == host["shape"] and device["dtype"] == host["dtype"]
    assert len(copied()) == (0 if kind == "empty" else 1)


def test_a_dtype_that_the_device_cannot_reduce_is_copied(record):
    x = torch.tensor([5, 60000], dtype=torch.uint16).to("npu")
    transfers.reset()
    dump = record(lambda: torch.reshape(x, (1, 2)))
    element = dump.data["Torch.reshape.0.forward"]["input_args"][0]
    assert (element["Max"], element["Min"], element["Mean"]) == (60000, 5, 30002.5)
    assert copied() == [4, 4]


@pytest.mark.parametrize("view", [
    lambda x: x.t(), lambda x: x[1:, ::2], lambda x: x[:1].expand(5, 8), lambda x: x[:, None, 3], lambda x: x.flip(0)])
@pytest.mark.parametrize("task, section", [
    ("statistics", {}), ("statistics", {"summary_mode": "md5"}), ("tensor", {})])
def test_views(record, view, task, section):
    x = torch.arange(32.0).reshape(4, 8)
    on_device = view(x.to("npu"))
    transfers.reset()

    def step():
        torch.neg(on_device)
        torch.neg(view(x))

    dump = record(step, task=task, **section)
    device, host = (dump.data["Torch.neg.%d.forward" % i]["input_args"][0] for i in (0, 1))
    device.pop("data_name", None)
    host.pop("data_name", None)
    assert device == host
    if task == "tensor":
        for place in ("input", "output"):
            one, other = (torch.load(os.path.join(
                dump.header["dump_data_dir"], "Torch.neg.%d.forward.%s.0.pt" % (i, place))) for i in (0, 1))
            assert torch.equal(one, other) and one.device.type == "cpu" and one.stride() == other.stride()


@pytest.mark.parametrize("task, section, bytes_of_each", [
    ("statistics", {"summary_mode": "md5"}, True), ("tensor", {}, True), ("statistics", {}, False)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tasks_that_need_the_bytes_copy_each_tensor_once(record, task, section, bytes_of_each, dtype):
    x = torch.ones(40, 50, dtype=dtype).to("npu")
    wide = x[:1].expand(300, 50)
    transposed = x.t()
    transfers.reset()
    record(lambda: (torch.neg(x), torch.neg(wide), torch.neg(transposed)), task=task, **section)
    copies = copied()
    if bytes_of_each:
        size = x.element_size()
        assert copies == [2000 * size, 2000 * size, 50 * size, 300 * 50 * size, 2000 * size, 2000 * size]
    else:
        assert len(copies) == 1 and copies[0] < 6 * 100


@pytest.fixture
def llama():
    model, batch = models.build("llama")
    return model.to("npu"), {name: tensor.to("npu") for name, tensor in batch.items()}


def on_host(step):
    loss, gradients = step
    return [loss.detach().cpu()] + [gradient.cpu() for gradient in (
        gradients.values() if isinstance(gradients, dict) else gradients)]


def test_a_llama_step_reads_one_small_buffer_per_flush(fresh_debugger, load_dump, tmp_path, llama):
    model, batch = llama
    plain = on_host(models.training_step(model, batch))
    debugger = fresh_debugger(dump_path=str(tmp_path))
    transfers.reset()
    debugger.start()
    dumped = models.training_step(model, batch)
    debugger.stop()
    copies = copied()
    assert all(torch.equal(a, b) for a, b in zip(plain, on_host(dumped)))
    dump = load_dump(tmp_path)
    described = tensors([list(record.values()) for record in dump.data.values()])
    assert len(described) > 500 and dump.errors == ""
    # One flush at the end, and one for each second that the step took.
    assert 1 <= len(copies) <= 10
    assert sum(copies) <= 100 * len(described)
    assert not [t for t in described if t["Max"] is None and 0 not in t["shape"]]


def test_a_llama_step_on_the_device_has_the_statistics_of_one_on_the_host(fresh_debugger, load_dump, tmp_path, llama):
    dumps = []
    for device in ("npu", "cpu"):
        model, batch = models.build("llama")
        model = model.to(device)
        batch = {name: tensor.to(device) for name, tensor in batch.items()}
        fresh_debugger._instance = None
        debugger = fresh_debugger(dump_path=str(tmp_path / device))
        debugger.start()
        models.training_step(model, batch)
        debugger.stop()
        debugger.step()
        dumps.append(load_dump(tmp_path / device).data)
    device, host = dumps
    assert list(device) == list(host)
    for name, record in host.items():
        ours, theirs = tensors(list(device[name].values())), tensors(list(record.values()))
        assert [t["shape"] for t in ours] == [t["shape"] for t in theirs], name
        for a, b in zip(ours, theirs):
            for key in ("Max", "Min", "Mean", "Norm"):
                assert a[key] == b[key] or math.isclose(a[key], b[key], rel_tol=2e-3, abs_tol=2e-5), (name, key, a, b)


def test_values_are_those_at_the_time_of_the_call(record):
    x = torch.tensor(1.0, device="npu")
    y = torch.ones(3, device="npu")

    def step():
        for tensor in (x, y):
            torch.neg(tensor)
            tensor.add_(1)
            tensor.mul_(10)

    dump = record(step)
    for i in (0, 1):
        assert dump.data["Torch.neg.%d.forward" % i]["input_args"][0]["Max"] == 1.0
        assert dump.data["Tensor.add_.%d.forward" % i]["input_args"][0]["Max"] == 1.0
        assert dump.data["Tensor.add_.%d.forward" % i]["output"][0]["Max"] == 2.0


def test_records_stay_in_order_of_completion(record):
    x, y = torch.ones(3, device="npu", requires_grad=True), torch.ones(3)

    def step():
        torch.neg(y)
        torch.neg(x).sum().backward()
        torch.neg(y)

    assert list(record(step).data) == [
        "Torch.neg.0.forward", "Torch.neg.1.forward", "Tensor.sum.0.forward", "Tensor.sum.0.backward",
        "Torch.neg.1.backward", "Torch.neg.2.forward"]


def test_one_tensor_alone_has_its_statistics(record):
    _, element = one_argument(record, torch.tensor([2.0], device="npu"))
    assert element["Max"] == 2.0 and set(element) == {
        "type", "dtype", "shape", "Max", "Min", "Mean", "Norm", "requires_grad"}


def test_no_tensor_is_kept_alive(fresh_debugger, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    x = torch.ones(1000, device="npu", requires_grad=True)
    y = torch.mul(x, 2)
    y.sum().backward()
    kept = [weakref.ref(tensor.untyped_storage()) for tensor in (x, y, x.grad)]
    del x, y
    gc.collect()
    assert [reference() for reference in kept] == [None] * 3
    debugger.stop()


def test_numbers_on_the_device_go_with_the_flush(fresh_debugger, tmp_path):
    def on_device():
        gc.collect()
        return sum(isinstance(o, torch.Tensor) and o.device.type == "npu" for o in gc.get_objects())

    x = torch.ones(10, device="npu")
    before = on_device()
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    torch.neg(x)
    assert on_device() > before
    debugger.stop()
    assert on_device() == before


def test_a_long_step_is_read_every_second(fresh_debugger, load_dump, tmp_path):
    x = torch.ones(4, device="npu")
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    transfers.reset()
    calls, end = 0, time.monotonic() + 1.5
    while time.monotonic() < end:
        torch.neg(x)
        calls += 1
    assert 1 <= len(copied()) <= 2
    debugger.stop()
    assert len(load_dump(tmp_path).data) == calls


@pytest.mark.parametrize("fault", [faults.out_of_memory, faults.device_lost])
def test_a_device_that_fails_leaves_nulls_and_one_line(fresh_debugger, load_dump, tmp_path, fault):
    x, y = torch.ones(3, device="npu"), torch.ones(3)
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    torch.neg(x)
    faults.inject("aminmax", fault)
    for _ in range(3):
        torch.neg(x)
    faults.clear()
    torch.neg(x)
    torch.neg(y)
    debugger.stop()
    dump = load_dump(tmp_path)
    found = [record["input_args"][0]["Max"] for record in dump.data.values()]
    assert found == [1.0, None, None, None, 1.0, 1.0]
    element = dump.data["Torch.neg.1.forward"]["output"][0]
    assert element["shape"] == [3] and {element[key] for key in ("Max", "Min", "Mean", "Norm")} == {None}
    assert len(told(dump)) == 1 and "statistics of tensors on npu" in dump.errors


def test_a_device_that_fails_at_the_flush_leaves_nulls_and_one_line(fresh_debugger, load_dump, tmp_path):
    x, y = torch.ones(3, device="npu"), torch.ones(3)
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    torch.neg(x)
    torch.neg(y)
    faults.inject("stack", faults.device_lost)
    faults.inject("cat", faults.device_lost)
    debugger.stop()
    faults.clear()
    debugger.start()
    torch.neg(x)
    debugger.stop()
    dump = load_dump(tmp_path)
    assert [record["input_args"][0]["Max"] for record in dump.data.values()] == [None, 1.0, 1.0]
    assert len(told(dump)) == 1 and "statistics of tensors on npu" in dump.errors


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_nothing_is_read_while_a_graph_is_captured(fresh_debugger, load_dump, tmp_path, task):
    x = torch.ones(3, device="npu")
    debugger = fresh_debugger(dump_path=str(tmp_path), task=task)
    debugger.start()
    torch.neg(x)
    transfers.reset()
    torch.npu.capturing = True
    torch.neg(x)
    debugger.stop()
    assert copied() == []
    torch.npu.capturing = False
    debugger.start()
    torch.neg(x)
    debugger.stop()
    dump = load_dump(tmp_path)
    assert [record["input_args"][0]["Max"] for record in dump.data.values()] == [1.0, None, 1.0]
    assert len(told(dump)) == 1 and "captured" in dump.errors


def test_exit_while_a_graph_is_captured_writes_nulls(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    torch.neg(torch.ones(3, device="npu"))
    torch.npu.capturing = True
    debugger.stop()
    debugger.step()
    assert load_dump(tmp_path).data["Torch.neg.0.forward"]["output"][0]["Max"] is None


def test_ctrl_c_during_a_read_reaches_the_training_and_loses_nothing(fresh_debugger, load_dump, tmp_path, monkeypatch):
    from msprobe.pytorch import device_stats

    def interrupted(numbers, original=device_stats._read):
        monkeypatch.setattr(device_stats, "_read", original)
        raise KeyboardInterrupt()

    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    torch.neg(torch.ones(3, device="npu"))
    monkeypatch.setattr(device_stats, "_read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        debugger.stop()
        for _ in range(100):
            pass
    debugger.stop()
    assert load_dump(tmp_path).data["Torch.neg.0.forward"]["output"][0]["Max"] == -1.0


def test_dispatch_modes_of_the_user_do_not_see_the_tool(record):
    mode = Dispatched()
    x = torch.ones(2, device="npu")

    def step():
        with mode:
            torch.neg(x)

    step()
    plain = list(mode.names)
    mode.names.clear()
    record(step)
    assert mode.names == plain


def test_large_tensors_are_reduced_in_pieces(record, monkeypatch):
    from msprobe.pytorch import device_stats

    monkeypatch.setattr(device_stats, "_PIECE", 8)
    x = torch.randn(5, 7, 3, generator=torch.Generator().manual_seed(1))
    x[3, 2, 1] = INFINITY
    for tensor in (x, torch.arange(50), x.double(), torch.full((20,), NAN)):
        device = tensor.to("npu")
        dump = record(lambda: (torch.neg(device), torch.neg(tensor)))
        ours, theirs = (dump.data["Torch.neg.%d.forward" % i]["input_args"][0] for i in (0, 1))
        assert all(same(ours.get(key), theirs.get(key)) for key in STATISTICS), (ours, theirs)
        from msprobe.pytorch import PrecisionDebugger
        PrecisionDebugger._instance = None


def test_a_training_that_hangs_on_the_device_loses_only_what_was_not_flushed(tmp_path):
    source = """
import os, sys, time
import torch, fake_npu
from fake_npu import faults
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
y, x = torch.ones(3), torch.ones(3, device="npu")
for _ in range(10):
    torch.neg(y)
print("go", flush=True)
faults.inject("sin", faults.hang)
torch.sin(x)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", source, str(tmp_path)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    next(line for line in process.stdout if line.strip() == "go")
    path = tmp_path / "step0" / "rank" / "dump.json"
    deadline = time.monotonic() + 20
    while len(json.loads(path.read_text())["data"]) < 10 and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(json.loads(path.read_text())["data"]) == 10


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_b15_no_graph_is_kept_over_many_forwards(fresh_debugger, tmp_path, device):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    x = torch.ones(4, device=device, requires_grad=True)
    released = []
    debugger.start()
    count = 1000 if device == "cpu" else 100
    for _ in range(count):
        y = torch.mul(x, 2)
        weakref.finalize(y.untyped_storage(), released.append, None)
    assert len(released) >= count - 2
    debugger.stop()


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64, torch.bool])
@pytest.mark.parametrize("task, section", [("statistics", {"summary_mode": "md5"}), ("tensor", {})])
def test_rare_dtypes_are_copied_as_they_are(record, dtype, task, section):
    x = torch.tensor([448.0, 0.0, 0.5]).to(dtype)
    on_device = x.to("npu")
    dump = record(lambda: (torch.reshape(on_device, (3, 1)), torch.reshape(x, (3, 1))), task=task, **section)
    device, host = (dump.data["Torch.reshape.%d.forward" % i]["input_args"][0] for i in (0, 1))
    assert {**device, "data_name": None} == {**host, "data_name": None}
    if task == "tensor":
        assert torch.load(os.path.join(dump.header["dump_data_dir"], device["data_name"])).dtype is dtype


def test_synchronous_mode_keeps_each_record_before_the_next_call(fresh_debugger, load_dump, tmp_path, monkeypatch):
    monkeypatch.setenv("MSPROBE_SYNC_SAVE", "1")
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    torch.neg(torch.ones(3, device="npu"))
    assert load_dump(tmp_path).data["Torch.neg.0.forward"]["output"][0]["Max"] == -1.0
    debugger.stop()


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_every_level_reads_once_and_changes_no_gradient(fresh_debugger, load_dump, tmp_path, level):
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 2))
    model.npu()
    x = torch.randn(4, 8).npu()

    def step():
        model.zero_grad()
        torch.manual_seed(2)
        loss = model(x).square().sum()
        loss.backward()
        return [loss.detach().cpu()] + [parameter.grad.cpu() for parameter in model.parameters()]

    plain = step()
    debugger = fresh_debugger(dump_path=str(tmp_path), level=level)
    debugger.start(model)
    for parameter in model.parameters():
        parameter.grad = None
    torch.manual_seed(2)
    transfers.reset()
    model(x).square().sum().backward()
    assert copied() == []
    debugger.stop()
    assert len(copied()) == 1
    assert all(torch.equal(a, b.grad.cpu()) for a, b in zip(plain[1:], model.parameters()))
    debugger.step()
    described = tensors([list(record.values()) for record in load_dump(tmp_path).data.values()])
    assert len(described) > 20 and all(isinstance(tensor["Norm"], float) for tensor in described)


def test_overflow_check_of_device_tensors(record, tmp_path):
    x = torch.tensor([1.0, 0.0], device="npu")
    dump = record(lambda: torch.log(torch.mul(x, 2.0)), task="overflow_check", overflow_nums=-1)
    assert list(dump.data) == ["Torch.log.0.forward"]
    described = dump.data["Torch.log.0.forward"]["input_args"][0]
    saved = torch.load(tmp_path / "dump/step0/rank/dump_tensor_data" / described["data_name"])
    assert torch.equal(saved.cpu(), torch.tensor([2.0, 0.0]))
    assert transfers.scalars == 0
