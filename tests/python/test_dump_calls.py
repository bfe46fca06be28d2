"""What single calls look like in a level L1 dump, and that the tool leaves no trace in the process."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import weakref

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import add as early_bound_add

from capabilities import needs
from msprobe.core.common.exceptions import MsprobeException
from watchers import seeing_subclass

early_bound_gelu = F.gelu


def ones(*shape, grad=False):
    return torch.ones(*shape, requires_grad=grad)


def test_worked_example_of_the_specification(record):
    first, second = torch.nn.Linear(8, 4), torch.nn.Linear(4, 2)

    def step():
        F.relu(second(first(ones(3, 8)))).sum().backward()

    dump = record(step)
    assert list(dump.data) == [
        "Functional.linear.0.forward", "Functional.linear.1.forward", "Functional.relu.0.forward", "Tensor.sum.0.forward",
        "Tensor.sum.0.backward", "Functional.relu.0.backward", "Functional.linear.1.backward", "Functional.linear.0.backward"]
    linear = dump.data["Functional.linear.0.forward"]
    assert [len(linear["input_args"]), linear["input_kwargs"], len(linear["output"])] == [3, {}, 1]
    backward = dump.data["Functional.linear.0.backward"]
    assert [t["shape"] for t in backward["input"]] == [[3, 4]]
    assert [t and t["shape"] for t in backward["output"]] == [None, [4, 8], [4]]
    assert dump.header["framework"] == "pytorch" and dump.header["dump_data_dir"] is None
    assert list(dump.stack) == dump.names("forward") and dump.construct == {}
    assert any("in step, \n F.relu(" in frame for frame in dump.stack["Functional.relu.0.forward"])


def test_operators_have_their_own_names(record):
    a, b, counts = ones(2), torch.full((2,), 2.0), torch.tensor([4, 5])

    def step():
        a + b
        1 + a
        a.add(b)
        torch.add(a, b)
        2 * a
        a * 2
        c = a.clone()
        c += 1
        c *= 2
        c /= 2
        -a
        1 - a
        1 / a
        a / 2
        a ** 2
        a < b
        counts // 2
        counts & 1
        ~(a > 0)
        a[0]
        a @ b

    assert record(step).names("forward") == [
        "Tensor.__add__.0.forward", "Tensor.__radd__.0.forward", "Tensor.add.0.forward", "Torch.add.0.forward",
        "Tensor.__rmul__.0.forward", "Tensor.__mul__.0.forward", "Tensor.__iadd__.0.forward", "Tensor.__imul__.0.forward",
        "Tensor.__itruediv__.0.forward", "Tensor.__neg__.0.forward", "Tensor.__rsub__.0.forward",
        "Tensor.__rtruediv__.0.forward", "Tensor.__truediv__.0.forward", "Tensor.__pow__.0.forward", "Tensor.__lt__.0.forward",
        "Tensor.__floordiv__.0.forward", "Tensor.__and__.0.forward", "Tensor.__gt__.0.forward", "Tensor.__invert__.0.forward",
        "Tensor.__getitem__.0.forward", "Tensor.__matmul__.0.forward"]


def test_functions_of_several_names_have_the_usual_one(record):
    x = ones(2, 2)
    names = record(lambda: (torch.mm(x, x), x.abs(), abs(x), x.neg(), -x, x.mm(x))).names("forward")
    assert names == ["Torch.mm.0.forward", "Tensor.abs.0.forward", "Tensor.__abs__.0.forward", "Tensor.neg.0.forward",
                     "Tensor.__neg__.0.forward", "Tensor.mm.0.forward"]


def test_names_bound_early_are_recorded_and_keep_their_identity(record):
    x = ones(3)

    def step():
        early_bound_add(x, x)
        early_bound_gelu(x)
        assert F.gelu is early_bound_gelu and torch.add is early_bound_add

    assert record(step).names("forward") == ["Torch.add.0.forward", "Functional.gelu.0.forward"]


def test_in_place_calls_show_the_input_before_and_the_output_after(record):
    x = torch.tensor([1.0, 2.0])
    scalar = torch.tensor(1.0)

    def step():
        x.add_(10)
        scalar.add_(1)

    data = record(step).data
    assert data["Tensor.add_.0.forward"]["input_args"][0]["Max"] == 2.0
    assert data["Tensor.add_.0.forward"]["output"][0]["Max"] == 12.0
    assert data["Tensor.add_.1.forward"]["input_args"][0]["Mean"] == 1.0
    assert data["Tensor.add_.1.forward"]["output"][0]["Mean"] == 2.0


def test_nested_calls_are_not_recorded(record):
    logits, target = torch.randn(4, 8, requires_grad=True), torch.tensor([1, 2, 3, 4])
    names = record(lambda: F.cross_entropy(logits, target)).names("forward")
    assert names == ["Functional.cross_entropy.0.forward"]


@pytest.mark.parametrize("case", (
    "linear", "cross_entropy", "matmul", "layer_norm", "einsum",
    pytest.param("attention", marks=needs("nn.functional.scaled_dot_product_attention"))))
def test_gradients_are_the_calls_own(record, case):
    torch.manual_seed(0)
    rand = lambda *shape: torch.randn(*shape, requires_grad=True)
    calls = {
        "linear": ("Functional.linear", F.linear, (rand(2, 3, 8), rand(4, 8), rand(4))),
        "cross_entropy": ("Functional.cross_entropy", lambda x: F.cross_entropy(x, torch.tensor([1, 0, 2])), (rand(3, 5),)),
        "attention": ("Functional.scaled_dot_product_attention",
                      lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                      (rand(2, 2, 4, 8), rand(2, 2, 4, 8), rand(2, 2, 4, 8))),
        "matmul": ("Torch.matmul", torch.matmul, (rand(2, 3, 4), rand(4, 5))),
        "layer_norm": ("Functional.layer_norm", lambda x, w, b: F.layer_norm(x, (8,), w, b), (rand(2, 3, 8), rand(8), rand(8))),
        "einsum": ("Torch.einsum", lambda a, b: torch.einsum("bij,jk->bik", a, b), (rand(2, 3, 4), rand(4, 5))),
    }
    name, function, inputs = calls[case]
    expected = torch.autograd.grad(function(*inputs).square().sum(), inputs)
    # Inputs that are used again elsewhere: the call's own contribution, not the sum.
    dump = record(lambda: (function(*inputs).square().sum() + sum((i * 3).sum() for i in inputs)).backward(), task="tensor")
    entries = [t for t in dump.data[name + ".0.backward"]["output"] if t is not None]
    folder = dump.header["dump_data_dir"]
    assert len(entries) == len(expected)
    for entry, gradient in zip(entries, expected):
        assert torch.allclose(torch.load(os.path.join(folder, entry["data_name"]), weights_only=True), gradient, atol=1e-6)


def test_one_tensor_in_two_places_gets_the_sum_of_both_contributions(record):
    x = torch.randn(2, 3, 3, requires_grad=True)
    dump = record(lambda: torch.matmul(x, x).sum().backward())
    gradients = dump.data["Torch.matmul.0.backward"]["output"]
    assert [g["shape"] for g in gradients] == [[2, 3, 3]] * 2


def test_a_call_that_hands_back_its_input_has_no_backward_record(record):
    x = torch.randn(3, requires_grad=True)
    dump = record(lambda: (x.to(torch.float32).float() * 2).sum().backward())
    assert "Tensor.to.0.forward" in dump.data
    assert dump.names("backward") == ["Tensor.sum.0.backward", "Tensor.__mul__.0.backward"]


def test_several_outputs(record):
    x = torch.randn(6, 4, requires_grad=True)

    def step():
        values, indices = x.topk(2, dim=1)
        first, _, third = torch.split(x, 2)
        (values.sum() + first.sum() + 2 * third.sum()).backward()

    data = record(step).data
    topk = data["Tensor.topk.0.backward"]
    assert [t and t["shape"] for t in topk["input"]] == [[6, 2], None]
    split = data["Torch.split.0.backward"]
    assert [t and t["shape"] for t in split["input"]] == [[2, 4], None, [2, 4]] or \
        [t["shape"] for t in split["input"]] == [[2, 4]] * 3
    assert [t["shape"] for t in split["output"]] == [[6, 4]]


def test_no_grad_and_backward_outside_the_graph(record):
    x = torch.randn(3, requires_grad=True)

    def step():
        with torch.no_grad():
            x * 2
        (x * 3).detach()

    dump = record(step)
    assert dump.names("backward") == [] and len(dump.names("forward")) == 2


def test_arguments_of_every_kind(record):
    class Pair(tuple):
        pass

    def step():
        x = torch.arange(12.0).reshape(3, 4)
        x[1:, None]
        x[..., 0]
        torch.full((2, 2), 7, dtype=torch.float64, device="cpu")
        torch.cat([x, x], dim=0)
        torch.sum(x, dim=(0, 1))
        x.reshape(x.shape)
        x.clone(memory_format=torch.contiguous_format) if False else None
        torch.clamp(x, min=float("-inf"), max=numpy.float32(2.0))
        torch.where(x > 3, x, numpy.float64(0.5))

    data = record(step).data
    assert data["Tensor.__getitem__.0.forward"]["input_args"][1] == [
        {"type": "slice", "value": [1, None, None]}, None]
    assert data["Tensor.__getitem__.1.forward"]["input_args"][1] == [{"type": "ellipsis", "value": "..."}, {"type": "int", "value": 0}]
    full = data["Torch.full.0.forward"]
    assert full["input_args"] == [[{"type": "int", "value": 2}] * 2, {"type": "int", "value": 7}]
    assert full["input_kwargs"] == {"dtype": {"type": "torch.dtype", "value": "torch.float64"},
                                    "device": {"type": "torch.device", "value": "cpu"}}
    assert full["output"][0]["dtype"] == "torch.float64"
    cat = data["Torch.cat.0.forward"]
    assert len(cat["input_args"][0]) == 2 and cat["input_kwargs"] == {"dim": {"type": "int", "value": 0}}
    assert data["Torch.sum.0.forward"]["input_kwargs"]["dim"] == [{"type": "int", "value": 0}, {"type": "int", "value": 1}]
    assert data["Tensor.reshape.1.forward"]["input_args"][1] == {"type": "torch.Size", "value": [3, 4]}
    clamp = data["Torch.clamp.0.forward"]["input_kwargs"]
    assert clamp["min"] == {"type": "float", "value": float("-inf")}
    assert clamp["max"] == {"type": "float32", "value": 2.0}


@pytest.mark.parametrize("tensor, expected", [
    (torch.tensor(5.0), ("torch.float32", [], 5.0, 5.0, 5.0, 5.0)),
    (torch.tensor([True, False]), ("torch.bool", [2], True, False, None, None)),
    (torch.tensor([3 + 4j, 0]), ("torch.complex64", [2], 5.0, 0.0, 2.5, 5.0)),
    (torch.tensor([16777217, 3]), ("torch.int64", [2], 16777217, 3, 8388610.0, pytest.approx(16777217.0))),
    (torch.tensor([1e300, 1.0], dtype=torch.float64), ("torch.float64", [2], 1e300, 1.0, 5e299, 1e300)),
    (torch.empty(0, 3), ("torch.float32", [0, 3], None, None, None, None)),
    (torch.tensor([3.0, 4.0]).bfloat16(), ("torch.bfloat16", [2], 4.0, 3.0, 3.5, 5.0)),
    (torch.full((4,), 60000.0).half(), ("torch.float16", [4], 60000.0, 60000.0, 60000.0, 120000.0)),
    pytest.param("float8_e4m3fn", ("torch.float8_e4m3fn", [2], 2.0, 1.0, 1.5, pytest.approx(5 ** 0.5)), marks=needs("float8_e4m3fn")),
    (torch.empty(2, 2, device="meta"), ("torch.float32", [2, 2], None, None, None, None)),
])
def test_statistics_of_every_kind_of_tensor(record, tensor, expected):
    if isinstance(tensor, str):  # a dtype that not every torch has
        tensor = torch.tensor([1.0, 2.0]).to(getattr(torch, tensor))
    data = record(lambda: torch.reshape(tensor, tensor.shape)).data
    entry = data["Torch.reshape.0.forward"]["input_args"][0]
    assert (entry["dtype"], entry["shape"], entry["Max"], entry["Min"], entry["Mean"], entry["Norm"]) == expected


def test_non_finite_values(record):
    x = torch.tensor([1.0, float("nan"), float("inf"), -2.0])
    text = json.dumps(record(lambda: torch.relu(x)).data["Torch.relu.0.forward"]["input_args"][0])
    assert '"Max": NaN' in text and '"Max_except_inf_nan": 1.0' in text and '"Min_except_inf_nan": -2.0' in text


def test_views_have_their_strides(record):
    base = torch.arange(12.0).reshape(3, 4)
    data = record(lambda: torch.sum(base.t())).data
    entry = data["Torch.sum.0.forward"]["input_args"][0]
    assert (entry["stride"], entry["storage_offset"], entry["shape"]) == ([1, 4], 0, [4, 3])
    assert "stride" not in data["Tensor.t.0.forward"]["input_args"][0]


def test_conjugate_and_negative_bits_are_resolved(record):
    z = torch.tensor([1 + 2j, 3 - 1j])
    entry = record(lambda: torch.neg(z.conj().imag)).data["Torch.neg.0.forward"]["input_args"][0]
    assert (entry["Max"], entry["Min"]) == (1.0, -2.0)


def test_md5_is_the_crc_of_the_bytes(record):
    import zlib

    x = torch.arange(6.0).reshape(2, 3)
    dump = record(lambda: torch.sum(x.t()), summary_mode="md5")
    entry = dump.data["Torch.sum.0.forward"]["input_args"][0]
    assert entry["md5"] == "%08x" % zlib.crc32(x.t().contiguous().numpy().tobytes())
    assert entry["Max"] == 5.0


@pytest.mark.parametrize("mode, parts", [
    (["all"], {"forward": ["input_args", "input_kwargs", "output"], "backward": ["input", "output"]}),
    (["forward"], {"forward": ["input_args", "input_kwargs", "output"]}),
    (["backward"], {"backward": ["input", "output"]}),
    (["input"], {"forward": ["input_args", "input_kwargs"], "backward": ["input"]}),
    (["forward", "output"], {"forward": ["output"]}),
    (["backward", "output"], {"backward": ["output"]}),
])
def test_data_mode(record, mode, parts):
    x = torch.randn(3, requires_grad=True)
    dump = record(lambda: torch.relu(x).sum().backward(), data_mode=mode)
    for direction in ("forward", "backward"):
        record_ = dump.data.get("Torch.relu.0." + direction)
        assert (list(record_) if record_ else None) == parts.get(direction)


def test_list_and_scope_keep_the_numbering(record):
    x = torch.randn(3)

    def step():
        for _ in range(3):
            torch.relu(x)
            torch.abs(x)

    dump = record(step, scope=["Torch.abs.0.forward", "Torch.abs.1.forward"], list=["relu", "Torch.abs.1"])
    assert list(dump.data) == ["Torch.relu.1.forward", "Torch.abs.1.forward"]
    assert list(dump.stack) == list(dump.data)


def test_an_exception_of_a_call_passes_unchanged_and_leaves_no_record(record):
    x = torch.ones(2)

    def step():
        with pytest.raises(RuntimeError, match="shape"):
            torch.matmul(torch.ones(2, 3), torch.ones(2, 3))
        with pytest.raises(TypeError):
            x + object()
        torch.matmul(x, x)

    assert record(step).names("forward") == ["Torch.matmul.0.forward"]


def test_steps_ranks_and_the_end(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path), step=[1, "3-4"])
    for _ in range(7):
        debugger.start()
        torch.relu(ones(2))
        debugger.stop()
        debugger.step()
    assert sorted(os.listdir(tmp_path)) == ["step1", "step3", "step4"]
    assert list(load_dump(tmp_path, 4).data) == ["Torch.relu.0.forward"]


def test_a_rank_list_without_this_rank_collects_nothing(fresh_debugger, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"task": "statistics", "dump_path": str(tmp_path / "dump"), "rank": [1]}))
    debugger = fresh_debugger(str(config))
    debugger.start()
    torch.relu(ones(2))
    debugger.stop()
    debugger.step()
    assert not (tmp_path / "dump").exists()


def test_segments_of_a_step_accumulate_and_class_methods_work(fresh_debugger, load_dump, tmp_path):
    fresh_debugger(dump_path=str(tmp_path))
    for _ in range(2):
        fresh_debugger.start()
        torch.relu(ones(2))
        fresh_debugger.stop()
        torch.relu(ones(2))  # not collected, not counted
    fresh_debugger.step()
    assert list(load_dump(tmp_path).data) == ["Torch.relu.0.forward", "Torch.relu.1.forward"]


def test_backward_after_stop_still_belongs_to_the_step(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    x = torch.randn(3, requires_grad=True)
    debugger.start()
    loss = torch.relu(x).sum()
    debugger.stop()
    loss.backward(retain_graph=True)
    debugger.step()
    loss.backward()  # the step is over: nobody's
    assert load_dump(tmp_path).names("backward") == ["Tensor.sum.0.backward", "Torch.relu.0.backward"]


def test_a_second_backward_does_not_write_a_record_twice(record):
    x = torch.randn(3, requires_grad=True)

    def step():
        loss = torch.relu(x).sum()
        loss.backward(retain_graph=True)
        loss.backward()

    assert record(step).names("backward") == ["Tensor.sum.0.backward", "Torch.relu.0.backward"]


def test_nothing_stays_installed(fresh_debugger, tmp_path):
    before = dict(torch.Tensor.__dict__)
    x = torch.randn(3)
    debugger = fresh_debugger(dump_path=str(tmp_path))
    assert dict(torch.Tensor.__dict__) == before
    debugger.start()
    assert torch._C._len_torch_function_stack() == 1
    assert dict(torch.Tensor.__dict__) != before
    debugger.stop()
    assert torch._C._len_torch_function_stack() == 0
    assert dict(torch.Tensor.__dict__) == before
    assert (x + 1 == 1 + x).all()


@needs("set_default_device")
def test_a_mode_around_start_can_leave_after_it(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    with torch.device("cpu"):
        debugger.start()
    assert torch._C._len_torch_function_stack() == 1, "the device mode is gone, ours is there"
    torch.relu(ones(2))
    debugger.stop()
    assert torch._C._len_torch_function_stack() == 0
    assert load_dump(tmp_path).names("forward") == ["Torch.relu.0.forward"]


def test_no_tensor_is_kept_alive(fresh_debugger, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    x = torch.randn(3, requires_grad=True)
    y = torch.relu(torch.matmul(torch.randn(2, 3, 3), x))
    dead = [weakref.ref(x), weakref.ref(y)]
    del x, y
    gc.collect()
    assert [ref() for ref in dead] == [None, None]
    debugger.stop()


def test_random_numbers_and_grad_fn_are_untouched(record):
    def draw():
        torch.manual_seed(5)
        x = torch.randn(4, requires_grad=True)
        return F.dropout(torch.rand(4) * x, 0.5), torch.rand(1)

    plain = draw()
    kept = []
    record(lambda: kept.extend(draw()))
    assert torch.equal(plain[0], kept[0]) and torch.equal(plain[1], kept[1])
    assert type(plain[0].grad_fn) is type(kept[0].grad_fn)


def test_a_subclass_sees_each_call_once_and_nothing_of_ours(record):
    Traced = seeing_subclass()
    x = torch.ones(3).as_subclass(Traced)
    Traced.seen.clear()
    dump = record(lambda: torch.relu(x))
    assert Traced.seen == ["relu"]
    assert dump.data["Torch.relu.0.forward"]["input_args"][0]["Max"] == 1.0


def test_other_threads_and_forked_children_record_nothing_into_our_files(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    thread = threading.Thread(target=lambda: torch.abs(ones(2)))
    thread.start()
    thread.join()
    child = os.fork()
    if child == 0:
        debugger.start()
        debugger.stop()
        os._exit(0)
    os.waitpid(child, 0)
    torch.relu(ones(2))
    debugger.stop()
    assert load_dump(tmp_path).names("forward") == ["Torch.relu.0.forward"]


def test_a_failure_inside_the_tool_is_told_once_and_the_training_goes_on(fresh_debugger, load_dump, tmp_path, monkeypatch, capsys):
    from msprobe.pytorch import tensor_access

    def broken(*arguments):
        raise RuntimeError("made by the test")

    monkeypatch.setattr(tensor_access, "describe", broken)
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    for _ in range(3):
        result = torch.neg(torch.eye(2).to_sparse())
    torch.relu(ones(2))
    debugger.stop()
    assert result.to_dense()[0, 0] == -1
    dump = load_dump(tmp_path)
    assert dump.names("forward")[-1] == "Torch.relu.0.forward"
    assert capsys.readouterr().out.count("made by the test") == 1 and dump.errors.count("made by the test") == 1


def test_kill_9_loses_at_most_what_was_not_flushed(tmp_path):
    script = """
