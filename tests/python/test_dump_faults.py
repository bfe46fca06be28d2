"""Threads, forks, interrupts, disks and paths: the training goes on, and nothing that was recorded is lost or mixed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import pytest
import torch

from capabilities import needs
from msprobe.core.common.exceptions import MsprobeException

PREAMBLE = """
import os, signal, sys, threading, time, torch
from msprobe.pytorch import PrecisionDebugger
x = torch.ones(3, requires_grad=True)
"""


@pytest.fixture
def run_script(run_python, tmp_path):
    """Runs a script with the dump path as argument 1; it must end well."""

    def run(source, **environment):
        code, out, err = run_python(PREAMBLE + source, tmp_path / "dump", **environment)
        assert code == 0, err
        return out

    return run


def test_starting_and_stopping_in_different_threads(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    started, go_on = threading.Event(), threading.Event()
    left = []

    def other():
        debugger.start()
        torch.relu(torch.ones(2))
        started.set()
        go_on.wait()
        torch.abs(torch.ones(2))  # collected by the thread that has started last, so not this one
        stopped.wait()
        debugger.start()
        torch.abs(torch.ones(2))
        debugger.stop()
        left.append(torch._C._len_torch_function_stack())

    stopped = threading.Event()
    thread = threading.Thread(target=other)
    thread.start()
    started.wait()
    debugger.stop()
    debugger.start()
    torch.sin(torch.ones(2))
    go_on.set()
    torch.cos(torch.ones(2))
    debugger.stop()
    stopped.set()
    thread.join()
    names = load_dump(tmp_path).names("forward")
    assert names == ["Torch.relu.0.forward", "Torch.sin.0.forward", "Torch.cos.0.forward", "Torch.abs.0.forward"]
    assert left == [0] and torch._C._len_torch_function_stack() == 0


def test_calls_in_a_forked_child_leave_the_files_alone(run_script, load_dump, tmp_path):
    run_script("""
debugger = PrecisionDebugger(dump_path=sys.argv[1], task="tensor")
debugger.start()
y = torch.relu(x)
child = os.fork()
if child == 0:
    signal.alarm(60)
    for _ in range(5000):
        torch.sin(x)
    y.sum().backward()
    debugger.stop(); debugger.step()
    PrecisionDebugger._instance = None
    del debugger
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
y.sum().backward()
debugger.stop()
""")
    assert load_dump(tmp_path / "dump").names("forward") == ["Torch.relu.0.forward", "Tensor.sum.0.forward"]


def test_workers_of_a_data_loader(run_script, load_dump, tmp_path):
    run_script("""
class Waves(torch.utils.data.Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, i):
        return torch.sin(torch.ones(3) * i)
debugger = PrecisionDebugger(dump_path=sys.argv[1], task="tensor")
debugger.start()
for batch in torch.utils.data.DataLoader(Waves(), batch_size=4, num_workers=2):
    torch.relu(batch)
debugger.stop()
""")
    assert load_dump(tmp_path / "dump").names("forward") == ["Torch.relu.%d.forward" % i for i in range(4)]


def test_a_trainer_forked_after_the_construction_collects(run_script, load_dump, tmp_path):
    run_script("""
debugger = PrecisionDebugger(dump_path=sys.argv[1])
child = os.fork()
if child == 0:
    debugger.start(); torch.relu(x); debugger.stop(); sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
""")
    assert load_dump(tmp_path / "dump").names("forward") == ["Torch.relu.0.forward"]


@needs("set_default_device")
def test_a_default_device_may_change_while_collecting(run_script):
    assert "modes left 0\n" in run_script("""
