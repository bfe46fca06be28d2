"""save(): values that the user hands over, at level debug and beside the records of other levels."""

import json
import os
import zlib

import numpy
import pytest
import torch

from msprobe.core.common.exceptions import MsprobeException


@pytest.fixture
def load_debug(tmp_path):
    """debug.json of a step: its head and its data."""

    def load(step=0, rank="rank"):
        with open(tmp_path / "dump" / ("step%d" % step) / rank / "debug.json", encoding="utf-8") as file:
            head = json.load(file)
        return head, head.pop("data")

    return load


def test_values_of_every_kind(configured, load_debug, tmp_path):
    debugger = configured(level="debug")
    x = torch.tensor([1.0, 3.0])
    debugger.save(x, "x")
    debugger.save({"a": [x, 2], "b": ("text", 1.5, True, None)}, "tree", save_backward=False)
    debugger.save(7, "number", False)
    debugger.step()
    head, data = load_debug()
    assert (head["task"], head["level"], head["framework"], head["dump_data_dir"]) == ("statistics", "debug", "pytorch", None)
    assert list(data) == ["x.0.debug", "x_grad.0.debug", "tree.0.debug", "number.0.debug"]
    assert data["x.0.debug"]["Mean"] == 2.0 and data["x.0.debug"]["type"] == "torch.Tensor"
    assert data["x_grad.0.debug"] is None
    tree = data["tree.0.debug"]
    assert tree["a"][0]["Max"] == 3.0 and tree["a"][1] == {"type": "int", "value": 2}
    assert [part and part["value"] for part in tree["b"]] == ["text", 1.5, True, None]
    assert data["number.0.debug"] == {"type": "int", "value": 7}
    assert os.listdir(tmp_path / "dump" / "step0" / "rank") == ["debug.json"]


def test_names_are_counted_in_every_step(configured, load_debug):
    debugger = configured(level="debug")
    for step in range(2):
        for _ in range(2):
            debugger.save(torch.ones(1), "x", save_backward=False)
        debugger.save(torch.ones(1), "y", save_backward=False)
        debugger.step()
        assert list(load_debug(step)[1]) == ["x.0.debug", "x.1.debug", "y.0.debug"]


def test_gradients_fill_the_same_structure(configured, load_debug):
    debugger = configured(level="debug")
    leaf = torch.tensor([2.0, 3.0], requires_grad=True)
    constant = torch.ones(2)
    inner = leaf * 2
    debugger.save({"inner": [inner, constant, "text"], "leaf": leaf}, "v")
    (inner * inner).sum().backward()
    debugger.step()
    gradients = load_debug()[1]["v_grad.0.debug"]
    assert gradients["inner"][0]["Max"] == 12.0 and gradients["inner"][1:] == [None, None]
    assert gradients["leaf"]["Max"] == 24.0 and gradients["leaf"]["shape"] == [2]
    assert torch.equal(leaf.grad, torch.tensor([16.0, 24.0]))


def test_records_stand_in_the_order_of_completion(configured, load_debug):
    debugger = configured(level="debug")
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    debugger.save(x, "x")
    debugger.save(y, "y")
    y.backward()
    debugger.save(1, "last", False)
    debugger.step()
    assert list(load_debug()[1]) == ["x.0.debug", "y.0.debug", "y_grad.0.debug", "x_grad.0.debug", "last.0.debug"]


def test_gradients_that_never_come_are_null(configured, load_debug):
    debugger = configured(level="debug")
    used, unused = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    debugger.save([used, unused], "pair")
    (used * 3).backward()
    debugger.step()
    gradients = load_debug()[1]["pair_grad.0.debug"]
    assert gradients[0]["Max"] == 3.0 and gradients[1] is None
    assert not unused._backward_hooks and not used._backward_hooks
    (unused * used).backward()  # the hooks are gone
    debugger.save(1, "other", False)
    debugger.step()
    assert list(load_debug(1)[1]) == ["other.0.debug"]


