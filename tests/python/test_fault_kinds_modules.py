"""Kinds of fault that tools like this have had, one test for the smallest input of each: modules, the tree, devices.

The numbers are those of the catalogue of faults. The other files test_fault_kinds_*.py hold the rest.
"""

import collections
import os
import sys
import types

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

TASKS = ("statistics", "tensor", "md5")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.after = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.after(torch.relu(self.inner(x)))


def features():
    torch.manual_seed(0)
    return torch.randn(2, 4, requires_grad=True)


def test_b05_no_state_of_a_step_is_left_in_the_next(configured, load_dump, tmp_path):
    model = nn.Sequential(collections.OrderedDict(one=nn.Linear(4, 4), two=nn.Linear(4, 4)))
    model.two.weight = model.one.weight  # one parameter of two modules
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    debugger = configured(level="mix")
    for _ in range(3):
        debugger.start(model)
        optimizer.zero_grad()
        model(features()).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        debugger.stop()
        debugger.step()
    first, second, third = (load_dump(tmp_path / "dump", step) for step in range(3))
    assert list(first.data) == list(second.data) == list(third.data)
    assert first.construct == second.construct == third.construct and "clip_grad" in first.construct
    assert first.stack == second.stack == third.stack
    assert "Module.one.Linear.parameters_grad.0" in first.data and "Module.two.Linear.parameters_grad.0" in first.data
    assert "Module.one.Linear.parameters_grad.1" not in third.data


class Pair(collections.OrderedDict):
    """A dict of a user's own class."""


Named = collections.namedtuple("Named", "first second")


class Returning(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x)


@pytest.mark.parametrize("level", ("L0", "mix"))
@pytest.mark.parametrize("make", (
    lambda x: Pair(a=x * 2, b=[x]), lambda x: Named(x * 2, x), lambda x: torch.max(x, dim=0)), ids=("dict", "named", "max"))
def test_b19_outputs_of_modules_stay_the_very_objects(record, make, level):
    made, got = [], []

    def keep(x):
        made.append(make(x))
        return made[-1]

    model = nn.Sequential(Returning(keep))
    x = features()

    def step():
        got.append(model(x))
        first = next(iter(got[0].values())) if isinstance(got[0], dict) else got[0][0]
        first.sum().backward()

    dump = record(step, level=level, model=model)
    assert got[0] is made[0] and type(got[0]) is type(make(x))
    output = dump.data["Module.0.Returning.forward.0"]["output"]
    first = output[0]["a"] if isinstance(got[0], dict) else output["first"] if isinstance(output, dict) else output[0]
    assert first["type"] == "torch.Tensor" and first["Max"] is not None
    gradient = dump.data["Module.0.Returning.backward.0"]["output"][0]
    assert gradient["Norm"] == pytest.approx(x.grad.norm().item(), rel=1e-6)


@pytest.mark.parametrize("level", ("L0", "mix"))
def test_b22_a_signal_that_stops_a_nested_module_leaves_the_tree_right(record, level):
    class Stop(Exception):
        pass

    class Stopping(nn.Module):
        def forward(self, x):
            raise Stop

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.nested, self.sibling = nn.Sequential(nn.Linear(4, 4), Stopping()), nn.Linear(4, 4)

        def forward(self, x):
            try:
                self.nested(x)
            except Stop:
                pass
            torch.relu(x)
            return self.sibling(x)

    model = nn.Sequential(Outer(), nn.Linear(4, 4))
    dump = record(lambda: model(features()).sum().backward(), level=level, model=model)
    tree = dump.construct
    assert tree["Module.0.sibling.Linear.forward.0"] == "Module.0.Outer.forward.0"
    assert tree["Module.0.nested.Sequential.forward.0"] == "Module.0.Outer.forward.0"
    assert tree["Module.0.nested.0.Linear.forward.0"] == "Module.0.nested.Sequential.forward.0"
    assert tree["Module.1.Linear.forward.0"] is None
    if level == "mix":
        assert tree["Torch.relu.0.forward"] == "Module.0.Outer.forward.0"


