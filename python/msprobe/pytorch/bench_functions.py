"""What the fused operators of the NPU plug-in compute, as plain torch calls: the bench of their checks, and on other
devices both sides (spec decisions 33).

Arguments are those of the operators. On the bench they are raised already; half precision arrives only where a GPU or
CPU is the device under test.
"""

import importlib
import math

import torch
import torch.nn.functional as F

_HALF = (torch.float16, torch.bfloat16)
_NO_LIMIT = 2147483647
# The mask that stands for a causal one of any size (sparse modes 2 to 4).
_COMPRESSED_MASK = (2048, 2048)


def find(name, device):
    """The function for one side: on an NPU the operator itself, elsewhere the formula. None if there is no formula."""
    formula = _FORMULAS.get(name)
    if formula is None or device.type != "npu":
        return formula
    spellings = [name, "npu_" + name] if not name.startswith("npu_") else [name, name[len("npu_") :]]
    for module in _npu_modules():
        for spelling in spellings:
            operator = getattr(module, spelling, None)
            if callable(operator):
                return operator
    raise AttributeError("neither torch_npu nor torch.ops.npu has {}".format(name))


def _npu_modules():
    try:
        yield importlib.import_module("torch_npu")
    except ImportError:
        pass
    yield torch.ops.npu


def apply_adam_w(
    beta1_power, beta2_power, lr, weight_decay, beta1, beta2, eps, grad, max_grad_norm, amsgrad, maximize, out
):
    """As the operator, writes into `out` = (var, m, v) and returns it. With amsgrad the maximum is taken with the
    tensor `max_grad_norm`, where the reference takes random numbers."""
    var, m, v = out
    beta1_product = beta1_power * beta1
    beta2_product = beta2_power * beta2
    decayed = var * (1 - lr * weight_decay)
    gradient = -grad if maximize else grad
    new_m = m * beta1 - (beta1 - 1) * gradient
    new_v = v * beta2 - (beta2 - 1) * gradient * gradient
    second = torch.maximum(max_grad_norm, new_v) if amsgrad and isinstance(max_grad_norm, torch.Tensor) else new_v
    beta1_rest = _not_zero(1 - beta1_product, eps)
    beta2_rest = _not_zero(1 - beta2_product, eps)
    denominator = torch.sqrt(second / beta2_rest) + eps
    new_var = decayed + (-lr * new_m / beta1_rest) / denominator
    return _write(out, (new_var, new_m, new_v))


def apply_adam(beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_locking, use_nesterov, out):
    var, m, v = out
    new_m = m + (beta1 - 1) * (m - grad)
    new_v = v + (beta2 - 1) * (v - grad * grad)
    step = lr * math.sqrt(1 - beta2_power) / (1 - beta1_power)
    direction = new_m * beta1 + (1 - beta1) * grad if use_nesterov else new_m
    new_var = var - step * direction / (epsilon + torch.sqrt(new_v))
    return _write(out, (new_var, new_m, new_v))


def _not_zero(value, eps):
    return value if value != 0 else eps


def _write(out, values):
    for target, value in zip(out, values):
        target.copy_(value)
    return list(out)


def confusion_transpose(data, perm, shape, transpose_first):
    if transpose_first:
        return data.permute(*perm).reshape(*shape)
    return data.reshape(*shape).permute(*perm)


def fast_gelu(x):
    c = 1.702
    magnitude = torch.abs(x)
    return x * torch.exp(c / 2 * (x - magnitude)) / (1 + torch.exp(-c * magnitude))


def layer_norm_eval(data, normalized_shape, weight=None, bias=None, eps=1e-5):
    """With weight, bias and eps, which the reference leaves out."""
    return F.layer_norm(data, normalized_shape, weight, bias, eps)


def linear(x, weight, bias=None):
    return F.linear(x, weight, bias)


def rms_norm(x, gamma, epsilon=1e-5):
    rstd = torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + epsilon)
    return x * rstd * gamma, rstd.float()


def rotary_mul(x, r1, r2):
    first, second = torch.chunk(x, 2, dim=-1)
    return r1 * x + r2 * torch.cat((-second, first), dim=-1)


def scaled_masked_softmax(x, mask, scale=1.0, fixed_triu_mask=False):
    if fixed_triu_mask:
        mask = torch.triu(torch.ones(mask.shape, dtype=torch.bool, device=x.device), diagonal=1)
    scaled = (x * scale).masked_fill(mask.to(torch.bool), -10000.0)
    scaled = scaled - scaled.amax(dim=-1, keepdim=True)
    powers = torch.exp(scaled if scaled.dtype is torch.float64 else scaled.float())
    return (powers / powers.sum(dim=-1, keepdim=True)).to(x.dtype)


def swiglu(x, dim=-1):
    gate, value = torch.chunk(x, 2, dim=dim)
    if x.dtype not in _HALF:
        return F.silu(gate) * value
    activated = F.silu(gate.float()).to(x.dtype)
    return (activated.float() * value.float()).to(x.dtype)


def mish(x):
    return x * torch.tanh(F.softplus(x))


def group_norm_silu(x, gama, beta, group, eps=1e-5):
    if x.dim() != 4:
        raise ValueError("npu_group_norm_silu takes 4 dimensions, not {}".format(x.dim()))
    batch, channels, height, width = x.shape
    normalized, mean, rstd = torch.native_group_norm(x, gama, beta, batch, channels, height * width, group, eps)
    return F.silu(normalized), mean, rstd


def sort_v2(x, dim=-1, descending=False, out=None):
    values = torch.sort(x, dim=dim, descending=descending)[0]
    return values if out is None else out.copy_(values)


