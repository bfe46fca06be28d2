"""What `make bench-collection` counts in dumps, and what its page says about it. No time is asserted here."""

import os
import sys

import pytest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "bench"))

import collection_page
import dump_records
from collection_page import OURS


def tensor(*shape, grad=True, maximum=1.0):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(shape), "Max": maximum, "requires_grad": grad}


def forward(inputs, output):
    return {"input_args": inputs, "input_kwargs": {}, "output": [output]}


def counts(data):
    result = dump_records.count(data)
    return result["records"], result["missing"], result["foreign"]


def test_a_call_with_its_own_gradients_is_in_order():
    call = forward([tensor(2, 3), [tensor(3), tensor(5, grad=False)]], tensor(2, 3))
    own = {"input": [tensor(2, 3)], "output": [tensor(2, 3), tensor(3), None]}
    assert counts({"Torch.add.0.forward": call, "Torch.add.0.backward": own}) == (2, 0, 0)


@pytest.mark.parametrize("backward", [
    {"input": [tensor(2, 3)], "output": [tensor(6)]},
    {"input": [tensor(2, 3)], "output": [tensor(2, 3), tensor(2, 3)]},
    {"input": [tensor(6)], "output": [tensor(2, 3)]}])
def test_gradients_of_another_shape_are_foreign(backward):
    call = forward([tensor(2, 3), tensor(3, grad=False)], tensor(2, 3))
    assert counts({"Torch.add.0.forward": call, "Torch.add.0.backward": backward}) == (2, 0, 1)


@pytest.mark.parametrize("output, missing", [
    (tensor(2, maximum=7.0), 1), (tensor(2, maximum=7.0, grad=False), 0), (tensor(2), 0), (tensor(1, 2), 1)])
def test_a_differentiated_call_without_a_backward_record_is_missing_unless_it_hands_an_argument_back(output, missing):
    assert counts({"Tensor.to.0.forward": forward([tensor(2)], output)}) == (1, missing, 0)


def test_backward_records_of_modules_are_found_by_their_names():
    call = forward([tensor(2)], tensor(3))
    data = {"Module.forward.Linear.forward.0": call,
            "Module.forward.Linear.backward.0": {"input": [tensor(3)], "output": [tensor(4)]},
            "Module.forward.Linear.forward.1": call, "Module.forward.Linear.parameters_grad": {"weight": [tensor(3, 2)]}}
    assert counts(data) == (4, 1, 1)


def result(**changes):
    return dict({"plain_ms": 10.0, "dump_ms": 12.5, "growth_mb": 3.2, "same_loss": True, "gradients": 39,
                 "changed_gradients": 0, "records": 50, "missing": 0, "foreign": 0, "missing_names": [],
                 "foreign_names": []}, **changes)


def test_page_shows_tools_side_by_side_and_says_why_a_cell_is_empty():
    cells = {("llama", "L1", "md5"): {OURS: result(), "1.0.4": result(changed_gradients=33, foreign=37, dump_ms=70.0)},
             ("llama", "mix", "md5"): {OURS: result(), "1.0.4": {"error": "Refused: no"}}}
    page = collection_page.page([OURS, "1.0.4"], cells, [], ["one machine"])
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| llama")]
    assert rows[0][3:] == ["yes / no (33 of 39)", "50 / 50", "0 / 0", "0 / 37", "10.0", "1.25 / 7.00", "3 / 3"]
    assert rows[1][3] == "yes / -"
    assert "- 1.0.4, llama mix md5: Refused: no" in page and "- one machine" in page
    assert collection_page.faults(cells) == []


@pytest.mark.parametrize("changes, fault", [
    ({"same_loss": False}, "loss"), ({"changed_gradients": 1}, "1 of 39"),
    ({"missing": 1, "missing_names": ["Torch.cat.3.forward"]}, "Torch.cat.3.forward"),
    ({"foreign": 1, "foreign_names": ["Torch.cat.4.forward"]}, "Torch.cat.4.forward"), ({"error": "no file"}, "no file")])
def test_what_is_wrong_with_ours_is_named_on_the_page(changes, fault):
    cells = {("llama", "L1", "md5"): {OURS: result(**changes)}}
    lines = collection_page.faults(cells)
    assert len(lines) == 1 and fault in lines[0]
    page = collection_page.page([OURS], cells, [], [])
    assert fault in page.split("Without a result:" if "error" in changes else "Not as it has to be:")[1]
