"""Formulas of the fused operators against other ways to the same numbers."""

import math

import pytest
import torch

from checker_support import Rows, case_message, settings_message, tensor, value
from msprobe._core.replay import Replay
from msprobe.pytorch import bench_functions as ops
from msprobe.pytorch.executor import Executor

CPU = torch.device("cpu")


def numbers(*shape):
    return torch.linspace(-2, 3, math.prod(shape), dtype=torch.float64).reshape(shape).sin()


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10, check_dtype=False)


def test_registry():
    assert ops.find("fast_gelu", CPU) is ops.find("npu_fast_gelu", CPU)
    assert ops.find("npu_no_such_thing", CPU) is None
    with pytest.raises(AttributeError):
        ops.find("npu_mish", torch.device("npu") if hasattr(torch, "npu") else type("D", (), {"type": "npu"})())


def test_activations():
    x = numbers(4, 6)
    close(ops.fast_gelu(x), x * torch.sigmoid(1.702 * x))
    close(ops.mish(x), torch.nn.functional.mish(x))
    a, b = x.chunk(2, -1)
    close(ops.swiglu(x), a * torch.sigmoid(a) * b)
    close(ops.swiglu(x, 0), ops.swiglu(x.t(), 1).t())
    assert ops.swiglu(x.half()).dtype is torch.float16


def test_norms():
    x, w, b = numbers(4, 6), numbers(6) + 2, numbers(6)
    y, rstd = ops.rms_norm(x, w, 1e-6)
    close(y, x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * w)
    assert rstd.shape == (4, 1) and rstd.dtype is torch.float32
    close(
        ops.layer_norm_eval(x, [6], w, b),
        (x - x.mean(-1, True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * w + b,
    )
    image, gain, shift = numbers(2, 6, 3, 3), numbers(6) + 2, numbers(6)
    y, mean, rstd = ops.group_norm_silu(image, gain, shift, 3, 1e-5)
    close(y, torch.nn.functional.silu(torch.nn.functional.group_norm(image, 3, gain, shift)))
    assert mean.shape == rstd.shape == (2, 3)
    with pytest.raises(ValueError):
        ops.group_norm_silu(x, w, b, 3)


def test_movement():
    x = numbers(2, 3, 4)
    close(ops.confusion_transpose(x, (1, 0, 2), (3, 8), True), x.permute(1, 0, 2).reshape(3, 8))
    close(ops.confusion_transpose(x, (1, 0), (6, 4), False), x.reshape(6, 4).t())
    close(ops.sort_v2(x, -1, True), x.sort(-1, True)[0])
    cos, sin = numbers(2, 3, 1), numbers(2, 3, 1) + 1
    close(ops.rotary_mul(x, cos, sin), cos * x + sin * torch.cat((-x[..., 2:], x[..., :2]), -1))


def test_masked_softmax():
    x = numbers(2, 1, 5, 5)
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool).triu(1)
    expected = torch.softmax((x * 0.5).masked_fill(mask, -10000.0), -1)
    close(ops.scaled_masked_softmax(x, mask, 0.5, False), expected)
    close(ops.scaled_masked_softmax(x, torch.zeros_like(mask), 0.5, True), expected)


def test_gating():
    x = numbers(3, 5)
    gates, experts, rows = ops.moe_gating_top_k_softmax(x, torch.tensor([False, True, False]), 2)
    values, indices = torch.softmax(x, -1).topk(2, -1)
    close(gates, values)
    assert experts[0].tolist() == indices[0].tolist() and experts[1].tolist() == [5, 5]
    assert rows.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_adam_writes_its_outputs():
    grad = numbers(6)
    out = [numbers(6) + 1, torch.zeros(6, dtype=torch.float64), torch.zeros(6, dtype=torch.float64)]
    parameter = out[0].clone().requires_grad_()
    parameter.grad = grad.clone()
    torch.optim.AdamW([parameter], lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01).step()
    result = ops.apply_adam_w(1.0, 1.0, 0.1, 0.01, 0.9, 0.99, 1e-8, grad, None, False, False, out=out)
    close(result[0], parameter.detach())
    assert result[0] is out[0]
    m, v = numbers(6) * 0.1, numbers(6) ** 2
    out = [numbers(6), m.clone(), v.clone()]
    ops.apply_adam(0.9, 0.99, 0.1, 0.9, 0.99, 1e-8, grad, False, False, out=out)
    close(out[1], 0.9 * m + 0.1 * grad)
    close(out[2], 0.99 * v + 0.01 * grad**2)


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD"])
def test_attention_layouts(layout):
    q, k, v = numbers(2, 4, 6, 8), numbers(2, 2, 7, 8) * 2, numbers(2, 2, 7, 8) + 1
    expected = torch.nn.functional.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))

    def place(tensor):
        if layout == "BNSD":
            return tensor
        tensor = tensor.permute(0, 2, 1, 3)
        if layout == "BSND":
            return tensor
        tensor = tensor.flatten(2)
        return tensor.transpose(0, 1) if layout == "SBH" else tensor

    out, largest, total = ops.fusion_attention(place(q), place(k), place(v), 4, layout)
    close(out, place(expected))
    assert largest.shape == total.shape == (2, 4, 6, 8)