torch.set_default_device("cpu")
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
torch.set_default_device(None)
torch.set_default_device("meta")
assert torch.ones(2).device.type == "meta"
torch.set_default_device(None)
debugger.stop()
print("modes left", torch._C._len_torch_function_stack())
""")


def test_a_reset_instance_gives_its_files_back(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    torch.relu(torch.ones(2))
    fresh_debugger._instance = None
    fresh_debugger(dump_path=str(tmp_path))
    assert torch._C._len_torch_function_stack() == 0
    assert load_dump(tmp_path).names("forward") == ["Torch.relu.0.forward"]
    fresh_debugger.start()
    torch.sin(torch.ones(2))
    fresh_debugger.stop()
    assert load_dump(tmp_path).names("forward") == ["Torch.sin.0.forward"]  # not rank_p<pid>


def test_an_operator_that_the_user_has_replaced_meanwhile_stays(fresh_debugger, tmp_path, monkeypatch):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    mine = lambda self, other: "mine"
    torch.Tensor.__matmul__ = mine
    try:
        debugger.stop()
        assert torch.Tensor.__dict__["__matmul__"] is mine
    finally:
        del torch.Tensor.__matmul__  # it was inherited


def test_ctrl_c_inside_the_tool_reaches_the_training(fresh_debugger, load_dump, tmp_path, monkeypatch):
    from msprobe.pytorch import tensor_access

    def interrupted(*unused):
        raise KeyboardInterrupt

    debugger = fresh_debugger(dump_path=str(tmp_path))
    sparse, weight = torch.eye(2).to_sparse(), torch.ones(3, 2, requires_grad=True)
    debugger.start()
    loss = torch.nn.functional.embedding(torch.tensor([1]), weight, sparse=True).sum()
    with monkeypatch.context() as patch:
        patch.setattr(tensor_access, "_value", interrupted)
        with pytest.raises(KeyboardInterrupt):
            torch.neg(sparse)
        with pytest.raises(KeyboardInterrupt):
            loss.backward()
    torch.neg(sparse)
    debugger.stop()
    dump = load_dump(tmp_path)
    assert "Torch.neg.0.forward" in dump.data and dump.errors == ""


def test_a_folder_that_cannot_be_made_is_told_once_and_the_training_goes_on(fresh_debugger, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    debugger = fresh_debugger(dump_path=str(tmp_path / "file"))
    for _ in range(3):
        debugger.start()
        torch.relu(torch.ones(2))
        debugger.stop()
        debugger.step()
    out = capsys.readouterr().out
    assert out.count("[ERROR]") == 1 and "file is a file" in out and "WARNING" not in out
    debugger.config.dump_path = str(tmp_path / "good")
    debugger.start()
    debugger.stop()
    assert (tmp_path / "good" / "step3" / "rank" / "dump.json").exists()


def test_a_folder_deleted_while_it_is_written_is_told(fresh_debugger, tmp_path, capsys):
    debugger = fresh_debugger(dump_path=str(tmp_path / "dump"))
    debugger.start()
    shutil.rmtree(tmp_path / "dump")
    torch.relu(torch.ones(2))
    debugger.stop()
    assert "was deleted" in capsys.readouterr().out
    debugger.step()
    debugger.start()
    torch.relu(torch.ones(2))
    debugger.stop()
    assert (tmp_path / "dump" / "step1" / "rank" / "dump.json").exists()


@needs("backends.cudnn.conv")
def test_mixed_precision_flags_of_torch_do_not_stop_the_start(run_script):
    run_script("""
torch.backends.cudnn.conv.fp32_precision = "ieee"
torch.backends.cudnn.rnn.fp32_precision = "tf32"
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
debugger.stop()
""")


def test_standard_output_that_fails_does_not_stop_the_training(run_script):
    run_script("""
class Broken:
    def write(self, text):
        raise RuntimeError("reentrant call")
    def flush(self):
        pass
sys.stdout = Broken()
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
debugger.stop()
""")


def test_a_log_line_that_the_terminal_cannot_show_is_escaped(run_python, tmp_path):
    source = PREAMBLE + "PrecisionDebugger(dump_path=sys.argv[1]).start()"
    out = run_python(source, tmp_path / "数", PYTHONIOENCODING="ascii")[1]
    assert "\\u6570" in out


@pytest.mark.parametrize("argument", ["config_path", "dump_path"])
def test_a_path_that_is_no_text_is_one_clear_exception(fresh_debugger, argument):
    with pytest.raises(MsprobeException, match=argument):
        fresh_debugger(**{argument: "/tmp/\udcff"})


def test_exit_without_stop_writes_backwards_that_are_incomplete(run_script, load_dump, tmp_path):
    run_script("""
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
weight = torch.ones(5, 3, requires_grad=True)
y = torch.nn.functional.linear(torch.ones(2, 2, 3, requires_grad=True), weight)
torch.autograd.grad(y.sum(), [weight], retain_graph=True)
""")
    assert "Functional.linear.0.backward" in load_dump(tmp_path / "dump").data


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_a_full_disk_keeps_what_is_written_and_does_not_fill_the_memory(run_script, load_dump, tmp_path, task):
    out = run_script("""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (400000, 400000))  # as on a full disk, a write ends early and then fails
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4
debugger = PrecisionDebugger(dump_path=sys.argv[1], task="%s")
debugger.start()
y = torch.ones(200000)
torch.neg(y)  # its file is too large
torch.neg(x)
before = resident()
for _ in range(300000 if debugger.config.task == "statistics" else 5000):
    torch.add(x, 1)
