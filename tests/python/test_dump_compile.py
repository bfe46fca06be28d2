"""torch.compile with the tool on: graphs, recompilations, warnings and numbers of a run without it; nothing is recorded."""

import threading
import warnings

import pytest
import torch

dynamo = pytest.importorskip("torch._dynamo")
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402

ON_AND_OFF = ((1, 0, 1), (0, 1, 1, 0))


@pytest.fixture(autouse=True)
def fresh_compiler():
    dynamo.reset()
    counters.clear()
    yield
    dynamo.reset()


@pytest.fixture
def collect(fresh_debugger, tmp_path):
    """collect(function, times): calls it once per entry of `times`, collecting where the entry is 1."""
    debugger = fresh_debugger(dump_path=str(tmp_path))

    def run(function, times, model=None):
        results = []
        for on in times:
            if on:
                debugger.start(model)
            results.append(function())
            if on:
                debugger.stop()
            debugger.step()
        assert torch._C._len_torch_function_stack() == 0
        return results

    return run


def operators(x, y):
    z = 2 * (x + y) - y
    z = z / 3 + 1 / (y.abs() + 1)
    z += 1
    z = -(z ** 2)
    z = z.clone()
    z[0] = z[1] @ y
    mask = (z > 0) & (y < 1) | ~(x > 0)
    z = torch.Tensor.__mul__(z, 2).__add__(y)
    return z * mask


@dynamo.disable
def left_out(x):
    return torch.sigmoid(x) + 1


@torch.compile(backend="eager")
def compiled_inside(x):
    return torch.tanh(x) * 2


def breaking(x, y):
    x = operators(x, y)
    dynamo.graph_break()
    x = compiled_inside(left_out(x.relu()))
    if x.sum() > 1e9:
        x = x + 1
    return x.sin()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.Linear(4, 4))
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x, y=None):
        return self.norm(self.layers(x)) + 1


def compile_function(function, backend):
    return torch.compile(function, backend=backend)


def compile_whole(function, backend):
    return torch.compile(operators, backend=backend, fullgraph=True)


def compile_module(function, backend):
    return torch.compile(Net(), backend=backend)


def compile_in_place(function, backend):
    module = Net()
    module.compile(backend=backend)
    return module


def compile_nested(function, backend):
    inner = torch.compile(function, backend=backend)
    return torch.compile(lambda x, y: inner(x + 1, y) * 2, backend=backend)


def measure(backend, make):
    """(a step to call, facts that the tool must not change)."""
    counter = CompileCounterWithBackend(backend)
    callable_ = make(breaking, counter)
    torch.manual_seed(0)
    x, y = torch.randn(4, 4, requires_grad=True), torch.full((4, 4), 0.5)

    def step():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hidden = torch.exp(x)
            loss = callable_(hidden, y).sum() * 1.0
            loss.backward()
        gradient, x.grad = x.grad, None
        return loss.item(), gradient.tolist(), [str(w.message) for w in caught]

    def facts():
        return (counter.frame_count, counter.op_count, dict(counters["frames"]), dict(counters["stats"]),
                sorted(counters["graph_break"].values()), dict(counters["recompile_limit"]))

    return step, facts


@pytest.mark.parametrize("times", ON_AND_OFF)
@pytest.mark.parametrize("backend, make", (
    ("eager", compile_function), ("aot_eager", compile_function), ("aot_eager", compile_whole), ("aot_eager", compile_module),
    ("aot_eager", compile_in_place), ("eager", compile_nested)))
def test_graphs_and_numbers_are_those_without_the_tool(collect, backend, make, times):
    step, facts = measure(backend, make)
    expected = [step() for _ in times]
    expected_facts = facts()
    dynamo.reset()
    counters.clear()
    step, facts = measure(backend, make)
    assert collect(step, times) == expected
    assert facts() == expected_facts


def test_the_first_compilation_may_happen_while_collecting_or_not(collect):
    counter = CompileCounterWithBackend("eager")
    function = torch.compile(operators, backend=counter)
    arguments = torch.ones(3, 3), torch.full((3, 3), 0.5)
    collect(lambda: function(*arguments), (0, 1, 0, 1, 1))
    assert counter.frame_count == 1