@pytest.mark.parametrize(
    "options, expected",
    [
        (dict(sparse_mode=0, next_tockens=0), lambda m: m.triu(1)),
        (dict(sparse_mode=0, pre_tockens=1, next_tockens=1), lambda m: m.triu(2) | m.tril(-2)),
        (dict(sparse_mode=1), lambda m: m & False),
        (dict(sparse_mode=2), lambda m: m.triu(1)),
        (dict(sparse_mode=3), lambda m: m.triu(3)),
        (dict(sparse_mode=4, pre_tockens=2, next_tockens=1), lambda m: m.triu(2) | m.tril(-3)),
        (dict(sparse_mode=2, atten_mask=torch.ones(2048, 2048, dtype=torch.bool).triu(1)), lambda m: m.triu(1)),
        (dict(sparse_mode=0, atten_mask=torch.ones(5, 7, dtype=torch.bool).tril(-3)), lambda m: m.tril(-3)),
    ],
)
def test_attention_masks(options, expected):
    q, k, v = numbers(1, 2, 5, 4), numbers(1, 2, 7, 4) * 2, numbers(1, 2, 7, 4) + 1
    mask = expected(torch.ones(5, 7, dtype=torch.bool))
    close(
        ops.fusion_attention(q, k, v, 2, "BNSD", **options)[0],
        torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=~mask),
    )


def test_attention_refuses_what_has_no_formula():
    q = numbers(1, 3, 5, 4)
    for arguments in (
        (q, q, q, 3, "TND"),
        (q, q[:, :2], q[:, :2], 3, "BNSD"),
        (numbers(1, 5, 8), numbers(1, 5, 8), numbers(1, 5, 8), 3, "BSH"),
    ):
        with pytest.raises(ValueError):
            ops.fusion_attention(*arguments)
    with pytest.raises(ValueError):
        ops.fusion_attention(q, q, q, 3, "BNSD", keep_prob=0)


def run(name, args, kwargs=None, gradient=None):
    ours = Executor(Replay(settings_message(), torch), CPU)
    return Rows(ours.run(case_message(name, args, kwargs, gradient)))


def half(*shape):
    return tensor("float16", shape, -1.0, 1.0, True)


def test_replay_of_fused_operators():
    mask = tensor("bool", [2048, 2048], False, True)
    rows = run(
        "NPU.npu_fusion_attention.0",
        [half(1, 16, 8)] * 3 + [value(2), value("BSH")],
        {"atten_mask": mask, "sparse_mode": value(2), "keep_prob": value(0.9)},
        half(1, 16, 8),
    )
    assert (rows.forward, rows.backward) == ("pass", "pass")
    assert len([row for row in rows.details if ".forward." in row[0]]) == 1
    assert "keep_prob" in rows.details[0][22]
    assert run("NPU.fast_gelu.0", [half(40)], gradient=half(40)).backward == "pass"
    rows = run("NPU.npu_rms_norm.0", [half(4, 40), half(40)], gradient=half(4, 40))
    assert rows.forward in ("pass", "warning") and rows.backward == "SKIP"
    state = [tensor("float32", [9], 0.5, 1.0) for _ in range(3)]
    rows = run(
        "NPU.npu_apply_adam_w.0",
        [
            value(0.9),
            value(0.99),
            value(0.1),
            value(0.01),
            value(0.9),
            value(0.99),
            value(1e-8),
            state[0],
            None,
            value(False),
            value(False),
        ],
        {"out": state},
    )
    assert rows.forward == "pass" and len([row for row in rows.details if ".forward." in row[0]]) == 3
