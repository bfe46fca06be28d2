"""Calls of torch.distributed, rank folders, and training on two processes (gloo on the CPU)."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
import torch

from capabilities import has
from dump_files import Dump

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available()
    if has("distributed.is_gloo_available") else not torch.distributed.is_available(),
    reason="this torch has no gloo")

HERE = os.path.dirname(os.path.abspath(__file__))


def run_ranks(worker, folder, *arguments, **environment):
    """Runs `worker` (a file, or source text) as ranks 0 and 1; both must end well. Returns their standard outputs."""
    command = [sys.executable, worker] if worker.endswith(".py") else [sys.executable, "-c", worker]
    logs = [[folder / ("%s%d.log" % (name, rank)) for name in ("out", "err")] for rank in range(2)]
    processes = []
    try:
        for rank, (out, err) in enumerate(logs):  # files: a full pipe of one would stop both
            processes.append(subprocess.Popen(
                [*command, str(folder), str(rank), *arguments], stdout=out.open("w"), stderr=err.open("w"),
                env={**os.environ, "OMP_NUM_THREADS": "1", **environment}))
        for process in processes:
            process.wait(timeout=120)
    finally:
        for process in processes:
            process.kill()
    for process, (_, err) in zip(processes, logs):
        assert process.returncode == 0, err.read_text()[-4000:]
    return [out.read_text() for out, _ in logs]


def configure(folder, **keys):
    config = {"task": "tensor", "dump_path": str(folder / "dump"), "tensor": {}, **keys}
    (folder / "config.json").write_text(json.dumps(config))


SCENARIOS = ["in_place", "asynchronous", "batch", "futures", "left_alone", "many_without_wait", "nested", "identity", "values",
             "ordinary"]
_MODULES = {"functional_collectives": "torch.distributed._functional_collectives", "sharded": "torch.distributed.tensor"}
SCENARIOS += [name for name, module in _MODULES.items() if importlib.util.find_spec(module)]


def _is_new():
    return "functional_collectives" in SCENARIOS


class Ran:
    def __init__(self, folder, load):
        self.folder = folder
        self.facts = [json.loads((folder / ("facts%d.json" % rank)).read_text()) for rank in range(2)]
        self._load = load

    def dump(self, scenario, rank=0):
        dump = self._load(self.folder / "dump", self.facts[rank][scenario]["step"], "rank%d" % rank)
        assert dump.errors == ""
        return dump


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("distributed")
    (folder / "more.yaml").write_text("distributed:\n  - get_process_group_ranks\n")
    configure(folder, support_list=[str(folder / "more.yaml")])
    run_ranks(os.path.join(HERE, "distributed_worker.py"), folder, *SCENARIOS)
    return Ran(folder, lambda path, step, rank: Dump(os.path.join(path, "step%d" % step, rank)))


def marked(data):
    """The records of distributed calls and of the marks that a scenario sets between them."""
    return [name for name in data if name.startswith(("Distributed", "Torch.relu", "Torch.abs"))]


def extremes(element):
    return element["Min"], element["Max"]


def test_inputs_are_from_before_the_call_and_outputs_from_after_it(ran):
    data = ran.dump("in_place").data
    record = data["Distributed.all_reduce.0.forward"]
    assert extremes(record["input_args"][0]) == (0, 2) and record["input_kwargs"] == {}
    assert [extremes(element) for element in record["output"]] == [(1, 5)]
    record = data["Distributed.broadcast.0.forward"]
    assert record["input_args"] == [] and list(record["input_kwargs"]) == ["tensor", "src"]
    assert extremes(record["output"][0]) == (1, 5) and record["output"][1] == {"type": "int", "value": 1}


def test_functions_bound_before_start_are_recorded(ran):
    record = ran.dump("in_place").data["Distributed.all_reduce.1.forward"]
    assert record["input_kwargs"]["op"]["value"].endswith("MAX")


@pytest.mark.parametrize("name, place", [
    ("all_gather.0", ("input_args", 0)), ("all_gather.1", ("input_kwargs", "tensor_list")),
    ("all_gather_into_tensor.0", ("input_args", 0))])
def test_buffers_to_be_filled_are_null_however_they_are_passed(ran, name, place):
    data = ran.dump("in_place").data
    if "into_tensor" in name and "Distributed.%s.forward" % name not in data and not _is_new():
        pytest.skip("gloo of this torch has no all_gather_into_tensor")
    record = data["Distributed.%s.forward" % name]
    assert record[place[0]][place[1]] is None
    filled = [part for part in record["output"] if isinstance(part, list)] or [record["output"][:1]]
    assert all("data_name" in tensor and tensor["Max"] == 5 for tensor in filled[0])


def test_the_receiving_side_is_null_before_and_full_after(ran):
    sent = ran.dump("in_place").data["Distributed.send.0.forward"]
    received = ran.dump("in_place", rank=1).data["Distributed.recv.0.forward"]
    assert received["input_args"] == [None, {"type": "int", "value": 0}]
    assert extremes(received["output"][0]) == extremes(sent["input_args"][0])


def test_asynchronous_calls_are_recorded_when_the_user_learns_of_their_completion(ran):
    dump = ran.dump("asynchronous")
    assert ran.facts[0]["asynchronous"]["watched"] == 3
    assert ran.facts[0]["asynchronous"]["values"] == [[1, 3, 5]] * 3
    assert marked(dump.data)[:4] == [
        "Torch.relu.0.forward", "Distributed.all_reduce.1.forward", "Distributed.all_reduce.0.forward",
        "Distributed.all_reduce.2.forward"]
    for number in range(3):
        record = dump.data["Distributed.all_reduce.%d.forward" % number]
        assert extremes(record["input_args"][0]) == (0, 2) and extremes(record["output"][0]) == (1, 5)
    assert dump.data["Distributed.all_reduce.0.forward"]["output"][3] == {"type": "bool", "value": True}
    assert dump.data["Distributed.isend.0.forward"]["output"] == [None, {"type": "int", "value": 1}]
    received = ran.dump("asynchronous", rank=1).data["Distributed.irecv.0.forward"]
    assert received["input_args"][0] is None and extremes(received["output"][0]) == (1, 5)


def test_a_stack_is_that_of_the_call(ran):
    frames = ran.dump("asynchronous").stack["Distributed.all_reduce.1.forward"]
    assert "in asynchronous" in frames[0] and "async_op=True" in frames[0]


def test_a_batch_is_one_record_after_its_last_wait(ran):
    dump = ran.dump("batch")
    assert marked(dump.data) == [
        "Torch.relu.0.forward", "Distributed.batch_isend_irecv.0.forward", "Torch.abs.0.forward"]
    assert ran.facts[0]["batch"]["received"] == [1, 2, 3]


def test_point_to_point_operations_hold_their_tensor(ran):
    dump = ran.dump("batch")
    record = dump.data["Distributed.batch_isend_irecv.0.forward"]
    (sends, receives), = record["input_args"]
    assert list(sends) == ["class_type", "tensor", "op", "peer", "tag", "group_id"]
    assert (sends["class_type"], sends["op"], sends["peer"], sends["tag"]) == ("torch.distributed.P2POp", "isend", 1, 0)
    assert sends["tensor"]["data_name"] == "Distributed.batch_isend_irecv.0.forward.input.0.0.tensor.pt"
    assert (receives["op"], receives["tensor"]) == ("irecv", None)
    (sent, received), = record["output"]
    assert extremes(sent["tensor"]) == (0, 2) and extremes(received["tensor"]) == (1, 3)
    for name in (sends["tensor"]["data_name"], received["tensor"]["data_name"]):
        assert os.path.exists(os.path.join(dump.folder, "dump_tensor_data", name))


def test_futures_and_their_callbacks_tell_of_the_completion(ran):
    data = ran.dump("futures").data
    assert ran.facts[0]["futures"]["seen"] == [[2, 6, 10]]
    assert [extremes(data["Distributed.all_reduce.%d.forward" % n]["output"][0]) for n in range(2)] == [(1, 5), (2, 10)]


def test_handles_that_nobody_waits_for(ran):
    facts, data = ran.facts[0]["left_alone"], ran.dump("left_alone").data
    names = marked(data)
    # Dropped: at once; waited for after stop: then; kept until the step ends: at its end.
    assert names == ["Distributed.all_reduce.1.forward", "Torch.relu.0.forward", "Distributed.all_reduce.2.forward",
                     "Distributed.all_reduce.0.forward"]
    assert data[names[0]]["output"] == [None, None] and data[names[3]]["output"] == [None, None]
    assert extremes(data[names[2]]["output"][0]) == (1, 5)
    assert facts["freed"] and facts["x"] == [1, 3, 5]


def test_nothing_is_kept_while_nothing_is_collected(ran):
    assert ran.facts[0]["many_without_wait"]["watched"] == 0


def test_only_outermost_calls_are_recorded(ran):
    data = ran.dump("nested").data
    # Of all_gather_object, which is in no list, the calls that it makes; of those, nothing that they call of torch.
    assert [name for name in data if "gelu" in name or "Distributed" in name] == [
        "Functional.gelu.0.forward", "Distributed.all_reduce.0.forward", "Distributed.all_gather.0.forward",
        "Distributed.all_gather.1.forward"]
    assert not any("is_complex" in name or "numel" in name for name in data)
    assert ran.facts[0]["nested"]["gathered"] == [{"rank": 0}, {"rank": 1}]


def test_functions_stay_what_they_are(ran):
    facts, data = ran.facts[0]["identity"], ran.dump("identity").data
    assert facts["failure"] and "nobody_takes_this" in facts["message"]
    # A call that raises gives its number back.
    assert marked(data) == ["Distributed.all_reduce.0.forward"]


def test_a_function_that_is_added_to_the_list(ran):
    data = ran.dump("ordinary").data
    assert list(data) == ["Distributed.get_process_group_ranks.%d.forward" % n for n in range(2)]
    group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "77849d8c"}
    assert data["Distributed.get_process_group_ranks.1.forward"] == {
        "input_args": [], "input_kwargs": {"group": group},
        "output": [[{"type": "int", "value": 0}, {"type": "int", "value": 1}]]}
    assert ran.facts[0]["ordinary"]["ranks"] == [[0, 1], [0, 1]]


def test_groups_and_reduce_operations(ran):
    data = ran.dump("values").data
    record = data["Distributed.all_reduce.0.forward"]
    assert record["input_args"][1] == {"type": "torch.distributed.ReduceOp", "value": "RedOpType.MIN"}
    assert record["input_kwargs"]["group"] == {
        "type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "77849d8c"}  # CRC-32 of "[0, 1]"
    record = data["Distributed.all_reduce.1.forward"]
    assert record["input_args"][1]["value"] == "RedOpType.MAX" and record["input_args"][2]["group_ranks"] == [0, 1]


@pytest.mark.skipif("functional_collectives" not in SCENARIOS, reason="this torch has no functional collectives")
def test_functional_collectives_are_not_made_to_wait(ran):
    facts, data = ran.facts[0]["functional_collectives"], ran.dump("functional_collectives").data
    assert facts == {"waited": False, "values": [1, 3, 5], "step": facts["step"]}
    element = data["Tensor.unsqueeze.0.forward"]["input_args"][0]
    assert element["type"].endswith("AsyncCollectiveTensor") and element["Max"] is None and "data_name" not in element


@pytest.mark.skipif("sharded" not in SCENARIOS, reason="this torch has no distributed tensors")
def test_distributed_tensors_show_their_local_part(ran):
    data = ran.dump("sharded", rank=1).data
    split = data["Torch.relu.0.forward"]["input_args"][0]
    assert split["type"] == "torch.distributed.tensor.DTensor"
    assert extremes(split) == (4, 7) and split["shape"] == [2, 2]
    assert split["device_mesh"] == [0, 1] and split["placements"] == ["S(0)"]
    assert data["Torch.relu.1.forward"]["input_args"][0]["shape"] == [4, 2]
    assert data["Torch.neg.0.forward"]["input_args"][0]["placements"] == ["P(sum)"]


KINDS = ["ddp", "ddp_with_hook"]
if importlib.util.find_spec("torch.distributed.tensor") is not None:
    KINDS += ["fsdp", "fully_sharded"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    outs = run_ranks(os.path.join(HERE, "distributed_worker.py"), folder, "training", *KINDS)
    return folder, outs, [json.loads((folder / ("facts%d.json" % rank)).read_text()) for rank in range(2)]


@pytest.mark.parametrize("level", ("L1", "L0", "mix"))
@pytest.mark.parametrize("kind", KINDS)
def test_training_on_two_processes_gives_the_same_bits(trained, kind, level):
    folder, outs, facts = trained
    assert [fact["%s %s" % (kind, level)] for fact in facts] == [True, True]
    assert not any("[ERROR]" in out for out in outs)
    for rank in range(2):
        dump = Dump(folder / "dump" / kind / level / "step1" / ("rank%d" % rank))
        assert dump.errors == ""
        functions = ["Functional.linear.%d.%s" % (n, side) for n in range(3) for side in ("forward", "backward")]
        modules = [name for name in dump.data if name.startswith("Module.") and "Linear" in name]
        assert not (set(functions) - set(dump.data) if level != "L0" else set(functions) & set(dump.data))
        assert len([name for name in modules if ".forward." in name]) == (0 if level == "L1" else 3)
        assert len([name for name in modules if ".backward." in name]) == (0 if level == "L1" else 3)


def test_collectives_of_the_trainers_are_recorded(trained):
    folder = trained[0]
    expected = {"ddp_with_hook": ["all_reduce"], "fsdp": ["all_gather", "reduce_scatter"],
                "fully_sharded": ["all_gather", "reduce_scatter"]}
    for kind in KINDS[1:]:
        data = Dump(folder / "dump" / kind / "L1" / "step0" / "rank0").data
        for name in expected[kind]:
            records = [data[key] for key in data if key.startswith("Distributed." + name)]
            assert records and all(isinstance(record["output"][0], (dict, list)) for record in records), (kind, name)


FOLDERS = """
import json, os, sys
import torch, torch.distributed as dist
from msprobe.pytorch import PrecisionDebugger
folder, rank = sys.argv[1], int(sys.argv[2])
store = lambda name: "file://" + os.path.join(folder, name)

