"""Level L2, with a stand-in for torch_npu that notes what it is asked for and writes one file per dump."""

import json
import os
import sys
import types

import pytest
import torch
import torch.nn.functional as F

from msprobe.core.common.exceptions import MsprobeException


class Device:
    def __init__(self, monkeypatch):
        self.asked = []
        self.writes = True
        self._config = None
        package = types.ModuleType("torch_npu")
        package.npu = types.SimpleNamespace(
            synchronize=lambda: None, init_dump=lambda: self.asked.append("init"), set_dump=self._set,
            finalize_dump=self._finalize)
        monkeypatch.setitem(sys.modules, "torch_npu", package)

    def _set(self, path):
        with open(path) as file:
            self._config = json.load(file)["dump"]
        self.asked.append("set")

    def _finalize(self):
        self.asked.append("finalize")
        if self.writes:
            open(os.path.join(self._config["dump_path"], "kernel.%d" % len(self.asked)), "w").close()


@pytest.fixture
def device(monkeypatch):
    return Device(monkeypatch)


def test_without_a_device_the_construction_says_so(configured, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    with pytest.raises(MsprobeException) as caught:
        configured("tensor", level="L2", list=["Functional.relu.0.forward"])
    assert "level L2" in str(caught.value) and "torch_npu" in str(caught.value) and "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "torch_npu", types.ModuleType("torch_npu"))
    with pytest.raises(MsprobeException) as caught:
        configured("tensor", level="L2", list=["Functional.relu.0.forward"])
    assert "init_dump" in str(caught.value)


def test_the_named_call_alone_runs_under_the_dump(configured, device, tmp_path, capsys):
    debugger = configured("tensor", level="L2", list=["Functional.relu.1.forward"])
    x = torch.tensor([-1.0, 2.0])
    for step in range(2):
        debugger.start()
        F.relu(x)
        assert device.asked == ["init", "set", "finalize"] * step
        assert torch.equal(F.relu(x), torch.tensor([0.0, 2.0]))
        assert device.asked == ["init", "set", "finalize"] * (step + 1)
        F.relu(x)
        debugger.stop()
        debugger.step()
        files = os.listdir(tmp_path / "dump" / ("step%d" % step))
        config = "kernel_config_%d.json" % os.getpid()
        assert config in files and len(files) == 2
        with open(tmp_path / "dump" / ("step%d" % step) / config) as file:
            assert json.load(file) == {"dump": {
                "dump_list": [], "dump_path": str(tmp_path / "dump" / ("step%d" % step)), "dump_mode": "all",
                "dump_op_switch": "on"}}
    out = capsys.readouterr().out
    assert out.count("The kernel data of Functional.relu.1.forward is dumped successfully.") == 2
    assert "WARNING" not in out and torch._C._len_torch_function_stack() == 0


@pytest.mark.parametrize("name, function", [
    ("Functional.relu.0.backward", lambda x, w: F.relu(x)),
    ("Functional.linear.0.backward", lambda x, w: F.linear(x.unsqueeze(0), w)),
])
def test_a_backward_runs_under_the_dump(configured, device, name, function):
    debugger = configured("tensor", level="L2", list=["=" + name])
    x, w = torch.randn(2, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)
    torch.autograd.backward(function(x, w).sum())
    expected, x.grad, w.grad = (x.grad, w.grad), None, None
    h = x * 1
    h.register_hook(lambda gradient: device.asked.append("inputs"))
    debugger.start()
    output = function(h, w)
    loss = (output * 1).sum()
    assert device.asked == []
    loss.backward()
    debugger.stop()
    debugger.step()
    assert device.asked[:2] == ["init", "set"] and sorted(device.asked[2:]) == ["finalize", "inputs"]
    assert torch.equal(x.grad, expected[0]) and (w.grad is None or torch.equal(w.grad, expected[1]))


def test_an_exception_of_the_call_ends_the_dump_and_passes(configured, device):
    debugger = configured("tensor", level="L2", list=["Torch.matmul.0.forward"])
    debugger.start()
    with pytest.raises(RuntimeError):
        torch.matmul(torch.ones(2, 3), torch.ones(2, 3))
    assert device.asked == ["init", "set", "finalize"]
    debugger.stop()


def test_a_device_that_dumps_nothing_or_fails_is_told(configured, device, capsys):
    debugger = configured("tensor", level="L2", list=["Torch.sin.0.forward"])
    device.writes = False
    debugger.start()
    torch.sin(torch.ones(1))
    debugger.stop()
    debugger.step()
    assert "has made no file" in capsys.readouterr().out
    sys.modules["torch_npu"].npu.init_dump = lambda: 1 / 0
    debugger.start()
    assert torch.sin(torch.zeros(1)) == 0
    debugger.stop()
    assert "the device cannot dump the kernels of Torch.sin.0.forward: ZeroDivisionError" in capsys.readouterr().out


def test_a_name_that_does_not_occur_is_told_with_its_neighbours(configured, device, capsys):
    debugger = configured("tensor", level="L2", list=["Torch.sin.7.forward"])
    debugger.start()
    torch.sin(torch.ones(1))
    debugger.stop()
    debugger.step()
    line, = [line for line in capsys.readouterr().out.splitlines() if "WARNING" in line]
    assert "Torch.sin.7.forward" in line


def test_a_configuration_of_the_user_is_handed_on(configured, device, tmp_path):
    mine = tmp_path / "acl.json"
    mine.write_text(json.dumps({"dump": {"dump_path": str(tmp_path), "dump_mode": "input"}}))
    debugger = configured("tensor", level="L2", top={"acl_config": str(mine)}, scope=["Torch.sin.0.forward"])
    debugger.start()
    torch.sin(torch.ones(1))
    debugger.stop()
    assert device._config["dump_mode"] == "input" and os.listdir(tmp_path / "dump" / "step0") == []


def test_a_call_without_a_backward_is_told(configured, device, capsys):
    debugger = configured("tensor", level="L2", list=["=Torch.atleast_1d.0.backward"])
    x = torch.randn(3, requires_grad=True)
    debugger.start()
    torch.atleast_1d(x)  # hands its input back: there is no backward
    debugger.stop()
    debugger.step()
    assert device.asked == [] and "its output has no gradient" in capsys.readouterr().out