def test_only_the_first_backward_counts(configured, load_debug):
    debugger = configured(level="debug")
    x = torch.ones(1, requires_grad=True)
    debugger.save(x, "x")
    for factor in (3, 5):
        (x * factor).backward()
    debugger.step()
    assert load_debug()[1]["x_grad.0.debug"]["Max"] == 3.0 and x.grad == 8


def test_tensor_files_and_their_names(configured, load_debug, tmp_path):
    debugger = configured("tensor", level="debug")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    debugger.save(x, "bare")
    debugger.save([x * 2, {"k": torch.ones(1)}], "many")
    debugger.save(torch.ones(1), "n" * 300, save_backward=False)
    debugger.save(torch.ones(1), "a/../b c", save_backward=False)
    (x * 5).sum().backward()
    debugger.step()
    head, data = load_debug()
    folder = head["dump_data_dir"]
    load = lambda element: torch.load(os.path.join(folder, element["data_name"]), weights_only=True)
    assert data["bare.0.debug"]["data_name"] == "bare.0.debug.pt"
    assert data["bare_grad.0.debug"]["data_name"] == "bare_grad.0.debug.pt"
    assert data["many.0.debug"][0]["data_name"] == "many.0.debug.0.pt"
    assert data["many.0.debug"][1]["k"]["data_name"] == "many.0.debug.1.k.pt"
    assert torch.equal(load(data["bare.0.debug"]), x) and torch.equal(load(data["bare_grad.0.debug"]), torch.full((2,), 5.0))
    assert len(data["n" * 300 + ".0.debug"]["data_name"]) <= 255
    assert "/" not in data["a/../b c.0.debug"]["data_name"]
    named = {e["data_name"] for e in (data["bare.0.debug"], data["bare_grad.0.debug"], *data["many.0.debug"][:1],
                                      data["many.0.debug"][1]["k"], data["n" * 300 + ".0.debug"], data["a/../b c.0.debug"])}
    assert named == set(os.listdir(folder))


def test_checksums(configured, load_debug):
    debugger = configured("md5", level="debug")
    x = numpy.arange(4, dtype=numpy.float32)
    debugger.save(torch.from_numpy(x), "x", False)
    debugger.step()
    assert load_debug()[1]["x.0.debug"]["md5"] == "%08x" % zlib.crc32(x.tobytes())


def test_steps_and_ranks_are_filtered(configured, load_debug, tmp_path):
    debugger = configured(level="debug", top={"step": [1]})
    for value in range(3):
        debugger.save(value, "v", False)
        debugger.step()
    assert os.listdir(tmp_path / "dump") == ["step1"] and load_debug(1)[1]["v.0.debug"]["value"] == 1
    debugger = configured(level="debug", top={"rank": [4], "dump_path": str(tmp_path / "other")})
    debugger.save(1, "v", False)
    debugger.step()
    assert not (tmp_path / "other").exists()


def test_start_and_stop_are_allowed_and_not_needed(configured, load_debug, capsys):
    debugger = configured(level="debug")
    debugger.start()
    torch.sin(torch.ones(1))
    debugger.save(1, "v", False)
    debugger.stop()
    assert list(load_debug()[1]) == ["v.0.debug"]
    out = capsys.readouterr().out
    assert "start() and stop() are not needed" in out and "WARNING" not in out
    assert torch._C._len_torch_function_stack() == 0


@pytest.mark.parametrize("arguments, words", [
    ((object(), "x"), "not object"), ((None, "x"), "not NoneType"), ((1, 5), "name must be a string that is not empty, not 5"), ((1, ""), "name"),
    ((1, "x", 1), "save_backward must be a bool")])
def test_what_cannot_be_saved_is_one_warning(configured, tmp_path, capsys, arguments, words):
    debugger = configured(level="debug")
    debugger.save(*arguments)
    debugger.step()
    warnings = [line for line in capsys.readouterr().out.splitlines() if "WARNING" in line]
    assert len(warnings) == 1 and "save() is skipped" in warnings[0] and words in warnings[0]
    assert not (tmp_path / "dump").exists()


