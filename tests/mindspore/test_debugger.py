"""The life of a debugger: examples of the user document, steps and ranks, what is refused, seeding, callbacks."""

import csv
import json
import os
import subprocess
import sys

import mindspore
import numpy as np
import pytest
from mindspore import Tensor, ops

from msprobe.core.common.exceptions import MsprobeException
from msprobe.mindspore import MsprobeInitStep, MsprobeStep, seed_all
from msprobe.mindspore.common import utils

PREAMBLE = """
import json, os, sys
import numpy as np
import mindspore as ms
from mindspore import Tensor, mint, nn, ops
from mindspore.train import Model
import mindspore.dataset as ds
ms.set_device("CPU")

def settings(folder, level, task="statistics", **keys):
    path = folder + ".json"
    with open(path, "w") as file:
        json.dump({"task": task, "dump_path": folder, "rank": [], "step": keys.pop("step", []), "level": level, task: keys}, file)
    return path

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc, self.relu, self.out = nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2)

    def construct(self, x):
        return self.out(self.relu(self.fc(x)))

def data(count=3):
    def rows():
        for i in range(count):
            yield np.full((3, 4), i, np.float32), np.zeros((3, 2), np.float32)
    return ds.GeneratorDataset(rows, ["x", "y"], shuffle=False)
"""


@pytest.fixture
def run_script(tmp_path):
    """Runs a script file, whose source MindSpore compiles, in a folder of its own; gives what it prints."""

    def run(source):
        script = tmp_path / "script.py"
        script.write_text(PREAMBLE + source)
        finished = subprocess.run([sys.executable, str(script), str(tmp_path / "dump")], capture_output=True, text=True,
                                  timeout=300, cwd=tmp_path)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    return run


def steps_of(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("step"))


def test_dynamic_graph_without_model(run_script, tmp_path, load_dump):
    run_script("""
ms.set_context(mode=ms.PYNATIVE_MODE)
from msprobe.mindspore import PrecisionDebugger
debugger = PrecisionDebugger(config_path=settings(sys.argv[1], "L0"))
net = Net()
step = ms.value_and_grad(lambda x, y: nn.MSELoss()(net(x), y), None, net.trainable_params())
for x, y in data().create_tuple_iterator():
    debugger.start(net)
    step(x, y)
    debugger.stop()
    debugger.step()
""")
    assert steps_of(tmp_path / "dump") == ["step0", "step1", "step2"]
    data = load_dump(tmp_path / "dump", step=1).data
    assert {"Cell.fc.Dense.forward.0", "Cell.out.Dense.backward.0", "Cell.fc.Dense.parameters_grad.0"} <= set(data)
    assert data["Cell.fc.Dense.forward.0"]["input_args"][0]["Max"] == 1.0


def test_dynamic_graph_with_model(run_script, tmp_path, load_dump):
    run_script("""
ms.set_context(mode=ms.PYNATIVE_MODE)
from msprobe.mindspore import PrecisionDebugger
from msprobe.mindspore.common.utils import MsprobeStep
debugger = PrecisionDebugger(config_path=settings(sys.argv[1], "L1", step=[0, 2]))
net = Net()
debugger.start(net)
model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
model.train(1, data(4), callbacks=[MsprobeStep(debugger)], dataset_sink_mode=False)
""")
    assert steps_of(tmp_path / "dump") == ["step0", "step2"]
    first, last = (load_dump(tmp_path / "dump", step=step) for step in (0, 2))
    assert [name for name in first.data if "from_numpy" not in name] == list(last.data)  # start() came before the first batch
    assert {"Primitive.matmul.MatMul.0.forward", "Jit.SGD.0.forward"} <= set(first.data)


@pytest.mark.parametrize("mode", ["GRAPH_MODE", "PYNATIVE_MODE"])
def test_level_2_with_model(run_script, tmp_path, mode):
    out = run_script("""
ms.set_context(mode=ms.%s)
from msprobe.mindspore import PrecisionDebugger
debugger = PrecisionDebugger(config_path=settings(sys.argv[1], "L2", "tensor"))
debugger.start()
net = Net()
model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
model.train(1, data(2), dataset_sink_mode=False)
print("finished")
""" % mode)
    assert "kernel_kbyk_dump.json has been created." in out and "finished" in out
    assert list((tmp_path / "dump").rglob("*.npy"))


