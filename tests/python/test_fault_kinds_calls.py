"""Kinds of fault that tools like this have had, one test for the smallest input of each: calls, names, filters, stacks.

The numbers are those of the catalogue of faults. The other files test_fault_kinds_*.py hold the rest.
"""

import gc
import json
import os
import types

import pytest
import torch
import torch.nn.functional as F

from capabilities import needs
from msprobe.core.common.exceptions import MsprobeException


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def test_b03_the_tool_records_nothing_of_its_own(record):
    x = leaf(3)

    def step():
        torch.autograd.backward([torch.max(x), torch.max(x)])

    assert sorted(record(step).data) == [
        "Torch.max.%d.%s" % (i, direction) for i in range(2) for direction in ("backward", "forward")]


def test_b04_numbers_begin_anew_and_follow_what_is_collected(configured, load_dump, tmp_path):
    debugger, x = configured(), leaf(3)
    for _ in range(2):
        torch.relu(x)  # not collected: not counted
        debugger.start()
        torch.relu(x).sum().backward()
        debugger.stop()
        debugger.step()
    for step in range(2):
        assert list(load_dump(tmp_path / "dump", step).data) == [
            "Torch.relu.0.forward", "Tensor.sum.0.forward", "Tensor.sum.0.backward", "Torch.relu.0.backward"]
    loss = torch.relu(x).sum()
    debugger.start()
    loss.backward()
    torch.abs(x)
    debugger.stop()
    assert list(load_dump(tmp_path / "dump", 2).data) == ["Torch.abs.0.forward"]


@pytest.mark.parametrize("mode, parts", [
    (["forward", "input"], {"forward": ["input_args", "input_kwargs"]}),
    (["forward", "output"], {"forward": ["output"]}),
    (["backward", "input"], {"backward": ["input"]}),
    (["backward", "output"], {"backward": ["output"]}),
])
def test_b06_both_words_of_data_mode_hold(record, mode, parts):
    x = leaf(3)
    dump = record(lambda: torch.relu(x).sum().backward(), data_mode=mode)
    for direction in ("forward", "backward"):
        found = dump.data.get("Torch.relu.0." + direction)
        assert (found and list(found)) == parts.get(direction)


def test_b06_all_and_another_word_are_refused(configured):
    with pytest.raises(Exception, match="data_mode"):
        configured(data_mode=["all", "input"])


def test_b15_no_graph_is_kept(record):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    x = leaf(256, 256)
    torch.neg(torch.sin(x))

    def step():
        before = resident()
        for _ in range(1000):
            torch.neg(torch.sin(x))
        assert resident() - before < 64 << 20  # all results: 500 MiB
        gc.collect()
        tensors = [o for o in gc.get_objects() if type(o) is torch.Tensor and o.shape == x.shape]
        assert len(tensors) <= 1

    record(step)


def test_b24_a_counting_dispatch_mode_sees_the_same(record):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.counts = {}

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.counts[str(function)] = self.counts.get(str(function), 0) + 1
            return function(*args, **(kwargs or {}))

    x, y = leaf(4, 4), torch.ones(4, 4).bfloat16().t()

    def count():
        with Counting() as mode:
            torch.max(torch.matmul(x, x).sum())
            torch.neg(y)
            torch.view_as_real(torch.ones(2, dtype=torch.complex64).conj().resolve_conj())
        return mode.counts

    plain = count()
    for task in ("statistics", "md5", "tensor"):
        record(lambda: plain == count() or pytest.fail("the mode has seen what the tool did"), task=task)


