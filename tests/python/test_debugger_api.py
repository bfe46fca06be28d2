"""The debugger's interface: what its methods take and refuse, and what they say. Each message is what a newcomer reads."""

import gc
import os
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F

from msprobe.core.common.exceptions import MsprobeException
from msprobe.pytorch import module_dump, module_dump_end


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(4, 3)
        self.fc2 = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def train(model):
    model(torch.ones(2, 4)).sum().backward()


@pytest.fixture
def said(capsys):
    """What the log has said since the last call: lists of lines by level."""

    def read():
        lines = [line.split("] ", 1) for line in capsys.readouterr().out.splitlines() if "] " in line]
        return [text for _, text in lines]

    return read


@pytest.fixture(autouse=True)
def tell_everything_again():
    from msprobe.core.common.log import logger

    logger._told.clear()
    yield


# Models

@pytest.mark.parametrize("level", ("L0", "mix"))
def test_levels_of_modules_need_a_model_at_start(configured, level):
    debugger = configured(level=level)
    with pytest.raises(MsprobeException) as caught:
        debugger.start()
    assert "level %s" % level in str(caught.value) and "start(model)" in str(caught.value)
    assert caught.value.code == MsprobeException.INVALID_PARAM_ERROR
    debugger.start(Net())


@pytest.mark.parametrize("model, words", [
    ("net", "not str"), (torch.ones(2), "not Tensor"), ({}, "not dict"), ([Net(), 3], "element 1 is a int")])
def test_what_is_no_model_is_named(configured, model, words):
    debugger = configured()
    with pytest.raises(MsprobeException) as caught:
        debugger.start(model)
    assert words in str(caught.value)


def test_the_check_comes_before_the_filters(configured):
    debugger = configured(level="L0", top={"step": [5], "rank": [3]})
    with pytest.raises(MsprobeException):
        debugger.start()


def test_a_model_of_the_constructor_is_enough(fresh_debugger, load_dump, tmp_path):
    model = Net()
    debugger = fresh_debugger(dump_path=str(tmp_path), level="mix", model=model)
    assert debugger.model is model
    fresh_debugger.start()
    train(model)
    fresh_debugger.stop()
    assert "Module.fc1.Linear.forward.0" in load_dump(tmp_path).data


def test_a_list_of_models_has_its_positions_in_the_names(configured, load_dump, tmp_path):
    debugger = configured(level="L0")
    first, second = Net(), Net()
    debugger.start([first, second])
    assert debugger.model == [first, second]
    train(first)
    train(second)
    debugger.stop()
    names = load_dump(tmp_path / "dump").names("forward.0")
    assert names == ["Module.%d.%s.Linear.forward.0" % (i, fc) for i in (0, 1) for fc in ("fc1", "fc2")]


def test_a_model_that_comes_later_is_recorded_too(configured, load_dump, tmp_path):
    debugger = configured(level="L0")
    first, second = Net(), torch.nn.Sequential(torch.nn.ReLU())
    debugger.start(first)
    debugger.start(second)
    train(first)
    second(torch.ones(1))
    debugger.stop()
    assert load_dump(tmp_path / "dump").names("forward.0") == [
        "Module.fc1.Linear.forward.0", "Module.fc2.Linear.forward.0", "Module.0.ReLU.forward.0"]


def test_no_model_is_kept_alive(configured):
    debugger = configured(level="L0")
    model = Net()
    alive = weakref.ref(model)
    debugger.start(model)
    debugger.stop()
    debugger.step()
    del model
    gc.collect()
    assert alive() is None and debugger.model is None


# Token ranges, ranks, steps

def test_a_token_range_counts_calls_of_the_model_from_each_start(configured, load_dump, tmp_path):
    debugger = configured()
    model = Net()
    for step in range(2):
        debugger.start(model, token_range=[1, 2])
        torch.sin(torch.ones(1))
        for _ in range(4):
            model(torch.ones(2, 4))
            torch.cos(torch.ones(1))
        debugger.stop()
        debugger.step()
        assert load_dump(tmp_path / "dump", step).names("forward") == [
            "Functional.linear.0.forward", "Functional.relu.0.forward", "Functional.linear.1.forward", "Torch.cos.0.forward",
            "Functional.linear.2.forward", "Functional.relu.1.forward", "Functional.linear.3.forward", "Torch.cos.1.forward"]
    assert not model._forward_pre_hooks