def test_level_2_without_model_and_with_stop_and_step_in_the_loop(run_script, tmp_path):
    out = run_script("""
ms.set_context(mode=ms.PYNATIVE_MODE)
from msprobe.mindspore import PrecisionDebugger
debugger = PrecisionDebugger(config_path=settings(sys.argv[1], "L2", "tensor"))
@ms.jit
def compiled(x):
    return ops.relu(x) * 2
for x, y in data().create_tuple_iterator():
    debugger.start()
    compiled(x)
    debugger.stop()
    debugger.step()
""")
    assert out.count("has been created") == 1 and list((tmp_path / "dump").rglob("*.npy"))


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_graph_mode_refuses_what_it_cannot_record(run_script, level):
    out = run_script("""
ms.set_context(mode=ms.GRAPH_MODE)
from msprobe.mindspore import PrecisionDebugger
debugger = PrecisionDebugger(config_path=settings(sys.argv[1], "%s"))
try:
    debugger.start(Net())
except Exception as error:
    print(type(error).__name__, error)
print(Net()(Tensor(np.ones((2, 4), np.float32))).shape)
""" % level)
    assert "MsprobeException" in out and "level %s cannot be recorded in graph mode (graph_kbyk)" % level in out
    assert "(2, 2)" in out


def test_graph_mode_after_the_construction(run_script):
    out = run_script("""
ms.set_context(mode=ms.PYNATIVE_MODE)
from msprobe.mindspore import PrecisionDebugger
relu = ops.relu
debugger = PrecisionDebugger(config_path=settings(sys.argv[1], "L1"))
ms.set_context(mode=ms.GRAPH_MODE)
try:
    debugger.start(Net())
except Exception as error:
    print(error)
print(ops.relu is relu, Net()(Tensor(np.ones((2, 4), np.float32))).shape)
""")
    assert "graph mode" in out and "True (2, 2)" in out


def test_the_pipeline_is_left_out_on_request_only(run_script):
    source = """
ms.set_context(mode=ms.PYNATIVE_MODE)
from msprobe.mindspore import PrecisionDebugger
path = settings(sys.argv[1], "L1")
keys = json.load(open(path))
keys.update(%s)
json.dump(keys, open(path, "w"))
PrecisionDebugger(config_path=path)
print("synchronous", ms.get_context("pynative_synchronize"))
"""
    out = run_script(source % "{}")
    assert "pynative_synchronize is set to True" in out and "synchronous True" in out
    out = run_script(source % '{"pynative_synchronize": False}')
    assert "pynative_synchronize is set" not in out and "synchronous False" in out


def test_the_package_imports_without_a_framework_and_changes_nothing(run_python):
    code, out, err = run_python("""
import sys
sys.modules["torch"] = None
import mindspore
from mindspore import ops
relu = ops.relu
import msprobe.mindspore, msprobe.core
print("mindspore.debugger" not in str([name for name in sys.modules if name.startswith("msprobe.mindspore.")]))
from msprobe.mindspore import PrecisionDebugger
from msprobe.mindspore.debugger.precision_debugger import PrecisionDebugger as same
print(PrecisionDebugger is same, ops.relu is relu)
""")
    assert code == 0, err
    assert out.split() == ["True", "True", "True"]


def test_msprobe_core_needs_no_mindspore(run_python):
    code, _, err = run_python("import sys\nsys.modules['mindspore'] = sys.modules['torch'] = None\nimport msprobe.core, msprobe.mindspore")
    assert code == 0, err


def test_one_instance_and_a_reset(fresh_debugger, tmp_path):
    first = fresh_debugger(dump_path=str(tmp_path / "a" / "b"), level="L1", task="statistics")
    assert fresh_debugger(config_path="nowhere.json") is first
    assert (first.config.level, first.config.dump_path) == ("L1", str(tmp_path / "a" / "b"))
    fresh_debugger._instance = None
    assert fresh_debugger(dump_path=str(tmp_path), level="L0", task="statistics") is not first


def test_methods_without_an_instance_say_so(fresh_debugger):
    for method in ("start", "stop", "step"):
        with pytest.raises(MsprobeException, match="PrecisionDebugger is not created"):
            getattr(fresh_debugger, method)()


