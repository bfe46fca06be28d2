"""What is recorded: list, scope, tensor_list, risk_level, overlays of the support list, tasks overflow_check and structure."""

import json

import pytest
import torch
import torch.nn.functional as F
from msprobe.core.common.exceptions import MsprobeException


def calls():
    x = torch.ones(2, 3, requires_grad=True)
    y = F.leaky_relu(F.relu(torch.add(x, 1.0)))
    torch.mul(y, F.relu(y)).sum().backward()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.block(x) * 2.0)


def run(net):
    return lambda: net(torch.ones(2, 3)).sum().backward()


@pytest.mark.parametrize("element, names", [
    ("=relu", ["Functional.relu.0", "Functional.relu.1"]),
    ("=Functional.relu.1", ["Functional.relu.1"]),
    ("re:^Torch\\.(add|mul)\\.", ["Torch.add.0", "Torch.mul.0"]),
    ("relu", ["Functional.relu.0", "Functional.leaky_relu.0", "Functional.relu.1"]),
])
def test_forms_of_list_elements(record, element, names):
    dump = record(calls, list=[element])
    assert [name[:-len(".forward")] for name in dump.names("forward")] == names
    assert sorted(name[:-len(".backward")] for name in dump.names("backward")) == sorted(names)


def test_an_expression_that_cannot_be_used_is_refused_at_construction(configured):
    with pytest.raises(MsprobeException, match=r'"statistics.list" holds "re:\(", which is no usable regular expression'):
        configured(list=["re:("])


def test_what_matched_is_told_once_at_the_end(configured, capfd):
    debugger = configured(list=["rellu", "relu"], top={"step": [0, 1]})
    for _ in range(3):
        debugger.start()
        calls()
        debugger.stop()
        debugger.step()
    told = capfd.readouterr().out
    assert told.count('list: "rellu" matched no record; the nearest that occurred: "Functional.relu"') == 1
    assert told.count('list: "relu" matched 12 records: Functional.relu (8), Functional.leaky_relu (4)') == 1


def test_a_scope_that_never_begins_is_told_at_exit(run_python, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"dump_path": str(tmp_path / "dump"),
                                  "statistics": {"scope": ["Torch.add.7.forward", "Torch.mul.0.forward"]}}))
    code, out, err = run_python(
        "import sys, torch\nfrom msprobe.pytorch import PrecisionDebugger\n"
        "d = PrecisionDebugger(sys.argv[1]); d.start(); torch.add(torch.ones(2), 1); d.stop()", config)
    assert code == 0, err
    told = (out + err).splitlines()
    assert sum('scope: "Torch.add.7.forward" never occurred, so no record was kept; "Torch.add" occurred with the number 0'
               in line for line in told) == 1


def test_a_scope_of_modules_holds_what_runs_inside(record):
    net = Net()
    dump = record(run(net), level="mix", model=net,
                  scope=["Module.block.Sequential.forward.0", "Module.block.Sequential.forward.0"])
    assert list(dump.data) == ["Functional.linear.0.forward", "Module.block.0.Linear.forward.0", "Functional.relu.0.forward",
                               "Module.block.1.ReLU.forward.0", "Module.block.Sequential.forward.0"]


def test_at_mix_a_listed_module_is_expanded(record):
    net = Net()
    dump = record(run(net), level="mix", model=net, list=["=block.0"], data_mode=["forward"])
    assert list(dump.data) == ["Functional.linear.0.forward", "Module.block.0.Linear.forward.0"]


def test_tensor_list_saves_tensors_of_what_it_names(record, tmp_path):
    dump = record(calls, tensor_list=["=mul"])
    files = sorted(path.name for path in (tmp_path / "dump/step0/rank/dump_tensor_data").iterdir())
    assert files and all(name.startswith("Torch.mul.0.") for name in files)
    assert {name.split(".")[3] for name in files} == {"forward", "backward"}
    assert len(dump.names("forward")) > 3
    assert "data_name" not in json.dumps(dump.data["Torch.add.0.forward"])


def test_risk_levels(configured, load_dump, tmp_path):
    debugger = configured(top={"risk_level": "CORE"})
    debugger.start()
    F.linear(torch.ones(2, 3), torch.ones(4, 3)).view(8)
    debugger.stop()
    debugger.step()
    assert list(load_dump(tmp_path / "dump").data) == ["Functional.linear.0.forward"]