@needs("utils.checkpoint.create_selective_checkpoint_contexts")
def test_b24_selective_checkpointing_counts_the_same(record):
    from functools import partial
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

    def policy(context, operator, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE if operator is torch.ops.aten.mm.default else CheckpointPolicy.PREFER_RECOMPUTE

    def step(x):
        run = lambda t: torch.sin(torch.mm(t, t)).max()
        checkpoint(run, x, use_reentrant=False,
                   context_fn=partial(create_selective_checkpoint_contexts, policy)).backward()
        return x.grad

    torch.manual_seed(0)
    x = torch.randn(3, 3)
    expected = step(x.clone().requires_grad_())
    dump = record(lambda: torch.equal(step(x.clone().requires_grad_()), expected) or pytest.fail("other gradients"))
    assert "Torch.mm.0.backward" in dump.data


def test_b26_a_forked_child_leaves_the_files_of_its_parent_alone(run_python, load_dump, tmp_path):
    code, _, err = run_python("""
import os, signal, sys, torch
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
torch.relu(torch.ones(2))
PrecisionDebugger.stop()
debugger.start()
path = os.path.join(sys.argv[1], "step0", "rank", "dump.json")
before = open(path).read()
child = os.fork()
if child == 0:
    signal.alarm(60)
    torch.abs(torch.ones(2))
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert open(path).read() == before
""", tmp_path)
    assert code == 0, err
    assert list(load_dump(tmp_path).data) == ["Torch.relu.0.forward"]


def test_b29_a_process_without_a_group_has_the_folder_rank(record):
    assert os.path.basename(record(lambda: torch.relu(leaf(2))).folder) == "rank"


def test_b29_the_filter_of_ranks_holds_in_start_stop_and_step(configured, tmp_path):
    debugger = configured(top={"rank": [1]})
    for _ in range(2):
        debugger.start(rank_id=0)
        torch.relu(leaf(2))
        debugger.stop()
        debugger.step()
    assert not (tmp_path / "dump").exists()


@pytest.mark.parametrize("element, names", [
    ("relu", ["Functional.relu.0", "Functional.relu6.0", "Functional.leaky_relu.0"]),
    ("=relu", ["Functional.relu.0"]),
])
def test_b33_a_list_matches_parts_and_has_an_exact_form(record, element, names):
    x = torch.ones(3)
    dump = record(lambda: (F.relu(x), F.relu6(x), F.leaky_relu(x), torch.abs(x)), list=[element])
    assert [name[:-len(".forward")] for name in dump.data] == names


def test_b35_a_registered_function_keeps_result_attributes_and_identity(configured, load_dump, tmp_path):
    def scaled(x):
        return torch.sin(x) * 3

    scaled.default = "extra"
    first, second = types.ModuleType("first_ops"), types.ModuleType("second_ops")
    first.scaled = second.scaled = scaled
    debugger, x = configured(), torch.ones(2)
    expected = scaled(x)
    debugger.register_custom_api(first, "scaled", "Mine")
    debugger.register_custom_api(second, "scaled", "Mine")
    debugger.start()
    for module in (first, second):
        assert module.scaled(x).tolist() == expected.tolist() and module.scaled.default == "extra"
    assert first.scaled == second.scaled == scaled and hash(first.scaled) == hash(scaled)
    debugger.stop()
    assert first.scaled is scaled and second.scaled is scaled
    assert list(load_dump(tmp_path / "dump").data) == ["Mine.scaled.0.forward", "Mine.scaled.1.forward"]


def test_b38_names_of_files(configured, load_dump, tmp_path):
    long = "n" * 300
    owner = types.ModuleType("my_ops")
    setattr(owner, long, lambda x: torch.sin(x))
    debugger = configured("tensor")
    debugger.register_custom_api(owner, long, "Mine")
    debugger.start()
    getattr(owner, long)(torch.ones(2))
    debugger.save(torch.ones(2), "bare", save_backward=False)
    debugger.save([torch.ones(2), torch.zeros(2)], "many", save_backward=False)
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    with open(os.path.join(dump.folder, "debug.json"), encoding="utf-8") as file:
        saved = json.load(file)["data"]
    call = dump.data["Mine.%s.0.forward" % long]
    elements = [call["input_args"][0], call["output"][0], saved["bare.0.debug"], *saved["many.0.debug"]]
    names = [element["data_name"] for element in elements]
    assert names[2:] == ["bare.0.debug.pt", "many.0.debug.0.pt", "many.0.debug.1.pt"]
    assert len(set(names)) == 5 and all(len(name) <= 255 and name.count("..") == 0 for name in names)
    assert set(names) == set(os.listdir(dump.header["dump_data_dir"]))
    for name in names[:2]:
        assert torch.load(os.path.join(dump.header["dump_data_dir"], name)).shape == (2,)


def test_b46_calls_of_one_line_have_the_stack_of_the_user(record):
    x = torch.ones(2)

    def step():
        for _ in range(3):
            torch.relu(x)

    stacks = list(record(step).stack.items())
    assert [name for name, _ in stacks] == ["Torch.relu.%d.forward" % i for i in range(3)]
    frames = stacks[0][1]
    assert all(stack == frames for _, stack in stacks)
    assert frames[0].startswith("File " + __file__) and frames[0].endswith("in step, \n torch.relu(x)")
    assert not any(os.sep + "msprobe" + os.sep in frame.split(",")[0] for frame in frames)


def test_b48_dropout_stays_and_nothing_belongs_to_another_call(record):
    x = leaf(3)

    def step():
        y = torch.sin(x)
        (F.dropout(y, 0.0) + F.dropout(y, p=0)).sum().backward()
        torch.manual_seed(3)
        assert (F.dropout(torch.ones(1000), 0.5) == 0).any()

    dump = record(step)
    assert len([name for name in dump.names("forward") if "dropout" in name]) == 3
    # Where it computes something, its gradients are its own; where it hands back its input, there are none.
    assert dump.data["Torch.sin.0.backward"]["input"][0]["Max"] == 2.0
    for name in dump.names("backward"):
        if "dropout" in name:
            assert dump.data[name]["input"][0]["Max"] == 1.0 and dump.data[name]["output"][0]["Max"] == 1.0


def test_b49_allocation_is_no_record(record):
    dump = record(lambda: (torch.empty(3), torch.empty_like(torch.zeros(3)), torch.abs(torch.ones(2))))
    assert "Torch.abs.0.forward" in dump.data and not [name for name in dump.data if "empty" in name or "zeros_like" in name]


def test_b50_a_name_bound_before_the_start_is_seen(record):
    from torch import relu

    x = torch.ones(2)
    assert list(record(lambda: relu(x)).data) == ["Torch.relu.0.forward"]


def test_errors_of_the_interface_are_the_tools_own(fresh_debugger):
    with pytest.raises(MsprobeException):
        fresh_debugger.start()
