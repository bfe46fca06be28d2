"""Several processes: ranks of a cluster on a CPU, processes that are killed, that fail, or that share a folder."""

import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

from dump_files import Dump

WORKER = """
import json, os, sys
import numpy as np
import mindspore as ms
from mindspore import Tensor, communication, mint, nn, ops
from msprobe.mindspore import PrecisionDebugger

ms.set_device("CPU")
folder = sys.argv[1]

def debugger(name, level, **keys):
    path = "%s/%s%d.json" % (folder, name, os.getpid())
    with open(path, "w") as file:
        json.dump({"task": "statistics", "level": level, "dump_path": folder + "/" + name, "statistics": {}, **keys}, file)
    PrecisionDebugger._instance = None
    return PrecisionDebugger(path)

early = debugger("early", "mix")  # before the rank is known
communication.init()
rank = communication.get_rank()
net = nn.SequentialCell(nn.Dense(4, 4), nn.ReLU())
gradients = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
x = Tensor(np.full((2, 4), rank + 1, np.float32))

def step(debugger):
    debugger.start(net)
    gradients(x)
    y = ops.relu(x)
    mint.distributed.all_reduce(y)
    debugger.stop()
    debugger.step()
    return y.asnumpy().max().item()

sums = [step(early), step(early)]
sums.append(step(debugger("filtered", "mix", rank=[1])))
sums.append(step(debugger("nobody", "L1", rank=[7])))
sums.append(step(debugger("tensors", "L1", task="tensor", tensor={})))
late = debugger("text", "L0", rank=["0-1"])
sums.append(step(late))
with open("%s/facts%d" % (folder, rank), "w") as file:
    json.dump(sums, file)
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The folder that two processes of one run leave."""
    folder = tmp_path_factory.mktemp("cluster")
    script = folder / "worker.py"
    script.write_text(WORKER)
    finished = subprocess.run(
        [sys.executable, "-m", "mindspore.parallel.cluster.run", "--worker_num=2", "--local_worker_num=2",
         "--master_port=%d" % free_port(), "--log_dir=%s" % (folder / "logs"), "--join=True", str(script), str(folder)],
        capture_output=True, text=True, timeout=300, cwd=folder,
        env={**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]})
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_every_rank_has_its_own_folder_with_its_own_records(cluster):
    for step in (0, 1):
        assert sorted(os.listdir(cluster / "early" / ("step%d" % step))) == ["rank0", "rank1"]
        dumps = [Dump(cluster / "early" / ("step%d" % step) / ("rank%d" % rank)) for rank in (0, 1)]
        assert list(dumps[0].data) == list(dumps[1].data) and len(dumps[0].data) > 10
        for rank, dump in enumerate(dumps):
            assert dump.errors == ""
            assert dump.data["Cell.0.Dense.forward.0"]["input_args"][0]["Max"] == rank + 1.0
            assert dump.data["Functional.relu.0.forward"]["output"][0]["Max"] == rank + 1.0
    assert sorted(os.listdir(cluster / "early")) == ["step0", "step1"]


@pytest.mark.slow
def test_collective_calls_are_recorded_with_what_goes_in_and_the_training_gets_what_comes_out(cluster):
    for rank in (0, 1):
        assert json.loads((cluster / ("facts%d" % rank)).read_text()) == [3.0] * 6
        record = Dump(cluster / "early" / "step0" / ("rank%d" % rank)).data["MintDistributed.all_reduce.0.forward"]
        assert record["input_args"][0]["Max"] == rank + 1.0


@pytest.mark.slow
def test_a_rank_list_leaves_the_ranks_that_are_in_it(cluster):
    assert os.listdir(cluster / "filtered" / "step0") == ["rank1"]
    assert Dump(cluster / "filtered" / "step0" / "rank1").data["Cell.0.Dense.forward.0"]["input_args"][0]["Max"] == 2.0
    assert not (cluster / "nobody" / "step0").exists()
    assert sorted(os.listdir(cluster / "text" / "step0")) == ["rank0", "rank1"]


@pytest.mark.slow
def test_saved_tensors_lie_with_their_rank(cluster):
    for rank in (0, 1):
        folder = cluster / "tensors" / "step0" / ("rank%d" % rank) / "dump_tensor_data"
        assert (np.load(folder / "Functional.relu.0.forward.input.0.npy") == rank + 1).all()
        assert str(folder) == Dump(folder.parent).header["dump_data_dir"]


ENDLESS = """
import json, sys
import numpy as np, mindspore as ms
from mindspore import Tensor, nn, ops
from msprobe.mindspore import PrecisionDebugger

ms.set_device("CPU")
folder, level, task = sys.argv[1:]
json.dump({"task": task, "level": level, "dump_path": folder, task: {}}, open(folder + ".json", "w"))
debugger = PrecisionDebugger(folder + ".json")
net = nn.SequentialCell(nn.Dense(4, 4), nn.ReLU())
step = ms.value_and_grad(lambda x: ops.abs(net(x)).sum(), None, net.trainable_params())
x = Tensor(np.ones((2, 4), np.float32))
debugger.start(net)
i = 0
while True:
    step(x)
    i += 1
    if i == 400:
        print("go", flush=True)
"""