def test_calls_around_compiled_code_are_recorded_and_those_inside_are_not(record, capsys):
    x, y = torch.ones(3, 3, requires_grad=True), torch.full((3, 3), 0.5)
    function = torch.compile(breaking, backend="aot_eager")

    def step():
        for _ in range(2):
            (function(torch.exp(x), y) * 2).sum().backward()

    names = list(record(step).data)
    one = ["Torch.exp.%d.forward", "Tensor.__mul__.%d.forward", "Tensor.sum.%d.forward",
           "Tensor.sum.%d.backward", "Tensor.__mul__.%d.backward", "Torch.exp.%d.backward"]
    assert names == [name % i for i in range(2) for name in one]
    assert capsys.readouterr().out.count("compiled by torch.compile are not recorded") == 1


def test_gradients_that_come_out_of_a_compiled_region_are_recorded(record):
    x = torch.ones(3, requires_grad=True)
    function = torch.compile(lambda t: t * t * 3, backend="aot_eager")
    dump = record(lambda: function(torch.exp(x)).sum().backward())
    gradient = dump.data["Torch.exp.0.backward"]["input"][0]
    assert gradient["Max"] == pytest.approx(6 * 2.718281828, rel=1e-6)


def test_an_exception_in_compiled_code_leaves_the_tool_in_place(record):
    @torch.compile(backend="eager")
    def failing(x):
        dynamo.graph_break()
        raise KeyError("of the user")

    def step():
        for _ in range(2):
            with pytest.raises(KeyError, match="of the user"):
                failing(torch.ones(2))
            torch.neg(torch.ones(2)) + 1

    assert record(step).names("forward") == [
        "Torch.neg.0.forward", "Tensor.__add__.0.forward", "Torch.neg.1.forward", "Tensor.__add__.1.forward"]


def test_a_backend_that_fails_leaves_the_tool_in_place(record):
    def backend(graph, inputs):
        raise ValueError("of the backend")

    def step():
        with pytest.raises(Exception, match="of the backend"):
            torch.compile(torch.sin, backend=backend)(torch.ones(2))
        torch.neg(torch.ones(2)) + 1

    assert record(step).names("forward") == ["Torch.neg.0.forward", "Tensor.__add__.0.forward"]


def started_inside(debugger, where):
    """A step whose compiled code starts the debugger."""
    if where == "backend":
        def backend(graph, inputs):
            debugger.start()
            return graph

        return torch.compile(lambda x: torch.cos(torch.sin(x)), backend=backend)

    @dynamo.disable
    def disabled():
        debugger.start()

    def function(x):
        y = torch.sin(x)
        disabled() if where == "disabled" else debugger.start()
        return torch.cos(y)

    return torch.compile(function, backend="eager")


@pytest.mark.parametrize("where", ["graph break", "disabled", "backend"])
def test_started_inside_compiled_code(fresh_debugger, load_dump, tmp_path, where):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    x = torch.ones(3, requires_grad=True)
    y = started_inside(debugger, where)(x)
    assert torch._C._len_torch_function_stack() == 1
    (torch.relu(y) + 1).sum().backward()
    debugger.stop()
    assert torch._C._len_torch_function_stack() == 0
    assert load_dump(tmp_path).names("forward") == [
        "Torch.relu.0.forward", "Tensor.__add__.0.forward", "Tensor.sum.0.forward"]


def test_stopped_and_started_inside_compiled_code(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))

    @torch.compile(backend="eager")
    def switching(x, on):
        x = torch.sin(x)
        if on is not None:
            debugger.start() if on else debugger.stop()
        return torch.cos(x)

    x = torch.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        debugger.start()
        torch.neg(x)
        switching(x, False)
        assert torch._C._len_torch_function_stack() == 0
        torch.abs(x)
        switching(x, True)
        torch.exp(x)
        switching(x, None)
        torch.log(x)
        debugger.stop()
    assert torch._C._len_torch_function_stack() == 0
    assert load_dump(tmp_path).names("forward") == [
        "Torch.neg.0.forward", "Torch.exp.0.forward", "Torch.log.0.forward"]


def test_nothing_stays_in_the_compiler(fresh_debugger, tmp_path):
    from torch._dynamo import eval_frame

    originals = eval_frame.set_eval_frame, eval_frame._maybe_set_eval_frame
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    assert eval_frame.set_eval_frame is not originals[0]
    debugger.stop()
    assert (eval_frame.set_eval_frame, eval_frame._maybe_set_eval_frame) == originals
    assert torch._C._dynamo.eval_frame.set_eval_frame is originals[0]


