"""torch.jit, function transforms, tracing and fake tensors inside start and stop: the same results, calls pass through."""

import re
import warnings

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
func = pytest.importorskip("torch.func")
from torch.func import (  # noqa: E402
    functional_call, functionalize, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap)


MARK = "Torch.erf.0.forward"


def sine(x):
    return (torch.sin(x @ torch.eye(3)) * 2).sum() + x[0].sum()


def rows(x):
    return torch.exp(x + 1) * x


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return F.gelu(self.linear(x)) + x[0] - (-x)


def same(a, b):
    if isinstance(a, torch.Tensor):
        return type(a) is type(b) and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.fixture
def unchanged(record):
    """The dump of a function, whose result the tool must not change."""

    def run(function, *arguments, task="statistics"):
        results = [function(*arguments)]

        def step():
            results.append(function(*arguments))
            torch.erf(torch.ones(1))  # a step without a record has no dump

        dump = record(step, task=task)
        assert same(*results)
        return dump

    return run


def ensemble(x):
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 2) for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    call = lambda p, b, t: functional_call(models[0], (p, b), (t,))
    return vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)


def per_sample_gradients(x):
    block = Block()
    parameters = {name: p.detach() for name, p in block.named_parameters()}
    loss = lambda p, t: functional_call(block, p, (t,)).square().sum()
    return list(vmap(grad(loss), in_dims=(None, 0))(parameters, x).values())


def in_place(x):
    return x.clone().add_(1).mul_(2)[0]


TRANSFORMS = {
    "vmap": lambda x: vmap(rows)(x),
    "nested vmap": lambda x: vmap(vmap(rows))(x),
    "grad": lambda x: grad(sine)(x),
    "vmap of grad": lambda x: vmap(grad(lambda t: rows(t).sum()))(x),
    "jvp": lambda x: jvp(sine, (x,), (x,)),
    "vjp": lambda x: vjp(sine, x)[1](torch.tensor(1.0)),
    "jacrev": lambda x: jacrev(rows)(x[0]),
    "jacfwd": lambda x: jacfwd(rows)(x[0]),
    "hessian": lambda x: hessian(lambda t: rows(t).sum())(x[0]),
    "functionalize": lambda x: functionalize(in_place)(x),
    "ensemble": ensemble,
    "per sample": per_sample_gradients,
    "functional jacobian": lambda x: torch.autograd.functional.jacobian(rows, x[0]),
}


@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_function_transforms_give_the_same(unchanged, name, task):
    assert len(unchanged(TRANSFORMS[name], torch.rand(3, 3), task=task).names("forward")) > 1


def test_tensors_inside_a_transform_have_no_statistics(unchanged):
    dump = unchanged(TRANSFORMS["vmap of grad"], torch.rand(3, 3), task="tensor")
    first = dump.data["Tensor.__add__.0.forward"]["input_args"][0]
    assert first["shape"] == [3]
    assert [first[key] for key in ("Max", "Min", "Mean", "Norm")] == [None] * 4 and "data_name" not in first


def test_forward_mode_gradients(unchanged):
    import torch.autograd.forward_ad as forward_ad

    def tangent(x):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(torch.sin(forward_ad.make_dual(x, x))).tangent

    assert unchanged(tangent, torch.rand(3)).names("forward") == ["Torch.sin.0.forward", MARK]


def nodes(graph_module):
    return [node.format_node() for node in graph_module.graph.nodes]


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic", "pre_dispatch", "functionalize"])
def test_make_fx_traces_the_same_graph(unchanged, mode):
    from torch.fx.experimental.proxy_tensor import make_fx

    def flattened(x):
        y = x.view(x.shape[0] * x.shape[1])
        return y[:x.shape[0]].reshape(x.shape[0], 1).sum() + in_place(x).sum()

    def trace(x):
        if mode == "pre_dispatch":
            return nodes(make_fx(flattened, pre_dispatch=True)(x))
        if mode == "functionalize":
            return nodes(make_fx(functionalize(flattened))(x))
        return nodes(make_fx(flattened, tracing_mode=mode)(x))

    unchanged(trace, torch.rand(2, 3))