print("grown", resident() - before)
debugger.stop()
debugger.step()
""" % task)
    assert out.count("[ERROR]") <= 3 and "[ERROR]" in out
    assert int(out.split("grown ")[1].split()[0]) < 160000  # KiB; what was not written is kept up to a limit
    dump = load_dump(tmp_path / "dump")
    assert len(dump.data) > 300
    if task == "statistics":
        lost, total = map(int, re.search(r"step 0: (\d+) of (\d+) records are lost", out).groups())
        assert total - lost == len(dump.data) and "%d records are in" % len(dump.data) in out
    if task == "tensor":
        assert set(os.listdir(dump.header["dump_data_dir"])) == {
            tensor["data_name"] for record in dump.data.values() for section in ("input_args", "output")
            for tensor in record[section] if "data_name" in tensor}


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_killed_in_the_middle_of_a_step(tmp_path, task):
    source = PREAMBLE + """
debugger = PrecisionDebugger(dump_path=sys.argv[1], task=sys.argv[2])
debugger.start()
weight = torch.ones(50, 50, requires_grad=True)
for i in range(10**9):
    torch.nn.functional.linear(torch.ones(2, 2, 50), weight).sum().backward()
    if i == 1500:
        print("go", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", source, str(tmp_path), task], stdout=subprocess.PIPE, text=True)
    next(line for line in process.stdout if line.strip() == "go")
    process.send_signal(signal.SIGTERM)
    process.wait()
    folder = tmp_path / "step0" / "rank"
    records = [line.rstrip(",") for line in (folder / "dump.json").read_text().splitlines() if line.startswith('  "')]
    assert len(records) > 500
    for text in records[:-1]:
        record = json.loads("{" + text + "}")
        for section in next(iter(record.values())).values():
            for tensor in section if isinstance(section, list) else section.values():
                if task == "tensor" and tensor is not None and "data_name" in tensor:
                    assert (folder / "dump_tensor_data" / tensor["data_name"]).exists()


@pytest.mark.slow
def test_memory_is_flat_over_many_calls(run_script):
    out = run_script("""
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
def calls(n):
    for _ in range(n):
        torch.add(x, 1).sum().backward()
calls(10000)
before = resident()
calls(90000)
print("grown", resident() - before)
""")
    assert int(out.split("grown ")[1].split()[0]) < 4096


def test_tensor_files_that_could_not_be_written_are_not_counted(run_script, load_dump, tmp_path):
    out = run_script("""
import resource
debugger = PrecisionDebugger(dump_path=sys.argv[1], task="tensor")
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
debugger.start()
held = []
try:
    while True:
        held.append(open("/dev/null"))
except OSError:
    pass
for _ in range(50):
    torch.relu(x)
debugger.stop()
debugger.step()
held.clear()
""")
    files = len(os.listdir(tmp_path / "dump" / "step0" / "rank" / "dump_tensor_data"))
    assert ("%d tensor files" % files in out) if files else "tensor files of" not in out


def test_a_child_that_is_forked_late_says_why_it_collects_nothing(run_script):
    out = run_script("""
import multiprocessing
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
torch.relu(x)
debugger.stop()
debugger.step()
def train():
    for _ in range(3):
        debugger.start()
        torch.relu(x)
        debugger.stop()
        debugger.step()
child = multiprocessing.get_context("fork").Process(target=train)
child.start()
child.join()
""")
    assert out.count("nothing is collected here: this process was forked after the debugger had collected") == 1


def test_steps_that_are_never_reached_are_told_at_exit(run_script):
    out = run_script("""
debugger = PrecisionDebugger(dump_path=sys.argv[1], step=[7])
for _ in range(3):
    debugger.start()
    torch.relu(x)
    debugger.stop()
    debugger.step()
""")
    assert "nothing was collected: the configuration asks for steps from 7 on, and the training came to step 3" in out


def test_saving_outside_of_start_and_stop_is_told_once(run_script):
    out = run_script("""
class Meta(type):
    @property
    def __name__(cls):
        raise RuntimeError("no name")
class Odd(metaclass=Meta):
    pass
debugger = PrecisionDebugger(dump_path=sys.argv[1])
for _ in range(2):
    debugger.save(x, "before")
debugger.start()
debugger.save(Odd(), "odd")
debugger.save(x, "\\ud800")
debugger.stop()
""")
    assert out.count("save() is skipped: at level L1 it is to be called between start() and stop()") == 1
    assert "save() is skipped: variable cannot be looked at: RuntimeError" in out
    assert "save() is skipped: name is not valid Unicode text" in out


def test_a_log_level_that_is_none_is_told(run_script):
    assert "MSPROBE_LOG_LEVEL is abc and counts as 1" in run_script("", MSPROBE_LOG_LEVEL="abc")


def test_a_link_in_place_of_the_folder_is_told(run_script, tmp_path):
    (tmp_path / "dump" / "step0").mkdir(parents=True)
    (tmp_path / "dump" / "step0" / "rank").symlink_to(tmp_path)
    out = run_script("""
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
""")
    assert "is a link, where a folder is to be made; remove it or choose another dump_path" in out