@pytest.mark.parametrize("reentrant", (True, False))
def test_b22_after_checkpointing_modules_hang_where_they_belong(record, reentrant):
    model = nn.Sequential(Block(), Block())

    def step():
        for _ in range(2):
            model[1](checkpoint(model[0], features(), use_reentrant=reentrant)).sum().backward()

    tree = record(step, level="L0", model=model).construct
    assert tree["Module.0.Block.forward.1"] is None and tree["Module.1.Block.forward.1"] is None
    for call in (0, 1, 2):
        assert tree["Module.0.inner.Linear.forward.%d" % call] == "Module.0.Block.forward.%d" % call
    assert tree["Module.1.inner.Linear.forward.1"] == "Module.1.Block.forward.1"


@pytest.mark.parametrize("reentrant", (True, False))
def test_b23_only_a_second_run_is_marked_as_one(record, reentrant):
    x = features()
    twice = lambda t: torch.sin(torch.sin(t))
    dump = record(lambda: (checkpoint(twice, x, use_reentrant=reentrant) + torch.cos(x)).sum().backward())
    marks = {name: dump.data[name].get("is_recompute") for name in dump.names("forward")}
    again = [mark for name, mark in marks.items() if ".sin." in name]
    assert again in ([None, None, True, True], [None, None, True])  # the last call is not ended where nobody needs it
    assert [mark for name, mark in marks.items() if ".sin." not in name] == [None] * 3


def test_b32_each_parameter_that_learns_has_one_gradient_a_step(configured, load_dump, tmp_path):
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[0].bias.requires_grad_(False)
    frozen = nn.Linear(4, 4).requires_grad_(False)
    model.add_module("frozen", frozen)
    outside = nn.Linear(4, 4)
    debugger = configured(level="L0")
    for _ in range(2):
        debugger.start(model)
        model.zero_grad()
        outside(model(model(features()))).sum().backward()  # each module twice
        debugger.stop()
        debugger.step()
    for step in range(2):
        data = load_dump(tmp_path / "dump", step).data
        assert [name for name in data if "parameters_grad" in name] == [
            "Module.1.Linear.parameters_grad.0", "Module.0.Linear.parameters_grad.0"]
        assert list(data["Module.0.Linear.parameters_grad.0"]) == ["weight"]
        weight = data["Module.1.Linear.parameters_grad.0"]["weight"][0]
        assert weight["Norm"] == pytest.approx(model[1].weight.grad.norm().item(), rel=1e-6)


def test_b36_hooks_of_the_user_stay(configured):
    model, seen = nn.Sequential(nn.Linear(4, 4)), []
    for module in (model, model[0]):
        module.register_forward_pre_hook(lambda *_: seen.append("before"))
        module.register_forward_hook(lambda *_: seen.append("after"))
        module.register_full_backward_hook(lambda *_: seen.append("backward"))
    model[0].weight.register_hook(lambda gradient: seen.append("weight"))
    model(features()).sum().backward()
    expected = list(seen)
    debugger = configured(level="mix")
    for between in (debugger.start, debugger.stop, debugger.step):
        between(*[model] if between == debugger.start else [])
        seen.clear()
        model(features()).sum().backward()
        assert seen == expected


@pytest.mark.parametrize("task", TASKS)
def test_b44_blocked_formats_of_the_npu_are_not_read(record, monkeypatch, task):
    pytest.importorskip("fake_npu", reason="needs a torch whose devices can be written in Python")
    asked = []

    def query(tensor):
        asked.append(tensor.device.type)
        if tensor.numel() == 6:
            raise RuntimeError("made by the test")
        return 29 if tensor.numel() == 4 else 2

    monkeypatch.setitem(sys.modules, "torch_npu", types.SimpleNamespace(get_npu_format=query))
    inputs = [torch.ones(4, device="cpu").to("npu"), torch.ones(5).to("npu"), torch.ones(6).to("npu"), torch.ones(4)]
    dump = record(lambda: [torch.neg(x) for x in inputs], task=task)
    elements = [dump.data["Torch.neg.%d.forward" % i]["input_args"][0] for i in range(4)]
    assert [element["Max"] for element in elements] == [None, 1.0, 1.0, 1.0]
    assert elements[0]["dtype"] == "torch.float32" and elements[0]["shape"] == [4]
    assert "data_name" not in elements[0] and elements[0].get("md5") is None
    assert asked and set(asked) == {"npu"}


