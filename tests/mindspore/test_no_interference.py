"""Whatever is recorded, loss and every gradient are those of a run without the tool, bit for bit, and nothing stays behind."""

import gc
import weakref

import mindspore
import numpy as np
import pytest
from mindspore import Tensor, _c_expression, grad, mint, nn, ops, value_and_grad

import models
from capabilities_of_mindspore import SHOWS_GRAPH
from msprobe.mindspore import tensor_access

LEVELS = ("L0", "L1", "mix")
TASKS = ("statistics", "md5", "tensor")


def check_same(expected, found, *context):
    (loss, gradients), (other_loss, other_gradients) = expected, found
    assert loss.tobytes() == other_loss.tobytes(), context
    assert gradients.keys() == other_gradients.keys(), context
    for name, gradient in gradients.items():
        assert gradient.tobytes() == other_gradients[name].tobytes(), (*context, name)


def shapes(part):
    """Those of the tensors, None where there is none."""
    if isinstance(part, dict) and "shape" in part:
        return [part["shape"]]
    if isinstance(part, (list, dict)):
        return [shape for item in (part.values() if isinstance(part, dict) else part) for shape in shapes(item)]
    return [None]


def check_backward_of_cells(data):
    names = [name for name in data if name.startswith("Cell.") and ".forward." in name]
    assert names
    for name in names:
        forward, backward = data[name], data[name.replace(".forward.", ".backward.")]
        assert shapes(backward["input"]) == shapes(forward["output"]), name
        if not SHOWS_GRAPH:
            continue
        arguments = shapes(forward["input_args"])
        assert len(backward["output"]) == len(arguments), name
        assert all(shape in (None, argument) for shape, argument in zip(shapes(backward["output"]), arguments)), name


@pytest.fixture(scope="module")
def without_the_tool():
    known = {}

    def steps(name):
        if name not in known:
            step = models.build(name)[2]
            known[name] = [step() for _ in range(4)]
        return known[name]

    return steps


@pytest.fixture(params=models.NAMES)
def name(request):
    return request.param


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("level", LEVELS)
def test_loss_and_gradients_are_bit_identical(name, level, task, configured, load_dump, tmp_path, without_the_tool):
    expected = without_the_tool(name)
    cell, _, step = models.build(name)
    check_same(expected[0], step(), "before")
    debugger = configured(task, level, top={"step": [1]})
    debugger.start(cell)
    check_same(expected[1], step(), "a step that is not collected")
    debugger.stop()
    debugger.step()
    debugger.start(cell)
    check_same(expected[2], step(), "collecting")
    debugger.stop()
    debugger.step()
    debugger.start(cell)
    check_same(expected[3], step(), "after")
    dump = load_dump(tmp_path / "dump", step=1)
    assert dump.errors == ""
    assert [record for record in dump.data if ".forward" in record]
    if level != "L0":
        assert dump.names("forward") and dump.names("backward")
    if level != "L1":
        check_backward_of_cells(dump.data)


@pytest.mark.parametrize("level", LEVELS)
def test_every_step_of_a_training_is_bit_identical(name, level, configured, without_the_tool):
    cell, _, step = models.build(name)
    debugger = configured("statistics", level)
    for number, expected in enumerate(without_the_tool(name)):
        debugger.start(cell)
        check_same(expected, step(), number)
        debugger.stop()
        debugger.step()


@pytest.mark.parametrize("level", LEVELS)
def test_weights_after_an_optimizer_are_bit_identical(level, configured):
    def trained(debugger=None):
        mindspore.set_seed(3)
        net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2))
        train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
        train.set_train()
        data, label = Tensor(np.random.RandomState(0).randn(3, 4).astype(np.float32)), Tensor(np.ones((3, 2), np.float32))
        for _ in range(3):
            if debugger is not None:
                debugger.start(train)
            train(data, label)
            if debugger is not None:
                debugger.stop()
                debugger.step()
        return [parameter.asnumpy() for parameter in train.get_parameters()]

    expected = trained()
    for weight, other in zip(expected, trained(configured("statistics", level)), strict=True):
        assert weight.tobytes() == other.tobytes()


_COUNTERS = ("total_instance_count",)


