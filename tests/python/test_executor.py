"""Calls made again on both sides: the device is a CPU, and where a fault is wanted a function is wrong in float32."""

import os

import pytest
import torch

from capabilities import needs
from checker_support import Rows, case_message, settings_message, tensor, value
from msprobe._core.replay import Replay
from msprobe.pytorch.executor import Executor


def executor(**settings):
    return Executor(Replay(settings_message(**settings), torch), torch.device("cpu"))


@pytest.fixture(scope="module")
def check():
    ours = executor()
    return lambda *args, **kwargs: Rows(ours.run(case_message(*args, **kwargs)))


def fp32(*shape, **more):
    return tensor("float32", shape, -1.0, 2.0, True, **more)


def wrong_in_float32(function, fault):
    """`function`, but the device's results (float32 here, the bench computes in float64) go through `fault`."""

    def call(*args, **kwargs):
        output = function(*args, **kwargs)
        return fault(output) if output.dtype is torch.float32 else output

    return call


def test_forward_and_backward_pass(check):
    rows = check("Torch.mul.0", [fp32(3, 4), fp32(3, 4)], gradient=fp32(3, 4))
    assert (rows.forward, rows.backward, rows.message) == ("pass", "pass", "")
    assert [row[0] for row in rows.details] == [
        "Torch.mul.0.forward.output.0",
        "Torch.mul.0.backward.output.0",
        "Torch.mul.0.backward.output.1",
    ]
    assert rows.details[0][1:4] == ["torch.float64", "torch.float32", "(3, 4)"]
    assert all(len(row) == 23 for row in rows.details)


@pytest.mark.parametrize(
    "fault, word",
    [
        (lambda output: torch.zeros_like(output), "zero"),
        (lambda output: output.reshape(-1), "shapes"),
        (lambda output: output.to(torch.int32), "dtypes"),
        (lambda output: output.masked_fill(torch.ones_like(output, dtype=torch.bool).triu(), float("nan")), "NaN"),
        (lambda output: (output, output), "type"),
        (lambda output: output * 1.01, "0.001"),
    ],
)
def test_a_wrong_device_is_found(monkeypatch, fault, word):
    monkeypatch.setattr(torch, "mul", wrong_in_float32(torch.mul, fault))
    rows = Rows(
        executor().run(case_message("Torch.mul.0", [tensor("float32", [8, 8], 1, 2), tensor("float32", [8, 8], 1, 2)]))
    )
    assert rows.forward == "error"
    assert word in rows.details[0][22]


def test_wrong_only_in_backward(monkeypatch):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad / 2

    monkeypatch.setattr(torch, "mul", wrong_in_float32(torch.mul, Half.apply))
    rows = Rows(
        executor().run(
            case_message(
                "Torch.mul.0", [tensor("float32", [99], 1, 2, True)] * 2, gradient=tensor("float32", [99], 1, 2)
            )
        )
    )
    assert (rows.forward, rows.backward) == ("pass", "error")


def test_a_gradient_that_the_device_loses_is_an_error(monkeypatch):
    monkeypatch.setattr(torch, "mul", lambda a, b: a * (b if a.dtype is torch.float64 else b.detach()))
    rows = Rows(executor().run(case_message("Torch.mul.0", [fp32(9), fp32(9)], gradient=fp32(9))))
    assert rows.row("backward.output.0")[21] == "pass"
    assert rows.row("backward.output.1")[21] == "error"


def test_arguments_without_gradient_are_skip_rows(check):
    rows = check("Functional.embedding.0", [tensor("int64", [4], 0, 9), fp32(10, 3)], gradient=fp32(4, 3))
    assert rows.row("backward.output.0")[21] == "SKIP"
    assert rows.row("backward.output.1")[21] == "pass"
    assert rows.backward == "pass"


def test_gradients_of_lists_and_keywords(check):
    rows = check("Torch.cat.0", [[fp32(2, 3), fp32(4, 3)]], gradient=fp32(6, 3))
    assert rows.row("backward.output.1")[3] == "(4, 3)"
    rows = check("Functional.linear.0", [fp32(2, 3), fp32(5, 3)], {"bias": fp32(5)}, gradient=fp32(2, 5))
    assert rows.row("backward.output.2")[3] == "(5,)"


