"""Levels L0 and mix: records of modules, their tree, parameters, and that nothing of the training changes."""

import copy
import io
import json
import os

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from capabilities import MODULE_HOOKS_SEE_KEYWORDS
from dump_checks import check_same_gradients
from msprobe.core.common.exceptions import MsprobeException


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.act = nn.ReLU()

    def forward(self, x, scale=None):
        y = self.act(self.inner(x))
        return y if scale is None else y * scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.second = Block()
        self.head = nn.Linear(4, 2, bias=False)

    def forward(self, x):
        return self.head(self.second(self.first(x), scale=torch.full((4,), 2.0)))


def build(kind=Net):
    torch.manual_seed(3)
    return kind()


def gradients(model):
    return {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}


def step_of(model, forward=None):
    def step():
        model.zero_grad(set_to_none=True)
        torch.manual_seed(5)
        x = torch.randn(3, 4, requires_grad=True)
        (forward or model)(x).sum().backward()
        return x

    return step


@pytest.fixture
def record_model(fresh_debugger, load_dump, tmp_path):
    """Runs one step with the tool and returns its dump; loss and gradients must be those of a run without."""

    def run(model, step, level="L0", task="statistics", top=(), **section):
        step()
        plain = gradients(model)
        config = tmp_path / "config.json"
        config.write_text(json.dumps(
            {"task": task, "level": level, "dump_path": str(tmp_path / "dump"), task: section, **dict(top)}))
        debugger = fresh_debugger(str(config))
        debugger.start(model)
        step()
        debugger.stop()
        debugger.step()
        check_same_gradients(plain, gradients(model))
        dump = load_dump(tmp_path / "dump")
        assert dump.errors == ""
        return dump

    return run


def test_module_records_names_and_order(record_model):
    model = build()
    dump = record_model(model, step_of(model))
    assert dump.header["level"] == "L0"
    assert dump.names("forward.0") == [
        "Module.first.inner.Linear.forward.0", "Module.first.act.ReLU.forward.0", "Module.first.Block.forward.0",
        "Module.second.inner.Linear.forward.0", "Module.second.act.ReLU.forward.0", "Module.second.Block.forward.0",
        "Module.head.Linear.forward.0"]
    assert dump.names("backward.0") == [
        "Module.head.Linear.backward.0", "Module.second.act.ReLU.backward.0", "Module.second.inner.Linear.backward.0",
        "Module.second.Block.backward.0", "Module.first.act.ReLU.backward.0", "Module.first.inner.Linear.backward.0",
        "Module.first.Block.backward.0"]
    assert sorted(dump.names("parameters_grad.0")) == [  # written when autograd accumulates them
        "Module.first.inner.Linear.parameters_grad.0", "Module.head.Linear.parameters_grad.0",
        "Module.second.inner.Linear.parameters_grad.0"]
    assert set(dump.stack) == set(dump.names("forward.0"))


def test_the_tree(record_model):
    model = build()
    dump = record_model(model, step_of(model))
    assert dump.construct == {
        **{name.replace("forward", side): parent and parent.replace("forward", side) for side in ("forward", "backward")
           for name, parent in {
               "Module.first.Block.forward.0": None,
               "Module.first.inner.Linear.forward.0": "Module.first.Block.forward.0",
               "Module.first.act.ReLU.forward.0": "Module.first.Block.forward.0",
               "Module.second.Block.forward.0": None,
               "Module.second.inner.Linear.forward.0": "Module.second.Block.forward.0",
               "Module.second.act.ReLU.forward.0": "Module.second.Block.forward.0",
               "Module.head.Linear.forward.0": None}.items()}}
    keys = list(dump.construct)
    for name, parent in dump.construct.items():
        assert parent is None or keys.index(parent) < keys.index(name)