def namespaces():
    """What a debugger may replace attributes of."""
    api = getattr(getattr(mindspore, "graph", None), "api", mindspore.common.api)  # moved in 2.9
    executors = [getattr(_c_expression, kind) for kind in ("JitExecutor_", "GraphExecutor_") if hasattr(_c_expression, kind)]
    places = [ops, mint, mint.nn.functional, mint.distributed, mindspore.communication.comm_func, nn.Cell, ops.Primitive,
              ops.Conv2D, ops.MatMul, mindspore.Parameter, *Tensor.__mro__[:-1], api._JitExecutor, *executors]
    return {place: {key: value for key, value in vars(place).items() if key not in _COUNTERS} for place in places}


def hooks_of_cells(cell):
    """What the containers of hooks of all cells hold."""
    return [(name, attribute, dict(value)) for name, inner in cell.cells_and_names() for attribute, value in vars(inner).items()
            if "hook" in attribute and isinstance(value, dict) and value]


def attributes_of_cells(cell):
    """Of everything but hooks; MindSpore fills in its containers of hooks at the first one."""
    return [{key: value for key, value in vars(inner).items() if "hook" not in key} for _, inner in cell.cells_and_names()]


def primitives(cell):
    """(primitive, its class) of all cells."""
    return [(value, type(value)) for _, inner in cell.cells_and_names() for value in vars(inner).values()
            if isinstance(value, ops.Primitive)]


def check_unchanged(before, now, *context):
    assert before.keys() == now.keys(), context
    assert [key for key in before if before[key] is not now[key] and before[key] != now[key]] == [], context


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_stays_installed_after_the_last_step(name, level, configured, load_dump, tmp_path):
    cell, _, step = models.build(name)
    step()
    before, attributes, kinds = namespaces(), attributes_of_cells(cell), primitives(cell)
    assert hooks_of_cells(cell) == [] and kinds
    debugger = configured("statistics", level, top={"step": [0]})
    debugger.start(cell)
    assert (hooks_of_cells(cell) == []) == (level == "L1")
    replaced = {key for place, found in namespaces().items() for key in found if found[key] is not before[place].get(key)}
    assert (replaced - set(_COUNTERS) == {"compile"}) == (level == "L0")
    assert all(type(primitive) is kind for primitive, kind in kinds) == (level == "L0")
    step()
    debugger.stop()
    debugger.step()
    debugger.start(cell)  # the step list is over
    for place, found in namespaces().items():
        check_unchanged(before[place], found, place)
    for cell_before, cell_now in zip(attributes, attributes_of_cells(cell)):
        check_unchanged(cell_before, cell_now)
    assert hooks_of_cells(cell) == []
    assert all(type(primitive) is kind for primitive, kind in kinds)
    records = len(load_dump(tmp_path / "dump").data)
    step()
    assert len(load_dump(tmp_path / "dump").data) == records


def test_an_import_changes_nothing_of_mindspore(run_python):
    code, out, err = run_python(
        "import mindspore\n"
        "from mindspore import Tensor, mint, nn, ops\n"
        "places = [ops, mint, mint.nn.functional, nn.Cell, ops.Primitive, *Tensor.__mro__[:-1]]\n"
        "before = [dict(vars(place)) for place in places]\n"
        "context = mindspore.get_context('pynative_synchronize'), mindspore.get_context('mode')\n"
        "import msprobe.mindspore\n"
        "print([dict(vars(place)) for place in places] == before,\n"
        "      context == (mindspore.get_context('pynative_synchronize'), mindspore.get_context('mode')))\n")
    assert code == 0, err
    assert out.split()[-2:] == ["True", "True"]


def test_functions_keep_one_identity_while_the_debugger_lives(configured):
    debugger = configured()
    seen = []
    for _ in range(3):
        seen.append((ops.relu, Tensor.add, Tensor.__add__, mint.abs, mint.nn.functional.relu))
        debugger.start()
        seen.append((ops.relu, Tensor.add, Tensor.__add__, mint.abs, mint.nn.functional.relu))
        ops.relu(Tensor([1.0]))
        debugger.stop()
        debugger.step()
    assert all(now is first for functions in seen for now, first in zip(functions, seen[0]))