@pytest.mark.parametrize("value", ([2, 1], [0], "01", [0, True], [-1, 2], [0, 1, 2], 3))
def test_what_is_no_token_range_is_refused(configured, value):
    debugger = configured()
    with pytest.raises(MsprobeException) as caught:
        debugger.start(Net(), token_range=value)
    assert "[first, last]" in str(caught.value) and repr(value) in str(caught.value)


def test_a_token_range_needs_a_model(configured):
    with pytest.raises(MsprobeException) as caught:
        configured().start(token_range=[0, 1])
    assert "model" in str(caught.value)


def test_a_rank_id_names_the_folder_and_passes_the_filter(configured, load_dump, tmp_path):
    debugger = configured(top={"rank": [7]})
    debugger.start(rank_id=3)
    debugger.stop()
    assert not (tmp_path / "dump").exists()
    debugger.start(rank_id=7)
    torch.sin(torch.ones(1))
    debugger.stop()
    assert load_dump(tmp_path / "dump", rank="rank7").names("forward") == ["Torch.sin.0.forward"]
    for wrong in (-1, True, "0", 1.0):
        with pytest.raises(MsprobeException) as caught:
            debugger.start(rank_id=wrong)
        assert "rank_id" in str(caught.value)


@pytest.mark.parametrize("task", ("statistics", "tensor"))
def test_a_rank_that_becomes_known_late_moves_the_folder(configured, load_dump, tmp_path, task):
    debugger = configured(task)
    debugger.start()
    torch.sin(torch.ones(1))
    debugger.stop()
    assert (tmp_path / "dump" / "step0" / "rank").is_dir()
    debugger.start(rank_id=2)
    torch.cos(torch.ones(1))
    debugger.stop()
    debugger.step()
    assert os.listdir(tmp_path / "dump" / "step0") == ["rank2"]
    dump = load_dump(tmp_path / "dump", rank="rank2")
    assert dump.names("forward") == ["Torch.sin.0.forward", "Torch.cos.0.forward"]
    if task == "tensor":
        assert dump.header["dump_data_dir"] == str(tmp_path / "dump" / "step0" / "rank2" / "dump_tensor_data")
        for record in dump.data.values():
            assert os.path.exists(os.path.join(dump.header["dump_data_dir"], record["output"][0]["data_name"]))


def test_a_late_rank_leaves_data_of_an_earlier_run_alone(configured, load_dump, tmp_path):
    earlier = tmp_path / "dump" / "step0" / "rank2"
    earlier.mkdir(parents=True)
    (earlier / "dump.json").write_text("{}")
    debugger = configured()
    debugger.start()
    torch.sin(torch.ones(1))
    debugger.start(rank_id=2)
    debugger.stop()
    names = sorted(os.listdir(tmp_path / "dump" / "step0"))
    assert len(names) == 2 and names[0] == "rank2" and names[1].startswith("rank2.")
    assert load_dump(tmp_path / "dump", rank="rank2").names("forward") == ["Torch.sin.0.forward"]


@pytest.mark.parametrize("ranks, folders", (([], ["rank0"]), ([0], ["rank0"]), ([1], [])))
def test_torch_distributed_that_is_initialised_after_start(run_python, tmp_path, ranks, folders):
    code, out, err = run_python("""
import json, sys, torch, torch.distributed as dist
from msprobe.pytorch import PrecisionDebugger
json.dump({"dump_path": sys.argv[1], "rank": json.loads(sys.argv[2])}, open(sys.argv[1] + ".json", "w"))
debugger = PrecisionDebugger(sys.argv[1] + ".json")
debugger.start()
torch.sin(torch.ones(1))
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.cos(torch.ones(1))
debugger.stop()
debugger.step()
debugger.start()
torch.cos(torch.ones(1))
debugger.stop()
""", tmp_path / "dump", ranks)
    assert code == 0, err
    for step in range(2):
        folder = tmp_path / "dump" / ("step%d" % step)
        assert (os.listdir(folder) if folder.exists() else []) == folders
    assert ("nothing is collected; use \"rank\": []" in out) == (ranks == [1])