def test_parts_of_unknown_types_are_null(configured, load_debug):
    debugger = configured(level="debug")
    debugger.save([object(), torch.ones(1, requires_grad=True)], "v", False)
    debugger.step()
    value = load_debug()[1]["v.0.debug"]
    assert value[0] is None and value[1]["Max"] == 1.0


@pytest.mark.parametrize("level", ("L0", "L1", "mix"))
def test_other_levels_save_between_start_and_stop_also_inside_modules(configured, load_dump, load_debug, tmp_path, level):
    debugger = configured(level=level)

    class Inner(torch.nn.Module):
        def forward(self, x):
            y = torch.sin(x)
            debugger.save(y, "between")
            return y * 2

    model = torch.nn.Sequential(Inner())
    debugger.save(1, "too early", False)
    debugger.start(model)
    model(torch.ones(2, requires_grad=True)).sum().backward()
    debugger.stop()
    debugger.save(1, "too late", False)
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    names = set(dump.data)
    assert not any("between" in name or "register_hook" in name for name in names) and dump.errors == ""
    assert names >= {"L1": {"Torch.sin.0.backward"}, "L0": {"Module.0.Inner.backward.0"}}.get(level, set()) and names
    data = load_debug()[1]
    assert list(data) == ["between.0.debug", "between_grad.0.debug"]
    assert data["between_grad.0.debug"]["Max"] == 2.0


def test_saving_changes_no_gradient_and_keeps_no_tensor(configured):
    import gc
    import weakref

    def run(debugger):
        torch.manual_seed(0)
        x = torch.randn(64, 64, requires_grad=True)
        h = x @ x
        if debugger is not None:
            debugger.save([x, h], "values")
        (torch.softmax(h, 1) * h).sum().backward()
        return x, weakref.ref(h)

    plain, _ = run(None)
    debugger = configured(level="debug")
    saved, inner = run(debugger)
    gc.collect()
    assert torch.equal(plain.grad, saved.grad) and inner() is None
    debugger.step()


def test_no_grad_and_inference_mode(configured, load_debug):
    debugger = configured(level="debug")
    weight = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        debugger.save(weight * 2, "quiet")
    with torch.inference_mode():
        debugger.save(torch.ones(1), "inference")
    debugger.step()
    data = load_debug()[1]
    assert data["quiet_grad.0.debug"] is None and data["inference.0.debug"]["Max"] == 1.0


def test_a_forked_child_leaves_the_values_to_its_parent(run_python, tmp_path, load_debug):
    code, out, err = run_python("""
import os, sys, torch
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path=sys.argv[1], level="debug")
x = torch.ones(1, requires_grad=True)
debugger.save(x, "x")
child = os.fork()
if child == 0:
    debugger.save(1, "of the child", False)
    (x * 7).backward()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
(x * 3).backward()
""", tmp_path / "dump")
    assert code == 0, err
    data = load_debug()[1]
    assert list(data) == ["x.0.debug", "x_grad.0.debug"] and data["x_grad.0.debug"]["Max"] == 3.0


def test_values_survive_a_kill(run_python, tmp_path, load_debug):
    code, _, _ = run_python("""
import os, signal, sys, time, torch
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path=sys.argv[1], level="debug")
for i in range(100):
    debugger.save(i, "i", False)
debugger.stop()
os.kill(os.getpid(), signal.SIGKILL)
""", tmp_path / "dump")
    assert code == -9 and len(load_debug()[1]) == 100


@pytest.mark.parametrize("task", ("overflow_check", "structure"))
def test_tasks_without_level_debug(configured, task, tmp_path):
    try:
        debugger = configured(task, level="debug")
    except MsprobeException as error:
        assert "debug" in str(error)
    else:
        debugger.save(torch.ones(1), "x")
        debugger.step()
        assert not (tmp_path / "dump").exists()
