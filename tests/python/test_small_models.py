"""Training steps of hand-written models at every level and task, and the check of their dumps, on every torch."""

import csv
import glob
import os
import subprocess
import sys

import pytest
import torch

import small_models
from dump_fixtures import ROOT
from dump_checks import check_backward_records, check_same_gradients, tensors

COMMAND = os.environ.get("MSPROBE_EXECUTABLE", os.path.join(ROOT, ".venv", "bin", "msprobe"))
KINDS = (("L1", "statistics"), ("L1", "tensor"), ("L1", "md5"), ("L0", "statistics"), ("mix", "tensor"), ("mix", "md5"))


@pytest.fixture
def recorded_step(configured, load_dump, tmp_path):
    """(loss and gradients without the tool, the same with it, the dump) of one step of a model."""

    def run(name, level="L1", task="statistics"):
        torch.set_num_threads(1)
        plain = small_models.training_step(*small_models.build(name))
        model, batch = small_models.build(name)
        debugger = configured(task, level)
        debugger.start(model)
        recorded = small_models.training_step(model, batch)
        debugger.stop()
        debugger.step()
        assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
        dump = load_dump(tmp_path / "dump")
        assert dump.errors == ""
        return plain, recorded, dump

    return run


@pytest.mark.parametrize("level, task", KINDS)
@pytest.mark.parametrize("name", small_models.MODELS)
def test_nothing_changes_and_nothing_is_missing(recorded_step, name, level, task):
    (loss, gradients), (loss_with, gradients_with), dump = recorded_step(name, level, task)
    assert torch.equal(loss, loss_with)
    check_same_gradients(gradients, gradients_with)
    if level != "L0":
        assert check_backward_records(dump) >= 4
    if level != "L1":
        for forward in [record for record in dump.data if ".forward." in record]:
            differentiated = any(t["requires_grad"] for t in tensors(dump.data[forward]["output"]))
            assert (forward.replace(".forward.", ".backward.") in dump.data) == differentiated, forward
    files = dump.header["dump_data_dir"]
    if task == "tensor":
        assert {t["data_name"] for record in dump.data.values() for t in tensors(record)} == set(os.listdir(files))
    if task == "md5":
        assert all(len(t["md5"]) == 8 for record in dump.data.values() for t in tensors(record))


def test_names_are_the_same_on_every_torch(recorded_step):
    _, _, dump = recorded_step("attention")
    assert [name[:-len(".forward")] for name in dump.names("forward")] == [
        "Functional.embedding.0", "Functional.layer_norm.0", "Functional.linear.0", "Tensor.transpose.0", "Tensor.chunk.0",
        "Tensor.transpose.1", "Tensor.__matmul__.0", "Tensor.__itruediv__.0", "Tensor.triu.0", "Tensor.masked_fill.0",
        "Functional.softmax.0", "Functional.dropout.0", "Torch.matmul.0", "Tensor.transpose.2", "Tensor.reshape.0",
        "Tensor.__add__.0", "Tensor.__getitem__.0", "Tensor.__mul__.0", "Tensor.__setitem__.0", "Tensor.__getitem__.1",
        "Functional.linear.1", "Tensor.topk.0", "Functional.linear.2", "Functional.log_softmax.0", "Tensor.flatten.0",
        "Tensor.flatten.1", "Functional.nll_loss.0", "Tensor.sum.0", "Tensor.__rmul__.0", "Tensor.__add__.1"]


@pytest.mark.parametrize("name", ("attention", "convolution"))
def test_the_checker_passes_every_call_of_a_step(recorded_step, tmp_path, name):
    _, _, dump = recorded_step(name)
    finished = subprocess.run(
        [COMMAND, "-f", "pytorch", "run_ut", "-api_info", os.path.join(dump.folder, "dump.json"), "-o", str(tmp_path / "out"),
         "--python", sys.executable], capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    (path,) = glob.glob(str(tmp_path / "out" / "accuracy_checking_result_*.csv"))
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] + ".forward" for row in rows] == dump.names("forward")
    for api, forward, backward, message in rows:
        assert forward == "pass", (api, message)
        expected = {"pass"} if api + ".backward" in dump.data else {" ", "SKIP"}
        assert backward in expected | {"SKIP"}, (api, message)
    assert [row[2] for row in rows].count("pass") >= 6


def test_gradients_of_a_module_of_hundreds_of_nodes(configured, load_dump, tmp_path):
    block = torch.nn.Sequential(*[layer for _ in range(100) for layer in (torch.nn.Linear(4, 4), torch.nn.ReLU())])
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), block)
    debugger = configured(level="L0")
    debugger.start(model)
    model(torch.ones(2, 4)).sum().backward()
    debugger.stop()
    debugger.step()
    backward = load_dump(tmp_path / "dump").data["Module.1.Sequential.backward.0"]
    assert [t["shape"] for t in backward["input"]] == [t["shape"] for t in backward["output"]] == [[2, 4]]