def test_content_of_a_module_record(record_model):
    model = build()
    dump = record_model(model, step_of(model))
    block = dump.data["Module.second.Block.forward.0"]
    assert list(block) == ["input_args", "input_kwargs", "output", "parameters"]
    assert block["input_args"][0]["shape"] == [3, 4]
    if MODULE_HOOKS_SEE_KEYWORDS:
        assert block["input_kwargs"]["scale"]["shape"] == [4]
    assert block["parameters"] == {}
    linear = dump.data["Module.second.inner.Linear.forward.0"]
    assert list(linear["parameters"]) == ["weight", "bias"]
    weight = model.second.inner.weight
    assert linear["parameters"]["weight"]["Max"] == weight.max().item()
    assert linear["parameters"]["weight"]["requires_grad"] is True
    grad = dump.data["Module.second.inner.Linear.parameters_grad.0"]
    assert list(grad) == ["weight", "bias"]
    assert grad["weight"][0]["Max"] == weight.grad.max().item() and grad["weight"][0]["requires_grad"] is False


def test_backward_holds_the_modules_own_gradients(record_model):
    """The first block's input feeds a second branch: its gradient record holds the block's own part only."""

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)

        def forward(self, x):
            return self.left(x).sum() + 3 * self.right(x).sum()

    model = build(Branches)
    dump = record_model(model, step_of(model))
    for name, factor in (("left", 1.0), ("right", 3.0)):
        backward = dump.data["Module.%s.Linear.backward.0" % name]
        weight = getattr(model, name).weight
        expected = (torch.full((3, 4), factor) @ weight).detach()
        assert backward["input"][0]["Max"] == factor
        assert backward["output"][0]["Max"] == expected.max().item()
        assert backward["output"][0]["Norm"] == pytest.approx(expected.norm().item(), rel=1e-6)


def test_shared_module_is_recorded_once_under_its_first_name(record_model):
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(4, 4)
            self.two = self.one

        def forward(self, x):
            return self.two(self.one(x))

    model = build(Shared)
    dump = record_model(model, step_of(model))
    assert dump.names("forward.0") == ["Module.one.Linear.forward.0"]
    assert dump.names("forward.1") == ["Module.one.Linear.forward.1"]
    assert dump.names("backward.1") == ["Module.one.Linear.backward.1"]  # the index is that of its forward
    assert list(dump.data).index("Module.one.Linear.backward.1") < list(dump.data).index("Module.one.Linear.backward.0")
    assert dump.names("parameters_grad.0") == ["Module.one.Linear.parameters_grad.0"]


def test_tied_weights_have_a_record_in_each_module(record_model):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
            self.two.weight = self.one.weight

        def forward(self, x):
            return self.two(self.one(x))

    model = build(Tied)
    dump = record_model(model, step_of(model))
    one, two = (dump.data["Module.%s.Linear.parameters_grad.0" % name] for name in ("one", "two"))
    assert one == two and one["weight"][0]["Norm"] == pytest.approx(model.one.weight.grad.norm().item(), rel=1e-6)


def test_frozen_and_unused_parameters(record_model):
    model = build()
    model.first.inner.weight.requires_grad_(False)
    model.unused = nn.Linear(2, 2)
    dump = record_model(model, step_of(model))
    assert list(dump.data["Module.first.inner.Linear.parameters_grad.0"]) == ["bias"]
    assert not [name for name in dump.data if "unused" in name]


def test_gradient_accumulation_counts_the_records(record_model):
    model = build()
    once = step_of(model)

    def twice():
        once()
        model(torch.ones(1, 4)).sum().backward()

    dump = record_model(model, twice)
    assert "Module.head.Linear.parameters_grad.1" in dump.data
    assert dump.data["Module.head.Linear.parameters_grad.1"]["weight"][0]["Max"] == model.head.weight.grad.max().item()
    assert "Module.head.Linear.backward.1" in dump.data


def test_steps_have_equal_keys(fresh_debugger, load_dump, tmp_path):
    """B05: nothing of a step is left in the next."""
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    debugger = fresh_debugger(dump_path=str(tmp_path / "dump"), level="mix")
    step = step_of(model)
    for _ in range(3):
        debugger.start(model)
        step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        debugger.stop()
        debugger.step()
    first, second, third = (load_dump(tmp_path / "dump", step=i) for i in range(3))
    assert list(first.data) == list(second.data) == list(third.data)
    assert first.construct == second.construct == third.construct
    assert first.construct["clip_grad"] is None
    assert "clip_grad" in set(first.construct.values())