def test_segments_of_a_step_accumulate_and_stop_without_start_warns(configured, load_dump, tmp_path, capfd):
    debugger = configured()
    debugger.stop()
    assert "stop() is called without a start()" in capfd.readouterr().out
    for _ in range(2):
        debugger.start()
        ops.relu(Tensor([1.0]))
        debugger.stop()
    debugger.step()
    assert list(load_dump(tmp_path / "dump").data) == ["Functional.relu.0.forward", "Functional.relu.1.forward"]


def test_files_are_there_from_the_start(configured, tmp_path):
    debugger = configured("tensor")
    debugger.start()
    folder = tmp_path / "dump" / "step0" / "rank"
    assert json.load(open(folder / "dump.json"))["data"] == {} and json.load(open(folder / "stack.json")) == {}
    assert (folder / "dump_tensor_data").is_dir() and (folder.stat().st_mode & 0o777) == 0o750
    debugger.stop()


def test_the_end_of_all_steps_is_told_and_the_training_goes_on(configured, tmp_path, capfd):
    debugger = configured(top={"step": ["0-1"]})
    for _ in range(4):
        debugger.start()
        ops.relu(Tensor([1.0]))
        debugger.stop()
        debugger.step()
    assert capfd.readouterr().out.count("msprobe: dump has successfully ended") == 1
    assert steps_of(tmp_path / "dump") == ["step0", "step1"]


def test_a_rank_filter_without_this_rank_leaves_no_folder(configured, tmp_path):
    debugger = configured(top={"rank": [1]})
    debugger.start()
    ops.relu(Tensor([1.0]))
    debugger.stop()
    debugger.step()
    assert not steps_of(tmp_path / "dump") if (tmp_path / "dump").exists() else True


def test_a_rank_of_the_user_names_the_folder(configured, tmp_path):
    debugger = configured(top={"rank": [3]})
    debugger.start(rank_id=3)
    ops.relu(Tensor([1.0]))
    debugger.stop()
    assert (tmp_path / "dump" / "step0" / "rank3" / "dump.json").exists()


def test_a_failure_inside_the_tool_is_told_once_and_the_training_goes_on(configured, load_dump, tmp_path, monkeypatch):
    from msprobe.mindspore import tensor_access

    debugger = configured()
    debugger.start()
    monkeypatch.setattr(tensor_access, "describe", None)  # the extension holds the original
    class Raising:
        __class__ = property(lambda self: 1 / 0)
    for _ in range(3):
        ops.is_tensor((Raising(), 1))
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    assert len(dump.data) == 3 and dump.errors.count("\\n") <= 12


def test_seeding(tmp_path):
    seed_all(7, mode=True)
    first = ops.randn(3).asnumpy(), np.random.rand()
    seed_all(7)
    assert np.array_equal(first[0], ops.randn(3).asnumpy()) and np.random.rand() == first[1]
    assert mindspore.get_context("deterministic") == "OFF" and os.environ["HCCL_DETERMINISTIC"] == "False"
    for arguments in ((-1,), (1.5,), (2**32,), (True,), (1, 1), (1, False, "x")):
        with pytest.raises(MsprobeException):
            seed_all(*arguments)


def test_removed_dropout_keeps_everything(run_script):
    out = run_script("""
ms.set_context(mode=ms.PYNATIVE_MODE)
from msprobe.mindspore import seed_all
seed_all(1, rm_dropout=True)
x = Tensor(np.ones((4, 4), np.float32))
cell = nn.Dropout(p=0.5)
cell.set_train()
print((cell(x).asnumpy() == 1).all(), mint.nn.functional.dropout(x, 0.5) is x, (ops.Dropout(0.5)(x)[0].asnumpy() == 1).all())
""")
    assert "True True True" in out


def test_dropout_stays_without_asking_for_it(configured, load_dump, tmp_path):
    x = Tensor(np.ones((100,), np.float32))
    debugger = configured()
    debugger.start()
    result = ops.dropout(x, 0.5).asnumpy()
    debugger.stop()
    debugger.step()
    assert 0 < (result == 0).sum() < 100 and "Functional.dropout.0.forward" in load_dump(tmp_path / "dump").data


def test_callbacks_are_found_under_all_names():
    assert utils.MsprobeStep is MsprobeStep and utils.MsprobeInitStep is MsprobeInitStep and utils.seed_all is seed_all


@pytest.mark.parametrize("keys, expected", [
    ({"level": "L3"}, '"L3"'), ({"task": "grad_probe"}, "grad_probe"), ({"level": "mix", "task": "overflow_check"}, "overflow_check")])