def test_processes_that_make_the_same_step_folder_at_once(run_python, tmp_path):
    code, _, err = run_python("""
import os, sys, torch
from msprobe.pytorch import PrecisionDebugger
children = []
for rank in range(4):
    child = os.fork()
    if child == 0:
        debugger = PrecisionDebugger(dump_path=sys.argv[1])
        for _ in range(20):
            debugger.start(rank_id=rank)
            torch.sin(torch.ones(1))
            debugger.stop()
            debugger.step()
        sys.exit()
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
""", tmp_path / "dump")
    assert code == 0, err
    assert len(os.listdir(tmp_path / "dump")) == 20
    for step in os.listdir(tmp_path / "dump"):
        assert sorted(os.listdir(tmp_path / "dump" / step)) == ["rank0", "rank1", "rank2", "rank3"]


def test_steps_are_counted_from_the_initial_one(configured, load_dump, tmp_path):
    debugger = configured(top={"step": [6]})
    debugger.set_init_step(5)
    assert debugger.service.current_iter == 5
    for _ in range(2):
        debugger.start()
        torch.sin(torch.ones(1))
        debugger.stop()
        debugger.step()
    assert os.listdir(tmp_path / "dump") == ["step6"]
    for wrong in (-1, True, "5", None):
        with pytest.raises(MsprobeException) as caught:
            debugger.set_init_step(wrong)
        assert "step must be" in str(caught.value)


def test_three_steps_have_the_same_names(configured, load_dump, tmp_path):
    debugger = configured(level="mix")
    model = Net()
    for _ in range(3):
        debugger.start(model)
        train(model)
        debugger.stop()
        debugger.step()
    dumps = [load_dump(tmp_path / "dump", step) for step in range(3)]
    assert list(dumps[0].data) == list(dumps[1].data) == list(dumps[2].data)
    assert dumps[0].construct == dumps[1].construct == dumps[2].construct


def test_a_backward_whose_forward_was_not_collected_has_no_record(configured, load_dump, tmp_path):
    debugger = configured()
    loss = torch.ones(2, requires_grad=True).sin().sum()
    debugger.start()
    loss.backward()
    debugger.stop()
    assert load_dump(tmp_path / "dump").data == {}


# Methods

def test_forward_backward_dump_end_keeps_gradients_of_what_was_recorded(configured, load_dump, tmp_path):
    for level, forward, backward in (
            ("L1", "Functional.linear.0.forward", "Functional.linear.0.backward"),
            ("L0", "Module.fc1.Linear.forward.0", "Module.fc1.Linear.backward.0")):
        debugger = configured(level=level, top={"dump_path": str(tmp_path / level)})
        model = Net()
        debugger.start(model)
        loss = model(torch.ones(2, 4)).sum()
        debugger.forward_backward_dump_end()
        model(torch.ones(2, 4))
        loss.backward()
        debugger.stop()
        dump = load_dump(tmp_path / level)
        assert forward in dump.data and backward in dump.data
        assert forward.replace("0", "2") not in dump.data and "Module.fc1.Linear.forward.1" not in dump.data
        assert torch._C._len_torch_function_stack() == 0 and not model.fc1._forward_hooks


def test_micro_steps_stand_in_the_tree(configured, load_dump, tmp_path):
    debugger = configured(level="mix")
    model = Net()
    for step in range(2):
        debugger.start(model)
        for _ in range(2):
            debugger.micro_step()
            train(model)
        debugger.stop()
        debugger.step()
        construct = load_dump(tmp_path / "dump", step).construct
        assert construct["Functional.linear.0.forward"] == ["Module.fc1.Linear.forward.0", 0]
        assert construct["Functional.linear.2.forward"] == ["Module.fc1.Linear.forward.1", 1]
        assert construct["Module.fc1.Linear.forward.0"] == [None, 0]
        assert construct["megatron_micro_step_number"] == 1


def test_micro_steps_without_modules_say_why_nothing_happens(configured, said):
    debugger = configured()
    debugger.micro_step()
    assert any("level L1" in text and "micro_step()" in text for text in said())