def test_list_of_models(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path / "dump"), level="L0")
    models = [build(), build()]
    debugger.start(models)
    for model in models:
        model(torch.ones(2, 4)).sum().backward()
    debugger.stop()
    debugger.step()
    data = load_dump(tmp_path / "dump").data
    assert "Module.0.first.inner.Linear.forward.0" in data and "Module.1.head.Linear.backward.0" in data


def test_mix_holds_both_and_links_them(record_model):
    model = build()
    dump = record_model(model, step_of(model), level="mix")
    assert dump.construct["Functional.linear.0.forward"] == "Module.first.inner.Linear.forward.0"
    assert dump.construct["Functional.linear.0.backward"] == "Module.first.inner.Linear.backward.0"
    assert dump.construct["Tensor.__mul__.0.forward"] == "Module.second.Block.forward.0"
    assert dump.construct["Tensor.sum.0.forward"] is None
    assert dump.names("forward")[:2] == ["Functional.linear.0.forward", "Functional.relu.0.forward"]
    order = list(dump.data)
    assert order.index("Functional.linear.0.forward") < order.index("Module.first.inner.Linear.forward.0")


@pytest.mark.parametrize("level", ("L0", "L1", "mix"))
@pytest.mark.parametrize("reentrant", (True, False))
def test_checkpointing_records_what_is_made_again(record_model, level, reentrant):
    model = build()

    def forward(x):
        return model.head(checkpoint(model.second, checkpoint(model.first, x, use_reentrant=reentrant),
                                     use_reentrant=reentrant))

    dump = record_model(model, step_of(model, forward), level=level)
    again = [name for name, record in dump.data.items() if record.get("is_recompute")]
    if level != "L0":
        assert "Functional.linear.3.forward" in again and "Functional.linear.0.forward" not in again
        assert "Functional.linear.%d.backward" % (4 if reentrant else 0) in dump.data
    if level != "L1":
        assert "Module.first.inner.Linear.forward.1" in again and "Module.head.Linear.forward.0" not in again
        assert dump.construct["Module.first.inner.Linear.forward.1"] == "Module.first.Block.forward.1"
        assert dump.construct["Module.head.Linear.forward.0"] is None
        assert "Module.first.inner.Linear.parameters_grad.0" in dump.data


def test_an_exception_leaves_the_stack_balanced(record_model):
    """B22: an inner module raises; a sibling that runs after it hangs where it belongs."""

    class Stop(Exception):
        pass

    class Raising(nn.Module):
        def __init__(self):
            super().__init__()
            self.before = nn.Linear(4, 4)

        def forward(self, x):
            self.before(x)
            raise Stop

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.raising, self.sibling = Raising(), nn.Linear(4, 4)

        def forward(self, x):
            try:
                self.raising(x)
            except Stop:
                pass
            return self.sibling(x)

    class Top(nn.Module):
        def __init__(self):
            super().__init__()
            self.outer = Outer()

        def forward(self, x):
            return self.outer(x)

    model = build(Top)
    dump = record_model(model, step_of(model))
    assert dump.construct["Module.outer.sibling.Linear.forward.0"] == "Module.outer.Outer.forward.0"
    assert dump.construct["Module.outer.raising.before.Linear.forward.0"] == "Module.outer.raising.Raising.forward.0"
    assert list(dump.data["Module.outer.raising.Raising.forward.0"]) == ["input_args", "input_kwargs"]


def test_output_none_is_no_exception(record_model):
    class Nothing(nn.Module):
        def forward(self, x):
            return None

    class Caller(nn.Module):
        def __init__(self):
            super().__init__()
            self.nothing, self.linear = Nothing(), nn.Linear(4, 4)

        def forward(self, x):
            try:
                raise ValueError
            except ValueError:
                self.nothing(x)
            return self.linear(x)

    model = build(Caller)
    dump = record_model(model, step_of(model))
    assert dump.data["Module.nothing.Nothing.forward.0"]["output"] == [None]