def test_wrong_settings_are_one_line(fresh_debugger, tmp_path, keys, expected):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"task": "statistics", "level": "L1", "dump_path": str(tmp_path / "dump"), **keys}))
    with pytest.raises(MsprobeException, match=expected):
        fresh_debugger(str(path))


@pytest.mark.parametrize("mode", ["GRAPH_MODE", "PYNATIVE_MODE"])
def test_level_2_with_statistics_makes_them_from_the_tensors(run_script, tmp_path, mode):
    out = run_script("""
ms.set_context(mode=ms.%s)
from msprobe.mindspore import PrecisionDebugger
debugger = PrecisionDebugger(config_path=settings(sys.argv[1], "L2"))
debugger.start()
net = Net()
model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
model.train(1, data(3), dataset_sink_mode=False)
print("finished")
""" % mode)
    assert "finished" in out and "statistic.csv" in out
    tables = sorted((tmp_path / "dump").rglob("statistic.csv"))
    assert len(tables) == 3 and not list((tmp_path / "dump").rglob("*.npy"))
    with open(tables[0], newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows and all(float(row["Max Value"]) >= float(row["Min Value"]) for row in rows if row["Max Value"])
    assert {"Op Type", "Op Name", "IO", "Slot", "Data Type", "Shape", "Avg Value", "L2Norm Value"} <= set(rows[0])


def test_level_2_after_a_graph_has_run_is_refused(run_script):
    out = run_script("""
ms.set_context(mode=ms.GRAPH_MODE)
from msprobe.mindspore import PrecisionDebugger
debugger = PrecisionDebugger(config_path=settings(sys.argv[1], "L2", "tensor"))
net = Net()
net(Tensor(np.ones((2, 4), np.float32)))
try:
    debugger.start()
except Exception as error:
    print(error)
""")
    assert "has compiled a graph already and would ignore the dump: call start() before the first step" in out


def test_a_path_that_mindspore_would_fail_on_is_refused_at_construction(fresh_debugger, tmp_path):
    with pytest.raises(MsprobeException, match="letters, digits, '_', '-' and '/' alone; .* holds '.'"):
        fresh_debugger(dump_path=str(tmp_path / "v1.0"), level="L2", task="tensor")


@pytest.mark.parametrize("jit_level, name", [("O0", "kernel_kbyk_dump.json"), ("O1", "kernel_kbyk_dump.json"),
                                             ("O2", "kernel_graph_dump.json")])
def test_files_of_the_kernel_dump(run_script, tmp_path, jit_level, name):
    out = run_script("""
ms.set_context(mode=ms.GRAPH_MODE, jit_level="%s")
from msprobe.mindspore import PrecisionDebugger
path = settings(sys.argv[1], "L2", "tensor", step=[2, 0], list=["name-regex(Default/.+)"], data_mode=["output"], file_format="bin")
keys = json.load(open(path))
keys["rank"] = [1, 0]
json.dump(keys, open(path, "w"))
os.environ["MS_ACL_DUMP_CFG_PATH"] = "old"
PrecisionDebugger(config_path=path).start()
print("variables", os.environ["MINDSPORE_DUMP_CONFIG"], os.environ.get("MS_ACL_DUMP_CFG_PATH"))
""" % jit_level)
    path = tmp_path / "dump" / name
    assert "variables %s None" % path in out
    document = json.loads(path.read_text())
    common = {"dump_mode": 1, "path": str(tmp_path / "dump"), "net_name": "Net", "iteration": "2|0", "saved_data": "tensor",
              "input_output": 2, "kernels": ["name-regex(Default/.+)"], "support_device": [1, 0]}
    if jit_level == "O2":
        common.update({"op_debug_mode": 0, "file_format": "bin"})
        assert document == {"common_dump_settings": common}
    else:
        assert document == {"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}}
    assert list(document["common_dump_settings"]) == list(common)
    assert path.read_text().startswith('{\n    "common_dump_settings": {\n        "dump_mode": 1,')


def test_a_regular_expression_that_is_none_is_refused(fresh_debugger, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"task": "tensor", "level": "L2", "dump_path": "/tmp/msprobe_unused", "tensor": {
        "list": ["name-regex(a(b)"]}}))
    with pytest.raises(ValueError, match="whose regular expression cannot be used"):
        fresh_debugger(str(path))