def test_a_name_bound_before_the_end_still_works_after_it(configured):
    debugger = configured(top={"step": [0]})
    bound, method = ops.relu, Tensor([-1.0, 2.0]).abs
    debugger.start()
    debugger.stop()
    debugger.step()
    debugger.start()
    assert ops.relu is not bound
    assert bound(Tensor([-1.0, 2.0])).asnumpy().tolist() == [0.0, 2.0] and method().asnumpy().tolist() == [1.0, 2.0]
    assert grad(lambda x: bound(x).sum())(Tensor([-1.0, 2.0])).asnumpy().tolist() == [0.0, 1.0]


@pytest.mark.parametrize("level", LEVELS)
def test_objects_of_a_model_keep_their_identity(level, configured):
    cell, _, step = models.build("convolutional")
    primitive, weight = cell.conv.conv2d, cell.conv.weight
    kind, kind_of_weight = type(primitive), type(weight)
    debugger = configured("statistics", level)
    for _ in range(2):
        debugger.start(cell)
        assert cell.conv.conv2d is primitive and isinstance(primitive, ops.Conv2D)
        assert type(primitive).__name__ == kind.__name__ and primitive.name == "Conv2D"
        assert cell.conv.weight is weight and type(weight) is kind_of_weight
        step()
        debugger.stop()
        debugger.step()
        assert cell.conv.conv2d is primitive and type(primitive) is kind


@pytest.mark.parametrize("level", LEVELS)
def test_a_cell_hands_on_the_very_tensor_it_was_given(level, configured):
    class Same(nn.Cell):
        def construct(self, x, holder):
            holder.append(x)
            return x

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.same = Same()

        def construct(self, x):
            holder = []
            y = ops.relu(x)
            z = self.same(y, holder)
            assert z is y and holder[0] is y and type(z) is Tensor
            return z * 2

    net, debugger = Net(), configured("statistics", level)
    debugger.start(net)
    gradient = grad(lambda x: net(x).sum())(Tensor([-1.0, 2.0]))
    debugger.stop()
    debugger.step()
    assert gradient.asnumpy().tolist() == [0.0, 2.0]


@pytest.mark.parametrize("level", LEVELS)
def test_containers_of_outputs_keep_their_class_and_length(level, configured):
    class Bundle(dict):
        pass

    class Made(nn.Cell):
        def construct(self, x):
            return Bundle(a=x * 2, b=[x, None, 3], c="text")

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.made = Made()

        def construct(self, x):
            out = self.made(x)
            assert type(out) is Bundle and type(out["b"]) is list and len(out["b"]) == 3 and out["c"] == "text"
            first, second = ops.split(x, 1)
            assert type(ops.split(x, 1)) is tuple
            return out["a"].sum() + first.sum() + second.sum()

    net, debugger = Net(), configured("statistics", level)
    debugger.start(net)
    gradient = grad(net)(Tensor([1.0, 2.0]))
    debugger.stop()
    assert gradient.asnumpy().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("level", LEVELS)
def test_hooks_of_the_user_see_the_same_gradients(level, configured):
    def run(debugger=None):
        mindspore.set_seed(1)
        net = nn.SequentialCell(nn.Dense(3, 3), nn.ReLU(), nn.Dense(3, 1))
        seen = []
        handles = [inner.register_backward_hook(lambda _, inputs, outputs: seen.extend(g for g in (*inputs, *outputs) if g is not None))
                   for inner in net]
        net[0].weight.register_hook(lambda gradient: seen.append(gradient) or gradient * 2)
        step = value_and_grad(lambda x: net(x).sum(), 0, net.trainable_params())
        if debugger is not None:
            debugger.start(net)
        loss, (first, rest) = step(Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)))
        if debugger is not None:
            debugger.stop()
            debugger.step()
        assert len(handles) == 3
        return [t.asnumpy().tobytes() for t in (loss, first, *rest, *seen)]

    expected = run()
    assert len(expected) > 10
    assert run(configured("statistics", level)) == expected


class Part(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 3)

    def construct(self, x):
        return ops.relu(self.fc(x))