def test_changed_arguments_are_compared(check):
    rows = check("Tensor.add_.0", [fp32(5), fp32(5)], gradient=fp32(5))
    assert len([row for row in rows.details if ".forward." in row[0]]) == 1
    assert rows.backward == "pass"
    rows = check("Tensor.__setitem__.0", [fp32(5, 3), value(1), fp32(3)], gradient=fp32(5, 3))
    assert rows.forward == "pass" and rows.row("forward.output.0")[3] == "(5, 3)"
    assert rows.row("backward.output.1")[3] == "(3,)"


def test_running_statistics_are_compared(monkeypatch, check):
    args = [fp32(8, 4), tensor("float32", [4], 0, 0), tensor("float32", [4], 1, 1), None, None, value(True)]
    rows = check("Functional.batch_norm.0", args, gradient=fp32(8, 4))
    assert [row[3] for row in rows.details if ".forward." in row[0]] == ["(8, 4)", "(4,)", "(4,)"]


def test_in_place_by_a_keyword(check):
    rows = check("Functional.relu.0", [fp32(9)], {"inplace": value(True)}, gradient=fp32(9))
    assert (rows.forward, rows.backward) == ("pass", "pass")


def test_in_place_gradient_is_that_of_the_input_before(check):
    # x.mul_(y): with the gradient taken of the changed x it would be the incoming one for any y.
    rows = check("Tensor.mul_.0", [fp32(50), tensor("float32", [50], 3, 3)], gradient=tensor("float32", [50], 1, 1))
    assert rows.backward == "pass"
    assert rows.row("backward.output.0")[4] == "1.00000000000000"


@pytest.mark.parametrize("name", ["squeeze_", "t_"])
def test_shape_changes_in_place(check, name):
    rows = check("Tensor.{}.0".format(name), [fp32(1, 5)], gradient=fp32(5) if name == "squeeze_" else fp32(5, 1))
    assert (rows.forward, rows.backward) == ("pass", "pass")


def test_several_outputs_have_no_backward(check):
    rows = check("Torch.split.0", [fp32(6), value(2)], gradient=fp32(2))
    assert rows.forward == "pass" and rows.backward == "SKIP" and "several outputs" in rows.message
    assert rows.row("backward.output.0")[21] == "SKIP"
    rows = check("Torch.topk.0", [fp32(6), value(2)], gradient=fp32(2))
    assert rows.backward == "pass"


def test_out_has_no_backward(check):
    rows = check("Torch.matmul.0", [fp32(2, 2), fp32(2, 2)], {"out": fp32(2, 2)})
    assert rows.forward == "pass" and rows.backward == "SKIP" and "out=" in rows.message


def test_builtins_and_empty_tensors(check):
    rows = check("Tensor.__bool__.0", [tensor("bool", [], True, True)])
    assert rows.details[0][1] == "<class 'bool'>" and rows.details[0][9] == "0" and rows.forward == "pass"
    rows = check("Torch.cat.0", [[tensor("float32", [0], None, None, True), fp32(3)]], gradient=fp32(3))
    assert rows.forward == "pass" and rows.row("backward.output.0")[3] == "(0,)"


def test_equality_with_none(check):
    assert check("Tensor.__eq__.0", [fp32(3), None]).forward == "pass"


def test_indexing(check):
    full = {"type": "slice", "value": [None, None, None]}
    assert (
        check("Tensor.__getitem__.0", [fp32(4, 5), [full, {"type": "slice", "value": [1, 3, None]}]]).details[0][3]
        == "(4, 2)"
    )
    assert (
        check("Tensor.__getitem__.0", [fp32(4, 5), [{"type": "ellipsis", "value": "..."}, None]]).details[0][3]
        == "(4, 5, 1)"
    )
    assert (
        check("Tensor.__getitem__.0", [fp32(4, 5), [value(1), value(2)]], output=[tensor("float32", [], 0, 0)]).details[
            0
        ][3]
        == "()"
    )
    assert check("Tensor.__getitem__.0", [fp32(4), tensor("uint8", [4], 0, 1)]).forward == "pass"


def test_what_cannot_be_called_is_a_skip_row(check):
    rows = check("Torch.no_such_function.0", [fp32(2)])
    assert (rows.forward, rows.backward) == ("SKIP", "SKIP") and "no_such_function" in rows.message
    rows = check("Torch.matmul.0", [fp32(2, 3), fp32(2, 3)])
    assert rows.forward == "SKIP" and "CPU" in rows.message and "\n" not in rows.message
    assert rows.details[0][21] == "SKIP" and rows.details[0][22] == rows.message
    assert check("NPU.npu_no_such_thing.0", [fp32(2)]).forward == "SKIP"
    assert check("Torch.add.0", [{}, fp32(2)]).forward == "SKIP"