def test_the_compiler_may_be_loaded_while_collecting(run_python, tmp_path):
    code, out, err = run_python("""
import sys, torch
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
assert "torch._dynamo" not in sys.modules
original = torch._C._dynamo.eval_frame.set_eval_frame.__wrapped__
function = torch.compile(lambda x: torch.cos(torch.sin(x)), backend="eager", fullgraph=True)
torch.neg(function(torch.ones(2)))
debugger.stop()
assert sys.modules["torch._dynamo.eval_frame"].set_eval_frame is original
assert sys.modules["torch._dynamo.decorators"].set_eval_frame is original
assert torch._C._dynamo.eval_frame.set_eval_frame is original
""", tmp_path)
    assert code == 0, err
    assert '"Torch.neg.0.forward"' in (tmp_path / "step0" / "rank" / "dump.json").read_text()
    assert "sin" not in (tmp_path / "step0" / "rank" / "dump.json").read_text()


def test_modes_of_the_user_keep_their_order_around_compiled_code(record):
    from torch.overrides import TorchFunctionMode

    order = []

    class Noting(TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, function, types, args=(), kwargs=None):
            order.append(self.name)
            return function(*args, **(kwargs or {}))

    x = torch.ones(2)
    function = torch.compile(lambda t: torch.sin(t), backend="eager")

    def step():
        with Noting("outer"), Noting("inner"):
            function(x)
            order.clear()
            torch.neg(x)
            assert order == ["inner", "outer"]
        assert torch._C._len_torch_function_stack() == 1

    assert record(step).names("forward") == ["Torch.neg.0.forward"]


def test_compiled_code_in_another_thread_does_not_disturb_this_one(record):
    function = torch.compile(operators, backend="eager")
    inside, go_on = threading.Event(), threading.Event()

    @dynamo.disable
    def wait():
        inside.set()
        go_on.wait()

    def waiting(x, y):
        dynamo.graph_break()
        wait()
        return operators(x, y)

    x, y = torch.ones(3, 3), torch.full((3, 3), 0.5)

    def step():
        thread = threading.Thread(target=torch.compile(waiting, backend="eager"), args=(x, y))
        thread.start()
        inside.wait()
        x + y
        function(x, y)
        x * y
        go_on.set()
        thread.join()
        x - y

    assert record(step).names("forward") == [
        "Tensor.__add__.0.forward", "Tensor.__mul__.0.forward", "Tensor.__sub__.0.forward"]


def test_uncompiled_when_compilation_is_disabled_is_recorded(record):
    function = torch.compile(lambda x: torch.sin(x), backend="eager")

    def step():
        with torch.compiler.set_stance("force_eager"):
            function(torch.ones(2))

    assert record(step).names("forward") == ["Torch.sin.0.forward"]


@pytest.mark.parametrize("level", ["L0", "mix"])
@pytest.mark.parametrize("make", (compile_module, compile_in_place))
def test_modules_inside_compiled_ones_cause_no_graph_breaks(fresh_debugger, tmp_path, level, make):
    def run(collecting):
        dynamo.reset()
        counters.clear()
        counter = CompileCounterWithBackend("aot_eager")
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), make(None, counter), torch.nn.ReLU())
        x = torch.ones(2, 4)
        losses = []
        debugger = fresh_debugger(dump_path=str(tmp_path), level=level, model=model) if collecting else None
        for on in (0, 1, 0, 1):
            if collecting and on:
                debugger.start(model)
            loss = model(x).sum()
            loss.backward()
            losses.append(loss.item())
            if collecting:
                debugger.stop() if on else None
                debugger.step()
        gradients = [p.grad.tolist() for p in model.parameters()]
        return losses, gradients, counter.frame_count, counter.op_count, dict(counters["frames"])

    torch.manual_seed(3)
    expected = run(False)
    torch.manual_seed(3)
    assert run(True) == expected


@pytest.mark.slow
def test_inductor(collect):
    def run(times, collecting):
        dynamo.reset()
        torch.manual_seed(0)
        model = torch.compile(Net())
        x = torch.randn(8, 4)

        def step():
            model.zero_grad()
            loss = model(x).square().sum()
            loss.backward()
            return loss.item(), [p.grad.tolist() for p in model.parameters()]

        return collect(step, times) if collecting else [step() for _ in times]

    assert run((1, 0, 1), True) == run((1, 0, 1), False)