def test_hooks_are_gone_after_stop_and_the_users_stay(fresh_debugger, tmp_path):
    model = build()
    seen = []
    model.first.register_forward_hook(lambda *_: seen.append("forward"))
    model.first.register_full_backward_hook(lambda *_: seen.append("backward"))
    debugger = fresh_debugger(dump_path=str(tmp_path / "dump"), level="L0")
    debugger.start(model)
    step_of(model)()
    debugger.stop()
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]
    assert sum(hooks) == 1 and seen == ["forward", "backward"]
    debugger.step()
    assert not any(getattr(p, "_post_accumulate_grad_hooks", None) for p in model.parameters())
    step_of(model)()
    assert seen == ["forward", "backward"] * 2


def test_containers_in_module_outputs(record_model):
    import collections

    Pair = collections.namedtuple("Pair", "a b")

    class Wrapped(collections.OrderedDict):
        pass

    class Containers(nn.Module):
        def forward(self, x):
            return Wrapped(x=x * 2, rest=[x + 1, Pair(x * 3, None)])

    class Top(nn.Module):
        def __init__(self):
            super().__init__()
            self.containers = Containers()

        def forward(self, x):
            out = self.containers(x)
            assert type(out) is Wrapped and type(out["rest"][1]) is Pair
            return out["x"] + out["rest"][0] + out["rest"][1].a

    model = build(Top)
    dump = record_model(model, step_of(model))
    backward = dump.data["Module.containers.Containers.backward.0"]
    assert [g["Max"] for g in backward["input"]] == [1.0, 1.0, 1.0]
    assert backward["output"][0]["Max"] == 6.0


def test_in_place_on_a_modules_output(record_model):
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.act = nn.Linear(4, 4), nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.act(self.linear(x)) * 1
            y += 1
            y[0] = 0
            return y

    model = build(InPlace)
    dump = record_model(model, step_of(model))
    relu = dump.data["Module.act.ReLU.forward.0"]
    assert relu["input_args"][0]["Min"] < 0 <= relu["output"][0]["Min"]


def test_a_model_is_needed(fresh_debugger, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path / "dump"), level="L0")
    with pytest.raises(MsprobeException, match="L0.*model"):
        debugger.start()


def test_structure_has_names_and_no_values(record_model):
    model = build()
    dump = record_model(model, step_of(model), level="mix", task="structure")
    assert dump.data["Module.first.Block.forward.0"] == {} and dump.data["Functional.linear.0.backward"] == {}
    assert dump.construct["Functional.linear.0.forward"] == "Module.first.inner.Linear.forward.0"
    assert "Module.first.Block.forward.0" in dump.stack


def test_data_mode_of_modules(record_model):
    model = build()
    dump = record_model(model, step_of(model), data_mode=["forward", "output"])
    assert list(dump.data["Module.first.inner.Linear.forward.0"]) == ["output"]
    assert not [name for name in dump.data if "backward" in name or "parameters_grad" in name]


def test_module_scope(record_model):
    model = build()
    dump = record_model(model, step_of(model), level="mix",
                        scope=["Module.second.Block.forward.0", "Module.second.Block.forward.0"])
    assert list(dump.data) == [
        "Functional.linear.1.forward", "Module.second.inner.Linear.forward.0", "Functional.relu.1.forward",
        "Module.second.act.ReLU.forward.0", "Tensor.__mul__.0.forward", "Module.second.Block.forward.0"]


def test_module_scope_of_backward(record_model):
    model = build()
    dump = record_model(model, step_of(model), level="mix",
                        scope=["Module.second.Block.backward.0", "Module.second.Block.backward.0"])
    assert set(dump.data) == {
        "Tensor.__mul__.0.backward", "Functional.relu.1.backward", "Module.second.act.ReLU.backward.0",
        "Functional.linear.1.backward", "Module.second.inner.Linear.backward.0", "Module.second.Block.backward.0",
        "Module.second.inner.Linear.parameters_grad.0"}


def test_model_that_is_kept_by_nobody_else_goes(fresh_debugger, tmp_path):
    import gc
    import weakref

    model = build()
    debugger = fresh_debugger(dump_path=str(tmp_path / "dump"), level="L0")
    debugger.start(model)
    step_of(model)()
    debugger.stop()
    debugger.step()
    inner = weakref.ref(model.first.inner)
    model.first = Block()
    gc.collect()
    assert inner() is None


