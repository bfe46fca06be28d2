"""Threads, workers, hooks and modes of the user, exceptions and the lifetime of objects: all as without the tool."""

import copy
import gc
import inspect
import pickle
import sys
import threading
import traceback
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode


def test_only_the_thread_that_started_is_recorded_and_others_run_freely(record):
    x = torch.ones(8, requires_grad=True)
    failures = []

    def work():
        try:
            for _ in range(200):
                assert (torch.abs(x) * 2 + 1).sum().item() == 24.0
        except BaseException as error:
            failures.append(error)

    def step():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            torch.sin(x)
        for thread in threads:
            thread.join()

    names = record(step).names("forward")
    assert failures == []
    assert names == ["Torch.sin.%d.forward" % i for i in range(200)]


def test_backward_in_another_thread_belongs_to_the_calls(record):
    x = torch.ones(3, requires_grad=True)

    def step():
        loss = torch.sin(x).sum()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()

    assert record(step).names("backward") == ["Tensor.sum.0.backward", "Torch.sin.0.backward"]


def test_backwards_of_several_threads_at_once(record):
    inputs = [torch.ones(4, requires_grad=True) for _ in range(8)]

    def step():
        losses = [torch.sin(x).sum() for x in inputs for _ in range(20)]
        threads = [threading.Thread(target=lambda k=k: [loss.backward() for loss in losses[k::4]]) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    names = record(step).names("backward")
    assert sorted(names) == sorted("%s.%d.backward" % (api, i) for api in ("Tensor.sum", "Torch.sin") for i in range(160))


def test_starting_anew_in_a_thread_takes_over(fresh_debugger, load_dump, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))

    def other():
        debugger.start()
        torch.abs(torch.ones(2))
        debugger.stop()

    debugger.start()
    torch.sin(torch.ones(2))
    debugger.stop()
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert load_dump(tmp_path).names("forward") == ["Torch.sin.0.forward", "Torch.abs.0.forward"]


def test_spawned_workers_of_a_data_loader(run_python, tmp_path, load_dump):
    script = tmp_path / "train.py"
    script.write_text("""
import sys, torch
from msprobe.pytorch import PrecisionDebugger

class Waves(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.sin(torch.ones(3) * i)

if __name__ == "__main__":
    debugger = PrecisionDebugger(dump_path=sys.argv[1])
    debugger.start()
    loader = torch.utils.data.DataLoader(Waves(), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    for batch in loader:
        torch.relu(batch)
    debugger.stop()
""")
    code, _, err = run_python("import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')",
                              script, tmp_path / "dump")
    assert code == 0, err
    relus = [name for name in load_dump(tmp_path / "dump").names("forward") if "relu" in name]
    assert relus == ["Torch.relu.0.forward", "Torch.relu.1.forward"]