class CompiledPart(Part):
    @mindspore.jit
    def construct(self, x):
        return ops.relu(self.fc(x))


class Around(nn.Cell):
    def __init__(self, part):
        super().__init__()
        self.part, self.tanh = part, nn.Tanh()

    def construct(self, x):
        return self.tanh(self.part(x)).sum()


def compiled_cell():
    net = Around(CompiledPart())
    return net, net


def compiled_function_around_cells():
    net = Around(Part())

    @mindspore.jit
    def compiled(x):
        return net(x)

    return net, compiled


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("make", (compiled_cell, compiled_function_around_cells))
def test_a_first_compilation_while_collecting_sees_the_model_as_it_is(make, level, configured):
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) / 5)

    def run(debugger=None):
        mindspore.set_seed(6)
        net, function = make()
        step, results = value_and_grad(function, 0, mindspore.ParameterTuple(net.trainable_params())), []
        for _ in range(2):
            if debugger is not None:
                debugger.start(net)
            loss, (first, weights) = step(x)
            if debugger is not None:
                debugger.stop()
                debugger.step()
            results.append([t.asnumpy().tobytes() for t in (loss, first, *weights)])
        return results

    expected = run()
    assert run(configured("statistics", level)) == expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ("second derivative", "list of weights", "sens", "vjp", "two gradients of one forward", "recomputed",
                                  "written in place", "without gradient"))
def test_other_ways_to_differentiate_give_the_same(kind, level, configured):
    mindspore.set_seed(2)
    net = nn.SequentialCell(nn.Dense(3, 3), nn.Tanh(), nn.Dense(3, 1))
    weights = mindspore.ParameterTuple(net.trainable_params())
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) / 5)
    sens = Tensor(np.full((2, 1), 0.3, np.float32))

    def f(x):
        return ops.tanh(net(x) * x).sum()

    def written(x):
        y = x * 2
        y[0] = 1.0
        y += x
        return net(y.view(3, 2).reshape(2, 3)).sum()

    def partly(x):
        with mindspore._no_grad():
            y = net(x)
        return (net(x) * y + ops.stop_gradient(net(x))).sum()

    calls = {
        "recomputed": lambda: value_and_grad(lambda x: mindspore.recompute(net, x).sum(), 0, weights)(x),
        "written in place": lambda: value_and_grad(written, 0, weights)(x),
        "without gradient": lambda: value_and_grad(partly, 0, weights)(x),
        "second derivative": lambda: grad(lambda x: (grad(f)(x) ** 2).sum())(x),
        "list of weights": lambda: ops.GradOperation(get_by_list=True)(net, weights)(x),
        "sens": lambda: ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(net, weights)(x, sens),
        "vjp": lambda: mindspore.vjp(net, x)[1](sens),
        "two gradients of one forward": lambda: (grad(f)(x), value_and_grad(f, None, weights)(x)),
    }

    def flat(value):
        return [t for item in value for t in flat(item)] if isinstance(value, tuple) else [value.asnumpy().tobytes()]

    expected = flat(calls[kind]())
    debugger = configured("statistics", level)
    debugger.start(net)
    found = flat(calls[kind]())
    debugger.stop()
    debugger.step()
    assert found == expected and flat(calls[kind]()) == expected


def test_random_numbers_go_on_as_without_the_tool(configured):
    def draw():
        mindspore.set_seed(5)
        np.random.seed(5)
        return [ops.dropout(Tensor(np.ones(50, np.float32)), p=0.5), ops.standard_normal((3,)), ops.uniform((3,), Tensor(0.0), Tensor(1.0)),
                Tensor(np.random.rand(3))]

    expected = [t.asnumpy().tobytes() for t in draw()]
    debugger = configured()
    debugger.start()
    found = [t.asnumpy().tobytes() for t in draw()]
    debugger.stop()
    assert found == expected


@pytest.mark.parametrize("level", LEVELS)
def test_no_tensor_is_kept_alive(level, configured):
    net = nn.SequentialCell(nn.Dense(3, 3), nn.ReLU())
    debugger = configured("statistics", level)
    debugger.start(net)
    x = Tensor(np.ones((2, 3), np.float32))
    y = net(ops.abs(x))
    dead = [weakref.ref(x), weakref.ref(y)]
    del x, y
    gc.collect()
    assert [reference() for reference in dead] == [None, None]
    debugger.stop()