def test_a_gradient_of_another_shape_is_a_reason(check):
    rows = check("Torch.add.0", [fp32(3), fp32(3)], gradient=fp32(4))
    assert rows.forward == "pass" and rows.backward == "SKIP" and "shape" in rows.message


def test_non_finite_values(check):
    infinite = tensor("float32", [4, 4], float("-inf"), 0.0, Min_except_inf_nan=0.0)
    assert check("Functional.softmax.0", [infinite], {"dim": value(-1)}).forward == "pass"
    assert check("Torch.add.0", [tensor("float32", [4], float("nan"), float("nan")), fp32(4)]).forward == "pass"
    assert check("Torch.abs.0", [tensor("float32", [], float("inf"), float("inf"))]).forward == "pass"


def test_dropout(check):
    rows = check("Functional.dropout.0", [fp32(1000), value(0.4), value(True)], gradient=fp32(1000))
    assert (rows.forward, rows.backward) == ("pass", "pass")
    assert "zeros" in rows.details[0][22] and rows.details[0][4] == " "


@needs("nn.functional.scaled_dot_product_attention")
def test_attention_without_its_dropout(check):
    args = [fp32(1, 2, 8, 4)] * 3
    rows = check(
        "Functional.scaled_dot_product_attention.0", args, {"dropout_p": value(0.5)}, gradient=fp32(1, 2, 8, 4)
    )
    assert (rows.forward, rows.backward) == ("pass", "pass") and "dropout_p" in rows.details[0][22]


def test_random_calls_by_shape(check):
    rows = check("Torch.bernoulli.0", [tensor("float32", [100], 0, 1)])
    assert rows.forward == "pass" and "random" in rows.details[0][22]


def test_other_layouts_of_outputs(check):
    rows = check("Torch.complex.0", [fp32(3), fp32(3)])
    complex_input = tensor("complex64", [3], 0.0, 2.0)
    rows = check("Torch.mul.0", [complex_input, complex_input])
    assert rows.forward == "pass" and rows.details[0][2] == "torch.complex64"


def layouts(monkeypatch, name, args, gradient=None):
    """Strides and offsets with which a function is called on the bench and on the device."""
    seen = []
    original = getattr(torch, name)

    def call(x, *rest):
        seen.append((x.stride(), x.storage_offset(), x.dtype, tuple(x.shape)))
        return original(x, *rest)

    monkeypatch.setattr(torch, name, call)
    rows = Rows(executor().run(case_message("Torch.{}.0".format(name), args, gradient=gradient)))
    assert rows.forward == "pass"
    return seen


@pytest.mark.parametrize("stride, offset", [([1, 3], 0), ([10, 2], 7), ([0, 1], 0), ([5, 1], 4097)])
def test_recorded_layouts_are_made_again(monkeypatch, stride, offset):
    seen = layouts(monkeypatch, "abs", [fp32(3, 5, stride=stride, storage_offset=offset)], fp32(3, 5))
    for layout in seen:
        assert layout[0] == tuple(stride) and layout[1] == offset % 4096 and layout[3] == (3, 5)
    assert [layout[2] for layout in seen] == [torch.float64, torch.float32]


def test_in_place_on_a_strided_tensor(check):
    rows = check(
        "Tensor.mul_.0", [fp32(3, 4, stride=[8, 2], storage_offset=3), tensor("float32", [], 2, 2)], gradient=fp32(3, 4)
    )
    assert (rows.forward, rows.backward) == ("pass", "pass")
    assert rows.row("backward.output.0")[3] == "(3, 4)"


def test_both_sides_see_the_same_values_and_neither_the_other(monkeypatch):
    seen = []

    def call(x):
        seen.append(x.detach().double().clone())
        return x.add_(1)

    monkeypatch.setattr(torch.Tensor, "relu_", call)
    rows = Rows(executor().run(case_message("Tensor.relu_.0", [fp32(64)])))
    assert rows.forward == "pass"
    assert torch.equal(seen[0], seen[1])
    assert seen[0][0] == -1 and seen[0][-1] == 2