def hooked_step(log):
    """Every kind of hook of the user, each of which writes to `log`."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    layer = model[0]
    handles = [
        layer.register_forward_pre_hook(lambda m, i: log.append("forward_pre")),
        layer.register_forward_hook(lambda m, i, o: log.append("forward")),
        layer.register_full_backward_hook(lambda m, i, o: log.append("backward")),
        torch.nn.modules.module.register_module_forward_hook(lambda m, i, o: log.append("global " + type(m).__name__)),
        layer.weight.register_hook(lambda g: log.append("weight")),
    ]
    if hasattr(layer.weight, "register_post_accumulate_grad_hook"):
        handles.append(layer.bias.register_post_accumulate_grad_hook(lambda p: log.append("accumulated")))

    def pack(tensor):
        log.append("pack %s" % list(tensor.shape))
        return tensor

    def unpack(tensor):
        log.append("unpack %s" % list(tensor.shape))
        return tensor

    try:
        x = torch.ones(4, 3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = model(x)
            y.register_hook(lambda g: log.append("tensor"))
            y.grad_fn.register_hook(lambda i, o: log.append("node"))
        y.square().sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return [p.grad.tolist() for p in model.parameters()]


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_hooks_of_the_user_fire_in_the_same_order_and_number(record, task):
    plain, seen, results = [], [], []
    expected = hooked_step(plain)
    record(lambda: results.append(hooked_step(seen)), task=task)
    assert results == [expected] and seen == plain and len(plain) > 10


class Noting(TorchFunctionMode):
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.log.append((self.name, getattr(function, "__name__", "")))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("order", ["SESX", "ESXS", "ESSX", "SEXS"])
def test_a_mode_may_be_entered_and_left_in_any_order(fresh_debugger, load_dump, tmp_path, order):
    """S: start or stop, E: enter, X: exit."""
    debugger = fresh_debugger(dump_path=str(tmp_path))
    log, started = [], False
    mode = Noting(log, "mode")
    x = torch.ones(2)
    for action in order:
        if action == "E":
            mode.__enter__()
        elif action == "X":
            mode.__exit__(None, None, None)
        else:
            debugger.stop() if started else debugger.start()
            started = not started
        inside = mode in [torch._C._get_function_stack_at(i) for i in range(torch._C._len_torch_function_stack())]
        del log[:]
        torch.neg(x) + 1
        assert [name for _, name in log] == (["neg", "add"] if inside else [])
    assert torch._C._len_torch_function_stack() == 0
    assert set(load_dump(tmp_path).names("forward")) >= {"Torch.neg.0.forward", "Tensor.__add__.0.forward"}


def test_the_traceback_of_an_exception_is_the_users(record):
    def fails():
        torch.matmul(torch.ones(2, 3), torch.ones(2, 3))

    def frames():
        try:
            fails()
        except RuntimeError:
            frames = traceback.extract_tb(sys.exc_info()[2])
            # torch 1.13 runs modes from a Python function of its own.
            return [frame.name for frame in frames if frame.filename != torch.overrides.__file__]

    expected, seen = frames(), []
    record(lambda: (seen.extend(frames()), torch.neg(torch.ones(1))))
    assert seen == expected == ["frames", "fails"]


def test_an_interrupt_inside_a_call_reaches_the_user_and_numbers_go_on(record):
    class Interrupting:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            raise KeyboardInterrupt

    def step():
        torch.relu(torch.ones(2))
        with pytest.raises(KeyboardInterrupt):
            torch.relu(Interrupting())
        torch.relu(torch.ones(2))

    assert record(step).names("forward") == ["Torch.relu.0.forward", "Torch.relu.1.forward"]


def test_recursion_ends_as_without_the_tool_and_recording_goes_on(record):
    class Deep:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    def step():
        with pytest.raises(RecursionError):
            torch.relu(Deep())
        torch.neg(torch.ones(2))

    assert "Torch.neg.0.forward" in record(step).names("forward")


def test_no_tensor_module_or_graph_outlives_its_step(fresh_debugger, tmp_path):
    debugger = fresh_debugger(dump_path=str(tmp_path))
    debugger.start()
    model = torch.nn.Linear(3, 3)
    x = torch.ones(2, 3, requires_grad=True)
    y = F.gelu(model(x)).sum()
    y.backward()
    of_the_graph = threading.Event()  # a node takes no weak reference; what its metadata holds goes with it
    y.grad_fn.metadata["test"] = of_the_graph
    dead = [weakref.ref(o) for o in (model, model.weight, x, y, of_the_graph)]
    del model, x, y, of_the_graph
    gc.collect()
    alive = [ref() for ref in dead]
    debugger.stop()
    assert alive == [None] * len(dead)


def test_identities_and_results_of_in_place_calls(record):
    functions = {name: getattr(F, name) for name in ("gelu", "linear", "relu")}
    x = torch.ones(2)

    def step():
        assert all(getattr(F, name) is function for name, function in functions.items())
        assert x.add_(1) is x and x.mul_(2) is x
        y = x
        y += 1
        assert y is x
        out = torch.empty(2)
        assert torch.add(x, 1, out=out) is out
        assert x.contiguous() is x

    record(step)


def test_random_numbers_are_those_without_the_tool(record):
    def draw():
        torch.manual_seed(3)
        values = [torch.rand(3), F.dropout(torch.ones(20), 0.5), torch.randperm(5), torch.ones(3).bernoulli_(0.5)]
        return [v.tolist() for v in values], torch.get_rng_state().tolist()

    expected, seen = draw(), []
    record(lambda: seen.append(draw()))
    assert seen == [expected]


METHODS = ("__add__", "__rsub__", "__getitem__", "__matmul__", "__iadd__", "__pow__", "add", "relu")


def appearance(method):
    try:
        signature = str(inspect.signature(method))
    except ValueError:
        signature = None
    return (method.__name__, method.__qualname__, method.__doc__, signature, callable(method), method.__hash__())


def comes_back(method):
    """Whether a pickle of it gives it back; torch's own `__pow__` has no place where it could be found."""
    try:
        return pickle.loads(pickle.dumps(method)) == method
    except pickle.PicklingError:
        return False


@pytest.mark.parametrize("name", METHODS)
def test_methods_look_and_copy_as_without_the_tool(record, name):
    original = getattr(torch.Tensor, name)
    expected, is_pickled = appearance(original), comes_back(original)

    def step():
        method = getattr(torch.Tensor, name)
        assert appearance(method) == expected and method == original
        assert copy.copy(method) == copy.deepcopy(method) == original
        assert comes_back(method) == is_pickled
        torch.neg(torch.ones(1))

    record(step)


def test_functions_and_tensors_pickle_and_copy(record):
    weight = torch.nn.Parameter(torch.ones(2))

    def step():
        assert pickle.loads(pickle.dumps(F.gelu)) is F.gelu
        assert torch.equal(pickle.loads(pickle.dumps(weight)), weight)
        assert torch.equal(copy.deepcopy(weight), weight)
        copy.deepcopy(torch.nn.Linear(2, 2))

    record(step)