class Sized(torch.nn.Module):
    """Its graph shows any size that was asked for as a number."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x).view(x.shape[0] * 3)
        return F.gelu(y)[:x.shape[0]], y.sum(), y[1:x.shape[0]]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_export_gives_the_same_program(unchanged, strict, dynamic):
    export = pytest.importorskip("torch.export")
    model = Sized()
    shapes = {"dynamic_shapes": {"x": {0: export.Dim("batch", min=3, max=100)}}} if dynamic else {}

    def exported(x):
        program = export.export(model, (x,), strict=strict, **shapes)
        return nodes(program.graph_module) + [str(program.graph_signature), str(program.range_constraints)]

    unchanged(exported, torch.rand(4, 3))


def test_sizes_of_symbolic_tensors_are_those_they_were_traced_with(unchanged):
    from torch.fx.experimental.proxy_tensor import make_fx

    dump = unchanged(lambda x: nodes(make_fx(lambda t: t.reshape(t.shape[0] * 2)[:t.shape[0]], tracing_mode="symbolic")(x)),
                     torch.rand(5, 2))
    reshape = dump.data["Tensor.reshape.0.forward"]
    assert reshape["input_args"][0]["shape"] == [5, 2]
    assert reshape["input_args"][1] == {"type": "int", "value": 10}
    assert dump.data["Tensor.__getitem__.0.forward"]["input_args"][1] == {"type": "slice", "value": [None, 5, None]}


def test_fake_tensors_are_described_and_never_read(unchanged):
    from torch._subclasses.fake_tensor import FakeTensorMode

    def shapes():
        with FakeTensorMode():
            y = torch.empty(3, 4) @ torch.ones(4, 2) + 1
            y.relu_()
        return tuple(y.shape)

    product = unchanged(shapes, task="tensor").data["Tensor.__matmul__.0.forward"]
    assert [t["shape"] for t in product["input_args"] + product["output"]] == [[3, 4], [4, 2], [3, 2]]
    assert all(t["type"].endswith("FakeTensor") and t["Max"] is None and "data_name" not in t
               for t in product["input_args"] + product["output"])


def test_symbolic_tracing_of_modules(unchanged):
    unchanged(lambda: nodes(torch.fx.symbolic_trace(Block())))


def graph_text(graph):
    return re.sub(r"#.*|___torch_mangle_\d+\.", "", str(graph))


@pytest.mark.parametrize("make", [torch.jit.script, lambda f: torch.jit.trace(f, torch.rand(3, 3))], ids=["script", "trace"])
@pytest.mark.parametrize("subject", [sine, rows, Block()], ids=["sine", "rows", "module"])
def test_scripted_and_traced_before_the_start(unchanged, make, subject):
    compiled = make(subject)
    assert unchanged(compiled, torch.rand(3, 3)).names("forward") == [MARK]


@pytest.mark.parametrize("subject", [sine, rows, Block()], ids=["sine", "rows", "module"])
def test_scripting_inside_gives_the_same_graph(unchanged, subject):
    def script(x):
        scripted = torch.jit.script(subject)
        return scripted(x), graph_text(scripted.graph)

    assert unchanged(script, torch.rand(3, 3)).names("forward") == [MARK]


@pytest.mark.parametrize("subject", [sine, rows, Block()], ids=["sine", "rows", "module"])
def test_tracing_inside_gives_the_same_graph(unchanged, subject):
    def trace(x):
        traced = torch.jit.trace(subject, x)
        return traced(x), graph_text(traced.inlined_graph)

    assert len(unchanged(trace, torch.rand(3, 3)).names("forward")) > 1


def test_what_is_done_to_unusual_tensors_is_not_traced(unchanged):
    """Conjugates are copied to be read; the copies belong to no graph."""
    def conjugates(x):
        return torch.real(x.conj() * x)

    def trace(x):
        return graph_text(torch.jit.trace(conjugates, x).inlined_graph)

    dump = unchanged(trace, torch.tensor([1 + 2j, 3 - 1j]))
    assert dump.data["Tensor.__mul__.0.forward"]["input_args"][0]["Max"] == pytest.approx(10 ** 0.5)


def test_scripting_works_before_and_after(fresh_debugger, tmp_path):
    x = torch.rand(3, 3)
    debugger = fresh_debugger(dump_path=str(tmp_path))
    before = torch.jit.script(sine)(x)
    debugger.start()
    during = torch.jit.script(sine)(x)
    debugger.stop()
    assert before == during == torch.jit.script(sine)(x) == sine(x)


def test_no_new_warnings(record):
    def caught(run):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            run()
        return [str(warning.message) for warning in seen]

    step = lambda: (vmap(rows)(torch.rand(2, 3)), torch.jit.trace(rows, torch.rand(2, 3)), torch.jit.script(rows))
    expected = caught(step)
    assert caught(lambda: record(step)) == expected