def step(debugger, works=True):
    debugger.start()
    if works:
        torch.relu(torch.ones(2))
    debugger.stop()
    debugger.step()

dist.init_process_group("gloo", init_method=store("first"), rank=rank, world_size=2)
json.dump({"dump_path": folder + "/filtered", "rank": [1]}, open(folder + "/filter%d.json" % rank, "w"))
step(PrecisionDebugger(folder + "/filter%d.json" % rank))

PrecisionDebugger._instance = None
debugger = PrecisionDebugger(dump_path=folder + "/idle")
step(debugger, works=rank == 1)
dist.barrier()
dist.destroy_process_group()

PrecisionDebugger._instance = None
debugger = PrecisionDebugger(dump_path=folder + "/late")
debugger.start()
torch.sin(torch.ones(2))
dist.init_process_group("gloo", init_method=store("second"), rank=rank, world_size=2)
dist.barrier()
debugger.stop()
debugger.start()
torch.cos(torch.ones(2))
debugger.stop()
dist.barrier()
debugger.step()
step(debugger)
dist.barrier()
"""


def folders(path):
    return {step: sorted(os.listdir(path / step)) for step in sorted(os.listdir(path))}


def test_rank_folders(tmp_path, load_dump):
    outs = run_ranks(FOLDERS, tmp_path)
    assert folders(tmp_path / "filtered") == {"step0": ["rank1"]}
    assert "filtered" not in outs[0] and "without a start()" not in outs[0]
    # Who makes no call leaves no folder.
    assert folders(tmp_path / "idle") == {"step0": ["rank1"]}
    # Both began as a process without a rank.
    assert folders(tmp_path / "late") == {"step0": ["rank0", "rank1"], "step1": ["rank0", "rank1"]}
    for rank in ("rank0", "rank1"):
        assert load_dump(tmp_path / "late", rank=rank).names("forward") == ["Torch.sin.0.forward", "Torch.cos.0.forward"]