def test_overlays_of_the_support_list(configured, load_dump, tmp_path, monkeypatch):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("torch:\n  - 'special.*'\n  - -special.erf\n  - -add\n")
    environment = tmp_path / "more.yaml"
    environment.write_text("tensor:\n  - is_contiguous\n  - nothing_of_this_name\n")
    monkeypatch.setenv("MSPROBE_SUPPORT_LIST", str(environment))
    debugger = configured(top={"support_list": str(overlay)})
    debugger.start()
    x = torch.ones(2)
    torch.add(x, 1.0)
    torch.special.erf(x)
    torch.special.entr(x)
    x.is_contiguous()
    debugger.stop()
    debugger.step()
    assert list(load_dump(tmp_path / "dump").data) == ["Torch.special.entr.0.forward", "Tensor.is_contiguous.0.forward"]


def overflowing():
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    y = torch.add(x, 1.0)
    torch.log(torch.mul(x, y)).sum().backward()


def test_overflow_check_keeps_what_is_not_finite_with_its_tensors(record, tmp_path):
    dump = record(overflowing, task="overflow_check", overflow_nums=-1)
    forward = dump.names("forward")
    assert forward == ["Torch.log.0.forward", "Tensor.sum.0.forward"]
    assert "Torch.log.0.backward" in dump.names("backward") and "Tensor.sum.0.backward" not in dump.data
    files = {path.name for path in (tmp_path / "dump/step0/rank/dump_tensor_data").iterdir()}
    assert all(name.startswith(tuple(dump.data)) for name in files)
    described = dump.data["Torch.log.0.forward"]["input_args"][0]
    assert torch.equal(torch.load(tmp_path / "dump/step0/rank/dump_tensor_data" / described["data_name"]),
                       torch.tensor([2.0, 0.0]))


def test_overflow_check_ends_collecting_but_not_the_training(configured, load_dump, tmp_path, capfd):
    debugger = configured("overflow_check", overflow_nums=2)
    for _ in range(3):
        debugger.start()
        overflowing()
        debugger.stop()
        debugger.step()
    assert list(load_dump(tmp_path / "dump").data) == ["Torch.log.0.forward", "Tensor.sum.0.forward"]
    assert not (tmp_path / "dump" / "step1").exists()
    assert capfd.readouterr().out.count("dump has successfully ended; as many overflows as asked for are collected") == 1


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_structure_has_names_and_hierarchy_alone(record, level):
    net = Net()
    dump = record(run(net), task="structure", level=level, model=net)
    values = record(run(net), level=level, model=net)
    assert list(dump.data) == list(values.data)
    assert all(content == {} for content in dump.data.values())
    assert dump.construct == values.construct and dump.stack.keys() == values.stack.keys()
    assert dump.header["task"] == "structure"


@pytest.mark.parametrize("mode, forward, backward, gradients", [
    (["all"], {"input_args", "input_kwargs", "parameters", "output"}, {"input", "output"}, True),
    (["forward"], {"input_args", "input_kwargs", "parameters", "output"}, None, False),
    (["backward"], None, {"input", "output"}, True),
    (["input"], {"input_args", "input_kwargs", "parameters"}, {"input"}, False),
    (["output"], {"output"}, {"output"}, True),
    (["forward", "input"], {"input_args", "input_kwargs", "parameters"}, None, False),
    (["backward", "output"], None, {"output"}, True),
    (["forward", "backward", "input"], {"input_args", "input_kwargs", "parameters"}, {"input"}, False),
])
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_data_mode_keeps_direction_and_side_of_modules(record, level, mode, forward, backward, gradients):
    net = Net()
    dump = record(run(net), level=level, model=net, data_mode=mode)

    def sections(direction):
        found = [set(content) for name, content in dump.data.items()
                 if name.startswith("Module.head.Linear." + direction)]
        return found[0] if found else None

    assert sections("forward") == forward
    assert sections("backward") == backward
    assert (sections("parameters_grad") is not None) == gradients
    assert dump.stack.keys() <= dump.data.keys() or not dump.data
    hooked = net.head.weight._backward_hooks
    assert not hooked


def test_functions_in_no_list_are_told_on_request(configured, capfd, monkeypatch):
    monkeypatch.setenv("MSPROBE_REPORT_UNLISTED", "1")
    debugger = configured(top={"step": [0, 1]})
    x = torch.ones(2, 3, requires_grad=True)
    for _ in range(2):
        debugger.start()
        x.grad, x.shape, x.size()  # properties and what gives no tensor
        for _ in range(3):
            torch.add(torch.Tensor.requires_grad_(x), 1).sum().backward()
        debugger.stop()
        debugger.step()
    told = [line for line in capfd.readouterr().out.splitlines() if "not in the support list" in line]
    assert len(told) == 1
    assert told[0].endswith("(an overlay adds them): torch.Tensor.requires_grad_ (3 calls)")


def test_functions_in_no_list_are_not_told_otherwise(configured, capfd):
    debugger = configured()
    debugger.start()
    torch.ones(2).requires_grad_()
    debugger.stop()
    debugger.step()
    assert "not in the support list" not in capfd.readouterr().out