def moe_gating_top_k_softmax(x, finished_optional=None, k=1):
    share = torch.softmax(x if x.dtype is torch.float64 else x.float(), dim=-1).to(x.dtype)
    order = torch.argsort(share, dim=-1, descending=True, stable=True)[..., :k]
    gates = torch.gather(share, -1, order)
    experts = order.to(torch.int32)
    if finished_optional is not None:
        finished = finished_optional.to(torch.bool).unsqueeze(-1)
        experts = torch.where(finished, torch.full_like(experts, x.shape[-1]), experts)
    rows = x.shape[0]
    row_numbers = torch.arange(k, device=x.device).unsqueeze(0) * rows + torch.arange(rows, device=x.device).unsqueeze(
        1
    )
    return gates, experts, row_numbers.to(torch.int32)


def fusion_attention(query, key, value, head_num, input_layout, **options):
    """Attention in float64; the softmax maximum and sum stand in 8 equal columns, as the operator gives them."""
    if options.get("keep_prob", 1.0) == 0:
        raise ValueError("npu_fusion_attention with keep_prob 0 keeps nothing")
    heads, kv_heads, depth = _attention_heads(query, key, head_num, input_layout)
    q = _to_bnsd(query.double(), heads, input_layout)
    k, v = (
        _to_bnsd(tensor.double(), kv_heads, input_layout).repeat_interleave(heads // kv_heads, dim=1)
        for tensor in (key, value)
    )
    scale = options.get("scale")
    scores = torch.matmul(q, k.transpose(-2, -1))
    pse = options.get("pse")
    if pse is not None and pse.dim() > 0:
        scores = scores + pse.double()
    scores = scores * (1 / math.sqrt(depth) if scale is None else scale)
    mask = _attention_mask(options, q.shape[-2], k.shape[-2], query)
    if mask is not None and mask.dim() > 0:
        scores = scores - 40000.0 * mask.to(torch.bool).double()
    largest = scores.amax(dim=-1, keepdim=True)
    powers = torch.exp(scores - largest)
    total = powers.sum(dim=-1, keepdim=True)
    result = _from_bnsd(torch.matmul(powers / total, v), input_layout).to(query.dtype)
    return result, largest.repeat(1, 1, 1, 8), total.repeat(1, 1, 1, 8)


def _attention_heads(query, key, head_num, layout):
    if layout in ("BSH", "SBH"):
        if head_num < 1 or query.shape[2] % head_num:
            raise ValueError("{} columns cannot be split into {} heads".format(query.shape[2], head_num))
        heads, depth = head_num, query.shape[2] // head_num
        kv_heads = key.shape[2] // depth if depth else 0
    elif layout in ("BSND", "BNSD"):
        axis = 1 if layout == "BNSD" else 2
        heads, kv_heads, depth = query.shape[axis], key.shape[axis], query.shape[3]
    else:
        raise ValueError("the layout {} has no formula".format(layout))
    if depth == 0 or kv_heads == 0 or heads % kv_heads:
        raise ValueError("{} heads cannot share {} heads of key and value".format(heads, kv_heads))
    return heads, kv_heads, depth


def _to_bnsd(tensor, heads, layout):
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.permute(0, 2, 1, 3)
    if layout == "SBH":
        tensor = tensor.transpose(0, 1)
    batch, length, width = tensor.shape
    return tensor.reshape(batch, length, heads, width // heads).permute(0, 2, 1, 3)


def _from_bnsd(tensor, layout):
    if layout == "BNSD":
        return tensor
    tensor = tensor.permute(0, 2, 1, 3)
    if layout == "BSND":
        return tensor
    tensor = tensor.reshape(tensor.shape[0], tensor.shape[1], -1)
    return tensor.transpose(0, 1) if layout == "SBH" else tensor


def _attention_mask(options, rows, columns, query):
    """True is masked: the mask that was given, or what its absence or compressed form means in the sparse mode."""
    given = options.get("atten_mask")
    mode = int(options.get("sparse_mode") or 0)
    if given is not None and not (mode in (2, 3, 4) and _is_compressed_mask(given)):
        return given
    ones = torch.ones(rows, columns, dtype=torch.bool, device=query.device)
    if mode in (0, 4):
        following = int(options.get("next_tockens", _NO_LIMIT))
        preceding = int(options.get("pre_tockens", _NO_LIMIT))
        return ones.triu(min(following + 1, columns)) | ones.tril(max(-preceding - 1, -rows))
    if mode == 1:
        return None
    if mode == 2:
        return ones.triu(1)
    if mode == 3:
        return ones.triu(columns - rows + 1)
    raise ValueError("sparse_mode {} has no formula".format(mode))


def _is_compressed_mask(mask):
    if tuple(mask.shape) != _COMPRESSED_MASK:
        return False
    expected = torch.ones(_COMPRESSED_MASK, dtype=torch.bool, device=mask.device).triu(1)
    return bool(torch.equal(mask.to(torch.bool), expected))


_FORMULAS = {
    "fast_gelu": fast_gelu,
    "npu_apply_adam": apply_adam,
    "npu_apply_adam_w": apply_adam_w,
    "npu_confusion_transpose": confusion_transpose,
    "npu_fast_gelu": fast_gelu,
    "npu_fusion_attention": fusion_attention,
    "npu_group_norm_silu": group_norm_silu,
    "npu_layer_norm_eval": layer_norm_eval,
    "npu_linear": linear,
    "npu_mish": mish,
    "npu_moe_gating_top_k_softmax": moe_gating_top_k_softmax,
    "npu_rms_norm": rms_norm,
    "npu_rotary_mul": rotary_mul,
    "npu_scaled_masked_softmax": scaled_masked_softmax,
    "npu_sort_v2": sort_v2,
    "npu_swiglu": swiglu,
}