def test_every_method_needs_an_instance(fresh_debugger):
    calls = [
        fresh_debugger.start, fresh_debugger.stop, fresh_debugger.step, fresh_debugger.forward_backward_dump_end,
        fresh_debugger.micro_step, lambda: fresh_debugger.set_init_step(1), lambda: fresh_debugger.save(1, "x"),
        lambda: fresh_debugger.monitor(None), lambda: fresh_debugger.register_custom_api(torch, "sin"),
        lambda: fresh_debugger.restore_custom_api(torch, "sin"), lambda: module_dump(Net(), "net"), module_dump_end]
    for call in calls:
        with pytest.raises(MsprobeException) as caught:
            call()
        assert caught.value.code == MsprobeException.INTERFACE_USAGE_ERROR
        assert "PrecisionDebugger is not created" in str(caught.value)


def test_what_is_not_supported_is_one_line_and_no_exception(configured, said):
    debugger = configured()
    said()
    debugger.monitor(Net())
    debugger.start(scheduled_tokens={"request": 3})
    lines = said()
    assert sum("grad_probe" in text for text in lines) == sum("scheduled_tokens is ignored" in text for text in lines) == 1


def test_attributes_that_scripts_read_and_assign(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path / "first"), level="L1", task="statistics", step=["1-2", 4])
    assert debugger.instance is debugger and debugger.initialized and debugger.task == "statistics"
    assert debugger.enable_dataloader is False and debugger.model is None
    config, service = debugger.config, debugger.service
    assert (config.level, config.step, config.rank, config.task) == ("L1", [1, 2, 4], [], "statistics")
    assert service.config is config and service.first_start and service.current_iter == 0
    debugger.step()
    debugger.service.config.dump_path = str(tmp_path / "second")
    assert config.dump_path == str(tmp_path / "second")
    debugger.start()
    debugger.stop()
    assert not service.first_start and service.current_iter == 1
    load_dump(tmp_path / "second", 1)
    assert not (tmp_path / "first").exists()


def test_a_construction_in_every_iteration_works(fresh_debugger, load_dump, tmp_path, said):
    model = Net()
    for _ in range(3):
        debugger = fresh_debugger(dump_path=str(tmp_path), level="mix", model=model)
        debugger.start()
        train(model)
        debugger.stop()
        debugger.step()
    assert not any("ignored" in text for text in said())
    assert len(load_dump(tmp_path, 2).data) == len(load_dump(tmp_path, 0).data) > 0


@pytest.mark.parametrize("path", (
    "msprobe.pytorch", "msprobe.pytorch.debugger.precision_debugger", "msprobe.pytorch.dump.debugger.precision_debugger"))
def test_import_paths_lead_to_one_class(path):
    import importlib

    from msprobe.pytorch import PrecisionDebugger

    assert importlib.import_module(path).PrecisionDebugger is PrecisionDebugger
    assert importlib.import_module("msprobe.pytorch.functional.dump_module").module_dump is module_dump


# module_dump

def test_module_dump_records_one_module_and_nothing_else(configured, load_dump, tmp_path):
    debugger = configured()
    model = torch.nn.Sequential(Net(), torch.nn.Linear(2, 1))
    x = torch.ones(2, 4)
    debugger.start()
    torch.sin(x)
    module_dump(model, "mine")
    torch.cos(x)
    model(x).sum().backward()
    model(x)
    module_dump_end()
    torch.tan(x)
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    assert list(dump.data) == ["Torch.sin.0.forward", "Module.mine.Sequential.forward.0", "Module.mine.Sequential.backward.0",
                               "Module.mine.Sequential.forward.1", "Torch.tan.0.forward"]
    record = dump.data["Module.mine.Sequential.forward.0"]
    assert record["input_args"][0]["shape"] == [2, 4] and record["output"][0]["shape"] == [2, 1]
    assert dump.data["Module.mine.Sequential.backward.0"]["input"][0]["shape"] == [2, 1]
    assert not model._forward_hooks and not model._forward_pre_hooks


def test_module_dump_of_what_is_recorded_anyway_changes_nothing(configured, load_dump, tmp_path, said):
    debugger = configured(level="L0")
    model = Net()
    debugger.start(model)
    module_dump(model.fc1, "mine")
    train(model)
    module_dump_end()
    debugger.stop()
    debugger.step()
    names = load_dump(tmp_path / "dump").names("forward.0")
    assert names == ["Module.fc1.Linear.forward.0", "Module.fc2.Linear.forward.0"]
    assert sum("records this module anyway" in text for text in said()) == 1