def complete_records(folder):
    """The records of a file that breaks off: its complete lines but the last one."""
    lines = [line for line in (folder / "dump.json").read_text().splitlines() if line.startswith('  "')]
    return {name: record for line in lines[:-1] for name, record in json.loads("{" + line.rstrip(",") + "}").items()}


@pytest.mark.parametrize("level, task", [("L0", "statistics"), ("L1", "statistics"), ("mix", "statistics"), ("mix", "tensor")])
def test_kill_9_leaves_what_was_complete(level, task, tmp_path):
    folder = tmp_path / "dump"
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(folder), level, task], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.strip() == "go":
            break
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    rank = folder / "step0" / "rank"
    records = complete_records(rank)
    assert len(records) > 400
    for direction in ("forward", "backward"):
        wanted = "Cell.1.ReLU.%s." % direction if level == "L0" else "Functional.abs."
        assert len([name for name in records if name.startswith(wanted) and direction in name]) > 100
    if task == "tensor":
        names = [entry["data_name"] for name, record in records.items() if name.startswith("Functional.abs.") and ".forward" in name
                 for entry in record["input_args"]]
        assert names and all(np.load(rank / "dump_tensor_data" / name).shape == (2, 4) for name in names)


@pytest.mark.parametrize("ending, code", [("raise ZeroDivisionError('mine')", 1), ("sys.exit(3)", 3)])
def test_a_process_that_ends_in_a_step_leaves_complete_files(ending, code, run_python, load_dump, tmp_path):
    found, out, err = run_python(
        "import sys, mindspore\n"
        "from mindspore import Tensor, nn, ops\n"
        "mindspore.set_device('CPU')\n"
        "from msprobe.mindspore import PrecisionDebugger\n"
        "debugger = PrecisionDebugger(dump_path=sys.argv[1], level='mix')\n"
        "net = nn.SequentialCell(nn.ReLU())\n"
        "debugger.start(net)\n"
        "ops.abs(net(Tensor([1.0])))\n" + ending, tmp_path / "dump")
    assert found == code, err
    assert list(load_dump(tmp_path / "dump").data) == [
        "Primitive.relu.ReLU.0.forward", "Cell.0.ReLU.forward.0", "Functional.abs.0.forward"]


# MindSpore makes rows in processes of its own, or, where it sees the name of its functions in the source, on a thread.
@pytest.mark.parametrize("function, forked", [("getattr(mindspore, 'op' + 's').relu", True), ("mindspore.ops.relu", False)])
def test_what_workers_of_a_data_set_compute_is_not_recorded(function, forked, load_dump, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, threading\n"
        "import numpy as np, mindspore\n"
        "import mindspore.dataset as ds\n"
        "from mindspore import Tensor\n"
        "from msprobe.mindspore import PrecisionDebugger\n"
        "main = os.getpid()\n"
        "class Rows:\n"
        "    def __getitem__(self, i):\n"
        "        assert threading.current_thread() is not threading.main_thread() or os.getpid() != main\n"
        "        print('FORKED', os.getpid() != main, flush=True)\n"
        "        return %s(Tensor(np.full(2, i, np.float32))).asnumpy()\n"
        "    def __len__(self):\n"
        "        return 4\n"
        "mindspore.set_device('CPU')\n"
        "debugger = PrecisionDebugger(dump_path=sys.argv[1], level='L1')\n"
        "data = ds.GeneratorDataset(Rows(), ['x'], shuffle=False, num_parallel_workers=2, python_multiprocessing=True)\n"
        "debugger.start()\n"
        "print('SUM', sum(mindspore.ops.abs(x).sum().item() for x, in data.create_tuple_iterator(num_epochs=1)))\n"
        "debugger.stop()\n"
        "debugger.step()\n" % function)
    finished = subprocess.run([sys.executable, str(script), str(tmp_path / "dump")], capture_output=True, text=True, timeout=120,
                              cwd=tmp_path)
    assert finished.returncode == 0 and "SUM 12.0" in finished.stdout, finished.stdout + finished.stderr
    assert "FORKED %s" % forked in finished.stdout
    assert os.listdir(tmp_path / "dump" / "step0") == ["rank"]
    names = [name for name in load_dump(tmp_path / "dump").names("forward") if name.startswith("Functional.")]
    assert names == ["Functional.abs.%d.forward" % i for i in range(4)]


def test_two_processes_without_a_rank_do_not_share_a_folder(tmp_path):
    script = (
        "import sys, mindspore\n"
        "from mindspore import Tensor, ops\n"
        "mindspore.set_device('CPU')\n"
        "from msprobe.mindspore import PrecisionDebugger\n"
        "debugger = PrecisionDebugger(dump_path=sys.argv[1], level='L1')\n"
        "debugger.start()\n"
        "ops.relu(Tensor([float(sys.argv[2])]))\n"
        "print('go', flush=True)\n"
        "sys.stdin.readline()\n"
        "debugger.stop()\n"
        "debugger.step()\n")
    processes = []
    for number in (1, 2):
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "dump"), str(number)], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        processes.append(process)
        for line in process.stdout:
            if line.strip() == "go":
                break
    for process in processes:
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
    folders = ["rank", "rank_p%d" % processes[1].pid]
    assert sorted(os.listdir(tmp_path / "dump" / "step0")) == folders
    values = [Dump(tmp_path / "dump" / "step0" / folder).data["Functional.relu.0.forward"]["output"][0]["Max"] for folder in folders]
    assert values == [1.0, 2.0]
