"""Dumps of training steps of real models: nothing changes, nothing is missing, names equal the reference's."""

import json
import os

import pytest
import torch

pytest.importorskip("transformers")
import models
from dump_checks import check_backward_records, check_same_gradients, is_in_place, stem, tensors

# What autograd itself makes inside backward (spec decisions 6).
MADE_BY_AUTOGRAD = {"Torch.ones_like"}
# Calls that the reference records by what they are made of, because the operator is not in its list.
INSIDE_AN_OPERATOR = {"Torch.floor_divide": "Tensor.__floordiv__"}


@pytest.fixture(scope="module", params=models.NAMES)
def model_dumps(request, tmp_path_factory):
    """Loss and gradients without and with the tool, and the dump of the second recorded step, for every task."""
    from msprobe.pytorch import PrecisionDebugger

    model, batch = models.build(request.param)
    torch.set_num_threads(1)
    for _ in range(4):  # as many as before the reference's dump: batch norm counts steps
        plain = models.training_step(model, batch)
    recorded = {}
    for task in ("statistics", "tensor", "md5"):
        folder = tmp_path_factory.mktemp(task)
        config = folder / "config.json"
        section = {"summary_mode": "md5"} if task == "md5" else {}
        name = "statistics" if task == "md5" else task
        config.write_text(json.dumps({"task": name, "dump_path": str(folder / "dump"), name: section}))
        PrecisionDebugger._instance = None
        debugger = PrecisionDebugger(str(config))
        result = None
        for _ in range(2):
            debugger.start()
            result = models.training_step(model, batch)
            debugger.stop()
            debugger.step()
        PrecisionDebugger._instance = None
        recorded[task] = (result, folder / "dump")
    return request.param, plain, recorded


@pytest.mark.parametrize("task", ("statistics", "tensor", "md5"))
def test_loss_and_gradients_are_bit_identical(model_dumps, load_dump, task):
    _, (loss, gradients), recorded = model_dumps
    (loss_with, gradients_with), folder = recorded[task]
    assert torch.equal(loss, loss_with)
    check_same_gradients(gradients, gradients_with)
    assert load_dump(folder, step=1).errors == ""


def test_every_differentiated_call_has_its_own_gradients(model_dumps, load_dump):
    _, _, recorded = model_dumps
    dump = load_dump(recorded["statistics"][1], step=1)
    assert check_backward_records(dump) > 50


@pytest.mark.parametrize("version", ("1.0.4", "26.2.0"))
def test_names_and_counters_equal_the_reference(model_dumps, load_dump, peer, version):
    model, _, recorded = model_dumps
    path = os.path.join(peer, "pytorch", "dumps", "%s-%s-statistics-L1" % (model, version), "dump.json")
    if not os.path.exists(path):
        pytest.skip("no dump of %s by version %s" % (model, version))
    with open(path, encoding="utf-8") as file:
        reference = json.load(file)["data"]
    ours = load_dump(recorded["statistics"][1], step=1).data
    missing = []
    for name in reference:
        if name in ours or stem(name) in MADE_BY_AUTOGRAD:
            continue
        operator = INSIDE_AN_OPERATOR.get(stem(name))
        if operator is not None and any(stem(other) == operator for other in ours):
            continue
        missing.append(name)
    assert missing == []
    common = [name for name in reference if name in ours and name.endswith(".forward")]
    assert [name for name in ours if name in set(common)] == common, "forward calls stand in the same order"
    # Beyond the reference: only calls of APIs that it does not record at all, so that no counter can differ.
    recorded_by_reference = {stem(name) for name in reference}
    extra = {stem(name) for name in ours if name not in reference and name.endswith(".forward")}
    assert extra & recorded_by_reference == set()


def test_statistics_equal_the_reference(model_dumps, load_dump, peer):
    model, _, recorded = model_dumps
    path = os.path.join(peer, "pytorch", "dumps", model + "-1.0.4-statistics-L1", "dump.json")
    with open(path, encoding="utf-8") as file:
        reference = json.load(file)["data"]
    ours = load_dump(recorded["statistics"][1], step=1).data
    compared = 0
    for name in reference:
        if not name.endswith(".forward") or name not in ours:
            continue
        for key in ("input_args", "output"):
            if key == "input_args" and is_in_place(name):
                continue  # the reference describes them after the call
            theirs, mine = list(tensors(reference[name][key])), list(tensors(ours[name][key]))
            if len(theirs) != len(mine):
                continue  # the same argument, by position there and by keyword here
            for a, b in zip(theirs, mine):
                assert (a["dtype"], a["shape"], a["requires_grad"]) == (b["dtype"], b["shape"], b["requires_grad"]), name
                if a["Max"] is None or isinstance(a["Max"], bool):
                    assert a["Max"] == b["Max"], name
                    continue
                # bfloat16 sums come out another way on another CPU, and what is computed from them in float32 too.
                close = 0.02 if "bfloat16" in a["dtype"] or model.endswith("bf16") else 1e-4
                for statistic in ("Max", "Min"):
                    assert b[statistic] == pytest.approx(a[statistic], rel=close, abs=1e-4), (name, statistic)
                compared += 1
    assert compared > 100


def test_tensor_files_load_and_hold_the_recorded_values(model_dumps, load_dump):
    _, _, recorded = model_dumps
    dump = load_dump(recorded["tensor"][1], step=1)
    assert os.path.samefile(dump.header["dump_data_dir"], os.path.join(dump.folder, "dump_tensor_data"))
    names = set()
    for record in dump.data.values():
        for entry in tensors(record):
            names.add(entry["data_name"])
            tensor = torch.load(os.path.join(dump.header["dump_data_dir"], entry["data_name"]), weights_only=True)
            assert (str(tensor.dtype), list(tensor.shape)) == (entry["dtype"], entry["shape"])
            if tensor.numel() and tensor.dtype is not torch.bool:
                assert tensor.max().item() == entry["Max"] and tensor.min().item() == entry["Min"]
    assert names == set(os.listdir(dump.header["dump_data_dir"]))