class Special(Tensor):
    pass


class Raising(Tensor):
    def asnumpy(self):
        raise ValueError("made by the test")


def run_three_times(debugger, kind):
    """Cell calls and function calls with a tensor of this class beside a plain one; the gradients."""
    class Add(nn.Cell):
        def construct(self, x, other):
            return ops.add(x, other)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.add = Add()

        def construct(self, x, other):
            return ops.relu(self.add(x, other)).sum()

    net, other = Net(), kind(np.array([1.0, 2.0], np.float32))
    debugger.start(net)
    gradients = [grad(net)(Tensor([3.0, 4.0]), other) for _ in range(3)]
    debugger.stop()
    debugger.step()
    return [gradient.asnumpy().tolist() for gradient in gradients]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_failing_description_is_told_once_and_the_training_goes_on(level, task, configured, load_dump, tmp_path, monkeypatch, capsys):
    def broken(*arguments):
        raise RuntimeError("made by the test")

    monkeypatch.setattr(tensor_access, "describe", broken)
    assert run_three_times(configured(task, level), Special) == [[1.0, 1.0]] * 3
    dump = load_dump(tmp_path / "dump")
    assert capsys.readouterr().out.count("made by the test") == 1 and dump.errors.count("made by the test") == 1
    if level != "L0":
        assert "Functional.relu.2.forward" in dump.data and "Functional.relu.2.backward" in dump.data


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_tensor_that_cannot_be_read_is_told_once_and_recorded_without_values(
        level, task, configured, load_dump, tmp_path, capsys):
    assert run_three_times(configured(task, level), Raising) == [[1.0, 1.0]] * 3
    dump = load_dump(tmp_path / "dump")
    assert capsys.readouterr().out.count("made by the test") == 1 and dump.errors.count("made by the test") == 1
    record = dump.data["Functional.add.2.forward" if level == "L1" else "Cell.add.Add.forward.2"]
    entry = record["input_args"][1]
    assert (entry["shape"], entry["dtype"], entry["Max"]) == ([2], "Float32", None)
    assert record["input_args"][0]["Max"] == 4.0


@pytest.mark.parametrize("level", LEVELS)
def test_an_error_of_mindspore_is_the_users_with_the_tool_too(level, run_python, tmp_path):
    """Without the synchronous pipeline an operator's failure comes up at a later look at a value."""
    code, out, err = run_python(
        "import json, sys\n"
        "import numpy as np, mindspore as ms\n"
        "from mindspore import Tensor, grad, mint, nn, ops\n"
        "ms.set_device('CPU')\n"
        "from msprobe.mindspore import PrecisionDebugger\n"
        "path, level = sys.argv[1:]\n"
        "json.dump({'task': 'statistics', 'level': level, 'dump_path': path, 'pynative_synchronize': False, 'statistics': {}},\n"
        "          open(path + '.json', 'w'))\n"
        "class Net(nn.Cell):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.relu = nn.ReLU()\n"
        "    def construct(self, x):\n"
        "        return self.relu(mint.nn.functional.dropout(x, 0.5))\n"
        "def told(net):\n"
        "    try:\n"
        "        net(Tensor(np.ones((2, 2), np.float32))).asnumpy()\n"
        "        return 'nothing'\n"
        "    except RuntimeError as error:\n"
        "        return str(error).splitlines()[0]\n"
        "net = Net()\n"
        "plain = told(net)\n"
        "debugger = PrecisionDebugger(path + '.json')\n"
        "debugger.start(net)\n"
        "print('TOLD', plain != 'nothing', told(net) == plain)\n"
        "debugger.stop()\n"
        "debugger.step()\n"
        "debugger.start(net)\n"
        "print('NEXT', ops.relu(Tensor([-1.0, 2.0])).asnumpy().tolist())\n"
        "debugger.stop()\n", tmp_path / "dump", level)
    assert code == 0, out + err
    assert "TOLD True True" in out and "NEXT [0.0, 2.0]" in out