def test_b45_parents_are_text_or_null_or_a_pair_with_the_micro_step(configured, load_dump, tmp_path):
    model = nn.Sequential(Block())

    def construct(level, micro_steps=0):
        debugger = configured(level=level)
        debugger.start(model)
        for _ in range(micro_steps):
            debugger.micro_step()
        model(features()).sum().backward()
        debugger.stop()
        debugger.step()
        return load_dump(tmp_path / "dump").construct

    assert construct("L1") == {}
    tree = construct("mix")
    assert {type(parent) for parent in tree.values()} == {str, type(None)}
    assert tree["Module.0.inner.Linear.backward.0"] == "Module.0.Block.backward.0"
    with_steps = construct("mix", micro_steps=2)
    number = with_steps.pop("megatron_micro_step_number")
    assert {name: [parent, number] for name, parent in tree.items()} == with_steps and number == 1


def test_b47_models_in_every_form(configured, load_dump, tmp_path):
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.scripted, self.plain = torch.jit.script(nn.Linear(4, 4)), nn.Linear(4, 4)

        def forward(self, x):
            return self.plain(self.scripted(x))

    first, second = Holder(), nn.Sequential(nn.Linear(4, 4))
    for models in ([first, second], (first, second)):
        debugger = configured(level="L0")
        debugger.start(models)
        second(first(features())).sum().backward()
        debugger.stop()
        dump = load_dump(tmp_path / "dump")
        assert dump.errors == ""
        names = [name for name in dump.data if ".forward." in name]
        assert names == ["Module.0.plain.Linear.forward.0", "Module.1.0.Linear.forward.0"]
        assert not any(m._forward_hooks for m in (first.plain, second[0]))
    with pytest.raises(Exception, match="model"):  # none at all, as without the argument
        configured(level="L0").start([])
    debugger = configured(level="L1")
    debugger.start([])
    torch.relu(features())
    debugger.stop()
    assert list(load_dump(tmp_path / "dump").data) == ["Torch.relu.0.forward"]


# Two processes are needed: (file, tests) by fault. What they look for is told there.
WITH_TWO_PROCESSES = {
    "b08": ("test_dump_distributed.py", ["test_functional_collectives_are_not_made_to_wait"]),
    "b17": ("test_dump_distributed.py", ["test_asynchronous_calls_are_recorded_when_the_user_learns_of_their_completion",
                                         "test_a_batch_is_one_record_after_its_last_wait"]),
    "b18": ("test_dump_distributed.py", ["test_nothing_is_kept_while_nothing_is_collected"]),
    "b29": ("test_debugger_api.py", ["test_processes_that_make_the_same_step_folder_at_once"]),
    "b40": ("test_dump_distributed.py", ["test_point_to_point_operations_hold_their_tensor", "test_groups_and_reduce_operations"]),
    "b41": ("test_dump_distributed.py", ["test_distributed_tensors_show_their_local_part"]),
    "b50": ("test_dump_distributed.py", ["test_the_receiving_side_is_null_before_and_full_after",
                                         "test_buffers_to_be_filled_are_null_however_they_are_passed"]),
}


@pytest.mark.parametrize("fault", WITH_TWO_PROCESSES)
def test_faults_of_several_processes_have_their_tests(fault):
    file, tests = WITH_TWO_PROCESSES[fault]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file), encoding="utf-8") as source:
        text = source.read()
    for test in tests:
        assert "def %s(" % test in text