import sys, torch
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
x = torch.ones(8)
for i in range(100000):
    torch.relu(x)
    if i == 5000:
        print("go", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.strip() == "go":
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    text = (tmp_path / "step0" / "rank" / "dump.json").read_text()
    complete = [line for line in text.splitlines() if line.startswith('  "Torch.relu.')]
    assert len(complete) > 1000
    for line in complete[:-1]:
        json.loads("{" + line.rstrip(",") + "}")


def test_an_earlier_run_is_not_overwritten(fresh_debugger, tmp_path):
    for _ in range(2):
        fresh_debugger._instance = None
        debugger = fresh_debugger(dump_path=str(tmp_path))
        debugger.start()
        torch.relu(ones(2))
        debugger.stop()
        debugger.step()
    assert len(os.listdir(tmp_path / "step0")) == 2


def test_files_and_folders_are_private(record):
    dump = record(lambda: torch.relu(ones(2)), task="tensor")
    mode = lambda *parts: os.stat(os.path.join(dump.folder, *parts)).st_mode & 0o777
    assert mode() == mode("dump_tensor_data") == 0o750
    assert {mode(n) for n in ("dump.json", "stack.json", "construct.json")} == {0o640}
    assert {mode("dump_tensor_data", n) for n in os.listdir(dump.header["dump_data_dir"])} == {0o640}


@pytest.mark.parametrize("arguments, words", [
    (dict(level="L7"), ("level", "L7")),
    (dict(task="statistic"), ("task", "statistic")),
    (dict(config_path="/nonexistent/config.json"), ("/nonexistent/config.json",)),
    (dict(dump_path=5), ("dump_path", "5")),
    (dict(step=[-1]), ("step", "-1")),
    (dict(step="3"), ("step",)),
    (dict(model="net"), ("model", "str")),
    (dict(level="L3"), ("level", "L3")),
])
def test_wrong_arguments_are_one_clear_exception(fresh_debugger, tmp_path, arguments, words):
    with pytest.raises(Exception) as caught:
        fresh_debugger(**{"dump_path": str(tmp_path), **arguments})
    assert "[msprobe]" in str(caught.value)
    for word in words:
        assert word in str(caught.value)
    assert fresh_debugger._instance is None


def test_methods_without_an_instance(fresh_debugger):
    for method in (fresh_debugger.start, fresh_debugger.stop, fresh_debugger.step):
        with pytest.raises(MsprobeException):
            method()


def test_a_later_construction_returns_the_first_and_says_so(fresh_debugger, tmp_path, capsys):
    first = fresh_debugger(dump_path=str(tmp_path))
    assert fresh_debugger() is first
    assert "ignored" not in capsys.readouterr().out
    assert fresh_debugger(dump_path="/elsewhere") is first
    assert "ignored" in capsys.readouterr().out
    assert first.config.dump_path == first.service.config.dump_path == str(tmp_path)
    assert first.service.current_iter == 0 and first.config.level == "L1"


def test_an_edit_of_the_support_list_takes_effect(fresh_debugger, load_dump, tmp_path, monkeypatch):
    from msprobe.pytorch import api_table

    edited = tmp_path / "support_wrap_ops.yaml"
    edited.write_text("torch:\n  - abs\n")
    monkeypatch.setattr(api_table, "SUPPORT_LIST", str(edited))
    debugger = fresh_debugger(dump_path=str(tmp_path / "dump"))
    debugger.start()
    torch.relu(ones(2))
    torch.abs(ones(2))
    debugger.stop()
    assert list(load_dump(tmp_path / "dump").data) == ["Torch.abs.0.forward"]


def test_a_seed_in_the_file_leaves_random_generators_alone(fresh_debugger, tmp_path, capsys):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"dump_path": str(tmp_path / "dump"), "seed": 7, "is_deterministic": True}))
    torch.manual_seed(99)
    expected = torch.get_rng_state()
    fresh_debugger(str(config))
    assert torch.equal(torch.get_rng_state(), expected) and not torch.are_deterministic_algorithms_enabled()
    assert "seed_all()" in capsys.readouterr().out