def test_module_dump_refuses_what_it_cannot_use(configured, said):
    debugger = configured()
    for arguments, words in ((("net", "name"), "not str"), ((Net(), 3), "dump_name")):
        with pytest.raises(MsprobeException) as caught:
            module_dump(*arguments)
        assert words in str(caught.value) and caught.value.code == MsprobeException.INVALID_PARAM_ERROR
    module_dump(Net(), "early")
    module_dump_end()
    assert any("outside start() and stop()" in text for text in said())
    debugger.start()
    module_dump(Net(), "open")
    debugger.stop()
    assert torch._C._len_torch_function_stack() == 0


# What is said

def test_the_end_of_a_step_is_one_line_of_numbers(configured, said):
    debugger = configured("tensor")
    debugger.start()
    torch.sin(torch.ones(1000))
    debugger.stop()
    said()
    debugger.step()
    line, = [text for text in said() if text.startswith("step 0:")]
    assert "1 records, 2 tensors" in line and "2 tensor files of 8 kB" in line and "spent in the tool" in line


def test_steps_without_collecting_say_nothing(configured, said):
    debugger = configured(top={"step": [3]})
    said()
    for _ in range(3):
        debugger.start()
        debugger.stop()
        debugger.step()
    assert said() == []


def test_an_empty_step_says_why(configured, said):
    debugger = configured()
    debugger.start()
    debugger.stop()
    debugger.step()
    assert sum(text.startswith("nothing was recorded: no call of the support list") for text in said()) == 1


def test_filters_that_matched_nothing_are_told_at_the_end_of_the_step(configured, said):
    debugger = configured(list=["sine"])
    debugger.start()
    torch.sin(torch.ones(1))
    debugger.stop()
    debugger.step()
    lines = said()
    assert any("sine" in text and "Torch.sin" in text for text in lines)
    assert not any("nothing was recorded" in text for text in lines)


def test_types_that_are_null_are_told_once(configured, said):
    class Odd:
        pass

    debugger = configured(level="L0")
    model = torch.nn.Sequential(torch.nn.Identity())
    for _ in range(2):
        debugger.start(model)
        model[0](Odd())
        model[0](Odd())
        debugger.stop()
        debugger.step()
    lines = [text for text in said() if "null in the records" in text]
    assert len(lines) == 1 and "Odd (4 times)" in lines[0]


def test_calls_whose_gradients_cannot_be_told_are_counted_in_the_log_file(configured, load_dump, tmp_path):
    debugger = configured()
    base = torch.ones(3, requires_grad=True).clone()
    debugger.start()
    base[0].mul_(2)
    base.sum().backward()
    debugger.stop()
    debugger.step()
    assert "1 calls: the gradients of their inputs cannot be told" in load_dump(tmp_path / "dump").errors


def test_errors_are_logged_with_time_and_place(configured, load_dump, tmp_path):
    debugger = configured()
    debugger._collection.errors.error("something failed")
    debugger.start()
    debugger._collection.errors.error("something failed")
    debugger.stop()
    lines = load_dump(tmp_path / "dump").errors.splitlines()
    assert len([line for line in lines if "something failed" in line]) == 1  # there was no folder for the first
    assert lines[0][:2] == "20" and "(%d)" % os.getpid() in lines[0]
    assert "test_debugger_api.py" in lines[1] and "msprobe/pytorch" not in "".join(lines[1:])


def test_a_guard_of_the_device_that_hides_data_is_told(run_python, tmp_path):
    source = ("import sys, types, torch\nsys.modules['torch_npu'] = types.ModuleType('torch_npu')\n"
              "from msprobe.pytorch import PrecisionDebugger\nPrecisionDebugger(dump_path=sys.argv[1])")
    for value, told in (("1", True), ("0", False)):
        code, out, err = run_python(source, tmp_path, NPU_ASD_ENABLE=value)
        assert code == 0, err
        assert ("NPU_ASD_ENABLE" in out) == told


# Threads

def test_methods_may_be_called_from_any_thread(configured, load_dump, tmp_path):
    debugger = configured()

    def work():
        for _ in range(50):
            debugger.start()
            torch.sin(torch.ones(1))
            debugger.stop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    assert len(set(dump.data)) == len(dump.data) and dump.errors == ""
