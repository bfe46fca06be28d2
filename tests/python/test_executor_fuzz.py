"""Whatever a dump says, a case ends in rows: nothing raises, nothing takes the worker along."""

import json

import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from checker_support import Rows, settings_message
from msprobe._core.replay import Replay
from msprobe.pytorch.executor import Executor

NAMES = [
    "Torch.add",
    "Torch.cat",
    "Tensor.__getitem__",
    "Tensor.__setitem__",
    "Functional.cross_entropy",
    "Torch.histc",
    "Functional.embedding",
    "Functional.conv2d",
    "Functional.dropout",
    "Tensor.squeeze_",
    "Torch.topk",
    "Torch.where",
    "Tensor.masked_fill_",
    "Functional.scaled_dot_product_attention",
    "NPU.npu_fusion_attention",
    "NPU.npu_swiglu",
    "Torch.linalg.norm",
    "Torch.norm",
    "Functional.batch_norm",
    "Tensor.type_as",
    "Torch.no_such",
    "Aten.add",
    "x",
]
DTYPES = [
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int32",
    "int64",
    "uint8",
    "bool",
    "complex64",
    "float8_e4m3fn",
    "quint8",
]

numbers = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-300, 300),
    st.floats(width=32),
    st.sampled_from([2**63 - 1, -(2**63), 2**64 - 1, 1e308]),
)
sizes = st.lists(st.integers(-1, 5), max_size=4)


@st.composite
def tensors(draw):
    element = {"type": "torch.Tensor", "dtype": "torch." + draw(st.sampled_from(DTYPES)), "shape": draw(sizes)}
    for key in ("Max", "Min"):
        if draw(st.booleans()) or draw(st.booleans()):
            element[key] = draw(numbers)
        for companion in ("_except_inf_nan", "_origin"):
            if draw(st.integers(0, 9)) == 0:
                element[key + companion] = draw(numbers)
    element["requires_grad"] = draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        element["stride"] = draw(
            st.lists(st.integers(-2, 20), min_size=len(element["shape"]), max_size=len(element["shape"]))
        )
        element["storage_offset"] = draw(st.integers(-3, 30))
    if draw(st.integers(0, 9)) == 0:
        element["data_name"] = draw(st.text(max_size=12))
    return element


values = st.one_of(
    st.none(),
    tensors(),
    st.builds(
        lambda v: {"type": type(v).__name__, "value": v},
        st.one_of(st.booleans(), st.integers(-9, 9), st.floats(), st.text(max_size=5)),
    ),
    st.builds(lambda v: {"type": "slice", "value": v}, st.lists(st.one_of(st.none(), st.integers(-3, 3)), max_size=4)),
    st.sampled_from(
        [
            {},
            {"type": "ellipsis", "value": "..."},
            {"type": "torch.Size", "value": [2, 3]},
            {"type": "torch.dtype", "value": "torch.float16"},
        ]
    ),
)
elements = st.recursive(
    values,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=2)),
    max_leaves=6,
)
sections = st.fixed_dictionaries(
    {},
    optional={
        "input_args": st.one_of(st.lists(elements, max_size=4), elements),
        "input_kwargs": st.one_of(
            st.dictionaries(st.sampled_from(["out", "dim", "dtype", "device", "weight", "x"]), elements, max_size=2),
            elements,
        ),
        "output": st.lists(elements, max_size=1),
    },
)
backwards = st.one_of(st.none(), st.fixed_dictionaries({"input": st.lists(elements, max_size=2)}))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(NAMES), sections, backwards)
def test_every_case_ends_in_rows(name, forward, backward):
    message = json.dumps({"type": "case", "index": 3, "name": name + ".0", "forward": forward, "backward": backward})
    rows = Rows(Executor(REPLAY, torch.device("cpu")).run(message.encode()))
    assert rows.index == 3
    assert rows.forward in ("pass", "warning", "error", "SKIP")
    assert rows.backward in ("pass", "warning", "error", "SKIP", " ")
    assert rows.details and all(len(row) == 23 for row in rows.details)
    assert all("\n" not in cell for row in rows.details for cell in row)


REPLAY = Replay(settings_message(), torch)