def test_generators_are_seeded_before_each_side(monkeypatch):
    import random

    import numpy

    drawn = []

    def call(x):
        drawn.append((random.random(), numpy.random.rand(), torch.rand(()).item()))
        return x.clone()

    monkeypatch.setattr(torch, "abs", call)
    ours = executor()
    for number in (0, 0, 1):
        ours.run(case_message("Torch.abs.{}".format(number), [fp32(3)]))
    assert drawn[0] == drawn[1] == drawn[2] == drawn[3]
    assert drawn[4] == drawn[5] != drawn[0]


def test_device_keyword_goes_to_the_device_only(monkeypatch):
    seen = []
    original = torch.ones_like

    def call(x, **kwargs):
        seen.append(kwargs)
        return original(x, **kwargs)

    monkeypatch.setattr(torch, "ones_like", call)
    executor().run(case_message("Torch.ones_like.0", [fp32(3)], {"device": {"type": "torch.device", "value": "npu:5"}}))
    assert seen == [{}, {"device": torch.device("cpu")}]


def test_mixed_precision_runs_under_autocast(check):
    args = [tensor("float32", [4, 8], -1, 1), tensor("bfloat16", [3, 8], -1, 1)]
    rows = check("Functional.linear.0", args)
    assert rows.forward in ("pass", "warning") and rows.details[0][1:3] == ["torch.float32", "torch.bfloat16"]


def test_failing_data_is_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "add", wrong_in_float32(torch.add, torch.zeros_like))
    folder = tmp_path / "ut_error_data20240101000000"
    ours = executor(error_data_dir=str(folder))
    args = [[tensor("float32", [4], 1, 2, True), None], value(3)]
    monkeypatch.setattr(torch, "cat", lambda items, factor, extra: torch.add(items[0] * factor, extra["a"]))
    rows = Rows(ours.run(case_message("Torch.cat.0", args, {"extra": {"a": fp32(4)}}, gradient=fp32(4))))
    assert rows.forward == "error"
    assert sorted(os.listdir(folder)) == sorted(
        "Torch.cat.0." + name
        for name in (
            "forward.input.0.pt",
            "forward.input.3.pt",
            "forward.output.bench.0.pt",
            "forward.output.device.0.pt",
            "backward.input.0.pt",
            "backward.output.bench.0.pt",
            "backward.output.bench.1.pt",
            "backward.output.device.0.pt",
            "backward.output.device.1.pt",
        )
        if not name.startswith("backward.output") or rows.backward != "SKIP"
    )
    saved = torch.load(str(folder / "Torch.cat.0.forward.input.3.pt"), weights_only=True)
    assert saved.shape == (4,) and saved.dtype is torch.float32
    bench = torch.load(str(folder / "Torch.cat.0.forward.output.bench.0.pt"), weights_only=True)
    assert bench.dtype is torch.float64
    assert not (tmp_path / "nothing").exists()
    Rows(ours.run(case_message("Torch.mul.0", [fp32(4), fp32(4)])))
    assert not any(name.startswith("Torch.mul") for name in os.listdir(folder))


def test_the_verdict_stands_where_data_cannot_be_saved(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(torch, "abs", wrong_in_float32(torch.abs, torch.zeros_like))
    (tmp_path / "file").write_text("")
    ours = executor(error_data_dir=str(tmp_path / "file"))
    assert Rows(ours.run(case_message("Torch.abs.0", [fp32(4)]))).forward == "error"
    assert "not saved" in capfd.readouterr().err


def test_gradients_without_memory(check):
    rows = check("Torch.sgn.0", [fp32(4)], gradient=fp32(4))
    assert (rows.forward, rows.backward) == ("pass", "pass")


def test_recorded_data_is_used(tmp_path):
    data = tmp_path / "dump_tensor_data"
    data.mkdir()
    weight = torch.arange(12.0).reshape(3, 4)
    torch.save(weight, str(data / "Torch.abs.0.forward.input.0.pt"))
    ours = executor(dump_dir=str(tmp_path), error_data_dir=str(tmp_path / "out"))
    element = tensor("float32", [3, 4], 0, 0, data_name="Torch.abs.0.forward.input.0.pt")
    rows = Rows(ours.run(case_message("Torch.abs.0", [element])))
    assert rows.forward == "pass" and rows.details[0][3] == "(3, 4)" and rows.details[0][4] == "1.00000000000000"
    element = tensor("float32", [3, 4], 0, 0, data_name="missing.pt")
    assert "missing.pt" in Rows(ours.run(case_message("Torch.abs.0", [element]))).message