@pytest.mark.parametrize("level", ("L0", "L1", "mix"))
def test_autocast(record_model, level):
    model = build()

    def forward(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x).float()

    dump = record_model(model, step_of(model, forward), level=level)
    name = "Functional.linear.2.forward" if level == "L1" else "Module.head.Linear.forward.0"
    assert dump.data[name]["output"][0]["dtype"] == "torch.bfloat16"


@pytest.mark.parametrize("level", ("L0", "L1", "mix"))
def test_double_backward(record_model, level):
    model = build()

    def step():
        model.zero_grad(set_to_none=True)
        torch.manual_seed(5)
        x = torch.randn(3, 4, requires_grad=True)
        y = model(x).pow(2).sum()
        grad, = torch.autograd.grad(y, x, create_graph=True)
        (y + grad.pow(2).sum()).backward()

    dump = record_model(model, step, level=level)
    name = "Functional.linear.2.backward" if level == "L1" else "Module.head.Linear.backward.0"
    assert name in dump.data


def test_keys_with_one_text_or_one_file_name_are_told_apart(configured, load_dump, tmp_path):
    class Same(nn.Module):
        def forward(self, value):
            return None

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.same = Same()

        def forward(self, value):
            return self.same(value)

    debugger, model = configured("tensor", "L0"), Outer()
    debugger.start(model)
    model({"a.b": torch.tensor([1.0]), "a": {"b": torch.tensor([2.0])}, 1: torch.tensor([3.0]), "1": torch.tensor([4.0]),
           "c.d": torch.tensor([5.0])})
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    found = dump.data["Module.same.Same.forward.0"]["input_args"][0]
    tensors = [found["a.b"], found["a"]["b"], found["1"], found["1#2"], found["c.d"]]
    assert [tensor["Max"] for tensor in tensors] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [torch.load(os.path.join(dump.header["dump_data_dir"], tensor["data_name"]), weights_only=True).item()
            for tensor in tensors] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert found["c.d"]["data_name"] == "Module.same.Same.forward.0.input.0.c.d.pt"


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_models_are_copied_pickled_and_scripted_while_hooked(configured, load_dump, tmp_path, level):
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    debugger = configured(level=level)
    debugger.start(model)
    copied = copy.deepcopy(model)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    stored = io.BytesIO()
    torch.save(model, stored)
    stored.seek(0)
    loaded = torch.load(stored, weights_only=False)
    x = torch.ones(1, 2)
    expected = [other(x) for other in (copied, averaged, loaded)]
    scripted = torch.jit.script(model)
    assert all(torch.equal(model(x), other) for other in expected + [scripted(x)])
    debugger.stop()
    debugger.step()
    names = load_dump(tmp_path / "dump").names("forward.0") + load_dump(tmp_path / "dump").names("forward.1")
    assert [name for name in names if name.startswith("Module")][:2] == [
        "Module.0.Linear.forward.0", "Module.1.ReLU.forward.0"]
    assert torch.jit.script.__module__ == "torch.jit._script" and not hasattr(torch.jit.script, "__wrapped__")


def test_a_name_that_is_no_unicode_text_is_escaped(configured, load_dump, tmp_path):
    model = nn.Sequential(nn.Sequential())
    model[0].add_module("\ud800", nn.Linear(2, 2))
    debugger = configured(level="L0")
    debugger.start(model)
    model(torch.ones(1, 2))
    debugger.stop()
    debugger.step()
    assert "Module.0.\\ud800.Linear.forward.0" in load_dump(tmp_path / "dump").data


def test_an_empty_step_of_modules_says_what_is_a_record(configured, capfd):
    debugger, model = configured(level="L0"), nn.Linear(2, 2)
    debugger.start(model)
    model(torch.ones(1, 2))
    debugger.stop()
    debugger.step()
    out = capfd.readouterr().out
    assert "the model itself is no record: wrap it in another to see it" in out and "records are in" not in out
