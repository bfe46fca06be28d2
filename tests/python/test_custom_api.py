"""Functions of other modules, custom operators, and what the lists of the user name."""

import os
import sys
import types

import pytest
import torch

from msprobe.core.common.exceptions import MsprobeException


def composite(x, weight, *, scale=1.0):
    """Several autograd nodes, from Python."""
    return torch.sin(x @ weight) * scale


class Operators:
    @staticmethod
    def static(x):
        return x + 1

    @classmethod
    def of_class(cls, x):
        return cls.__name__, x + 2

    def method(self, x):
        return x + 3

    builtin = len


@pytest.fixture
def module():
    """A module of the user with functions of several kinds; as it was before afterwards."""
    made = types.ModuleType("my_ops")
    made.composite = composite
    made.size = len
    made.Operators = Operators
    before = dict(vars(made)), dict(vars(Operators))
    yield made
    assert dict(vars(made)) == before[0] and dict(vars(Operators)) == before[1]


@pytest.fixture
def collect(record):
    """What is recorded while a function runs with registered APIs: (module, name[, prefix])."""

    def run(function, *apis, **settings):
        def register(debugger):
            for api in apis:
                debugger.register_custom_api(*api)

        return record(function, prepare=register, **settings)

    return run


def test_a_python_function_is_one_record_with_its_own_gradients(module, collect):
    x, weight = torch.randn(2, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    expected = torch.autograd.grad((composite(x, weight, scale=2.0) * 3).sum(), (x, weight))

    dump = collect(lambda: (module.composite(x, weight, scale=2.0) * 3).sum().backward(), (module, "composite"))
    assert dump.names("forward") == ["my_ops.composite.0.forward", "Tensor.__mul__.0.forward", "Tensor.sum.0.forward"]
    forward, backward = dump.data["my_ops.composite.0.forward"], dump.data["my_ops.composite.0.backward"]
    assert [a["shape"] for a in forward["input_args"]] == [[2, 3], [3, 4]]
    assert forward["input_kwargs"] == {"scale": {"type": "float", "value": 2.0}}
    assert forward["output"][0]["shape"] == [2, 4] and "my_ops.composite.0.forward" in dump.stack
    assert backward["input"][0]["Max"] == 3.0
    for recorded, gradient in zip(backward["output"], expected):
        assert recorded["Norm"] == pytest.approx(gradient.norm().item(), rel=1e-5)


def test_calls_are_unchanged(module, collect):
    x, weight = torch.randn(2, 3), torch.randn(3, 4)
    module.composite(x, weight)

    def step():
        assert torch.equal(module.composite(x, weight=weight), composite(x, weight))
        assert module.composite == composite and module.composite.__doc__ == composite.__doc__
        with pytest.raises(TypeError, match="unexpected keyword"):
            module.composite(x, wrong=1)
        module.composite(x, weight)

    names = collect(step, (module, "composite")).names("forward")
    assert [name for name in names if name.startswith("my_ops")] == [
        "my_ops.composite.0.forward", "my_ops.composite.1.forward"]


def test_builtin_functions_and_attributes_of_classes(module, collect):
    x = torch.ones(2)
    owner = Operators()

    def step():
        assert module.size([x, x]) == 2
        assert torch.equal(Operators.static(x), x + 1) and torch.equal(owner.static(x), x + 1)
        name, y = Operators.of_class(x)
        assert name == "Operators"
        assert torch.equal(owner.method(x), x + 3) and Operators.builtin([1]) == owner.builtin([1]) == 1

    dump = collect(step, (module, "size"), (Operators, "static", "Mine"), (Operators, "of_class"), (Operators, "method"),
                   (Operators, "builtin"))
    names = [name for name in dump.names("forward") if not name.startswith(("Tensor", "Torch"))]
    assert names == ["my_ops.size.0.forward", "Mine.static.0.forward", "Mine.static.1.forward", "Operators.of_class.0.forward",
                     "Operators.method.0.forward", "Operators.builtin.0.forward", "Operators.builtin.1.forward"]
    assert len(dump.data["Operators.method.0.forward"]["input_args"]) == 2
    assert dump.data["my_ops.size.0.forward"]["output"] == [{"type": "int", "value": 2}]


def test_an_object_gets_its_attribute_back(collect):
    owner = Operators()
    collect(lambda: owner.method(torch.ones(1)), (owner, "method", "Object"))
    assert "method" not in vars(owner)


def test_only_the_outermost_call_is_recorded(module, collect):
    def outer(x):
        return module.composite(x, x)

    module.outer = outer
    try:
        dump = collect(lambda: module.outer(torch.ones(2, 2)), (module, "composite"), (module, "outer"))
        assert list(dump.data) == ["my_ops.outer.0.forward"]
    finally:
        del module.outer


def test_a_function_of_torch_keeps_its_identity(collect):
    before = torch.kron

    def step():
        assert torch.kron is before
        torch.kron(torch.ones(2), torch.ones(2))

    dump = collect(step, (torch, "kron", "Special"))
    assert list(dump.data) == ["Special.kron.0.forward"]


def test_restore_brings_back_what_was_there(module, configured, load_dump, tmp_path):
    debugger = configured()
    debugger.restore_custom_api(module, "composite")  # never registered: nothing
    debugger.register_custom_api(module, "composite")
    debugger.register_custom_api(torch, "sin", "Special")
    debugger.start()
    module.composite(torch.ones(1, 1), torch.ones(1, 1))
    torch.sin(torch.ones(1))
    debugger.restore_custom_api(module, "composite")
    debugger.restore_custom_api(torch, "sin")
    assert module.composite is composite
    torch.sin(torch.ones(1))
    debugger.register_custom_api(module, "composite", "Again")
    module.composite(torch.ones(1, 1), torch.ones(1, 1))
    debugger.stop()
    assert load_dump(tmp_path / "dump").names("forward") == [
        "my_ops.composite.0.forward", "Special.sin.0.forward", "Torch.sin.0.forward", "Again.composite.0.forward"]


def test_what_somebody_else_has_set_meanwhile_stays(configured):
    owner = types.SimpleNamespace(function=composite)
    debugger = configured()
    debugger.register_custom_api(owner, "function")
    debugger.start()
    owner.function = len
    debugger.stop()
    assert owner.function is len


@pytest.mark.parametrize("owner, arguments, words", [
    (torch, ("no_such_function",), "torch has no attribute 'no_such_function'"),
    (torch, (5,), "not 5"), (torch, ("sin", 3), "api_prefix"), (torch, ("float32",), "float32 is no function but a dtype"),
    (dict, ("get",), "built-in class dict"),
])
def test_what_cannot_be_registered_is_refused(configured, owner, arguments, words):
    with pytest.raises(MsprobeException) as caught:
        configured().register_custom_api(owner, *arguments)
    assert words in str(caught.value) and caught.value.code == MsprobeException.INVALID_PARAM_ERROR


def test_an_owner_without_a_name_has_the_prefix_custom(collect):
    owner = types.SimpleNamespace(function=composite)
    dump = collect(lambda: owner.function(torch.ones(1, 1), torch.ones(1, 1)), (owner, "function"))
    assert list(dump.data) == ["Custom.function.0.forward"]


def test_functions_of_custom_wrap_ops(module, configured, load_dump, tmp_path, monkeypatch, capsys):
    from msprobe.core.common.log import logger
    from msprobe.pytorch import custom_apis

    listed = tmp_path / "custom_wrap_ops.yaml"
    listed.write_text("my_ops:\n  - composite\n  - missing\nlate_ops:\n  - late\nnot a path:\n  - x\n")
    monkeypatch.setattr(custom_apis, "CUSTOM_OPS", str(listed))
    monkeypatch.setitem(sys.modules, "my_ops", module)
    logger._told.clear()
    debugger = configured()
    assert "not a path" in capsys.readouterr().out
    for _ in range(2):
        debugger.start()
        module.composite(torch.ones(1, 1), torch.ones(1, 1))
        if "late_ops" in sys.modules:
            sys.modules["late_ops"].late(torch.ones(1))
        debugger.stop()
        late = types.ModuleType("late_ops")
        late.late = lambda x: x
        monkeypatch.setitem(sys.modules, "late_ops", late)
    out = capsys.readouterr().out
    assert out.count("my_ops.missing") == out.count("late_ops.late of") == 1
    assert "there is no such function" in out and "is not imported" in out
    assert load_dump(tmp_path / "dump").names("forward") == [
        "my_ops.composite.0.forward", "my_ops.composite.1.forward", "late_ops.late.0.forward"]


@pytest.fixture(scope="module")
def operators():
    """torch.ops.msprobe_test, which comes up late."""
    library = torch.library.Library("msprobe_test", "DEF")
    yield library
    library.m = None


def test_operators_of_namespaces_are_found_when_they_come_up(operators, configured, load_dump, tmp_path):
    debugger = configured(top={"custom_op_namespaces": ["msprobe_test"]})
    debugger.start()
    debugger.stop()
    operators.define("twice(Tensor x) -> Tensor")
    operators.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    debugger.start()
    x = torch.ones(2, requires_grad=True)
    torch.ops.msprobe_test.twice(x).sum().backward()
    torch.ops.msprobe_test.twice.default(x)
    debugger.stop()
    debugger.step()
    dump = load_dump(tmp_path / "dump")
    assert list(dump.data) == ["msprobe_test.twice.0.forward", "Tensor.sum.0.forward", "Tensor.sum.0.backward",
                               "msprobe_test.twice.0.backward", "msprobe_test.twice.1.forward"]
    debugger = configured(top={"dump_path": str(tmp_path / "other")})
    debugger.register_custom_api(torch.ops.msprobe_test, "twice", "Mine")
    debugger.start()
    torch.ops.msprobe_test.twice(x)
    torch.ops.msprobe_test.twice.default(x)
    debugger.stop()
    assert list(load_dump(tmp_path / "other").data) == ["Mine.twice.0.forward", "Mine.twice.1.forward"]


def test_a_registered_function_inside_compiled_code_breaks_no_graph(run_python, tmp_path):
    if not hasattr(torch, "compile"):
        pytest.skip("this torch has no torch.compile")
    code, out, err = run_python("""
import sys, types, torch
from msprobe.pytorch import PrecisionDebugger
ops = types.ModuleType("ops")
ops.twice = lambda x: x * 2
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.register_custom_api(ops, "twice")
graphs = []
def backend(graph, inputs):
    graphs.append(graph)
    return graph.forward
@torch.compile(backend=backend, fullgraph=True)
def run(x):
    return ops.twice(x).sin()
debugger.start()
run(torch.ones(2))
ops.twice(torch.ones(2))
debugger.stop()
assert len(graphs) == 1
""", tmp_path)
    assert code == 0, err
