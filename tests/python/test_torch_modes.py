"""What versions of torch do differently about modes is evened out, and the user's modes see what they see without us."""

import torch

from msprobe.pytorch import torch_modes
from watchers import Dispatched, Seeing, seeing_subclass


def test_modes_are_taken_off_and_put_back():
    outer, inner = Seeing(), Seeing()
    x = torch.ones(2)
    with outer, inner:
        modes = torch_modes.take_function_modes()
        torch.neg(x)
        torch_modes.put_function_modes(modes)
        torch.abs(x)
    torch.sin(x)
    assert modes == [outer, inner] and outer.names == inner.names == ["abs"]


def test_what_modes_miss_is_found_by_trying_and_unseen():
    missed = torch_modes.operators_that_modes_miss()
    outer, dispatched = Seeing(), Dispatched()
    x = torch.ones(2)
    with outer, dispatched:
        assert torch_modes.operators_that_modes_miss() == missed
        assert outer.names == [] and dispatched.names == []
        x[0]
        x[0] = 1
    assert missed == {"__getitem__", "__setitem__"} - set(outer.names)


def test_torch_functions_are_disabled_for_modes_and_subclasses_alike():
    Subclass = seeing_subclass()
    x = torch.ones(2).as_subclass(Subclass)
    Subclass.seen.clear()
    with Seeing() as outer:
        with torch_modes.DisableTorchFunction():
            with torch_modes.DisableTorchFunction():
                torch.neg(x)
            torch.neg(x)
        torch.abs(torch.ones(2))
    assert outer.names == ["ones", "abs"] and Subclass.seen == []


def test_dispatch_modes_do_not_see_what_is_done_without_them():
    x = torch.ones(2)
    with Dispatched() as outer, Dispatched() as inner:
        with torch_modes.without_dispatch_modes():
            torch.neg(x)
        torch.abs(x)
    assert [len(mode.names) for mode in (outer, inner)] == [1, 1] and "abs" in outer.names[0]


def test_a_mode_of_the_user_sees_the_same_with_the_tool(record):
    x = torch.ones(3, 3)
    mode = Seeing()

    def step():
        with mode:
            x[0]
            x[1:, None] = 2
            x + 1
            1 / x

    step()
    plain = list(mode.names)
    mode.names.clear()
    dump = record(step)
    assert mode.names == plain
    assert list(dump.data) == ["Tensor.__getitem__.0.forward", "Tensor.__setitem__.0.forward", "Tensor.__add__.0.forward",
                               "Tensor.__rtruediv__.0.forward"]


def test_indexing_a_subclass_is_recorded_once_and_seen_once(record):
    Subclass = seeing_subclass()
    x = torch.ones(3).as_subclass(Subclass)
    Subclass.seen.clear()
    dump = record(lambda: x[1])
    assert Subclass.seen == ["__getitem__"] and list(dump.data) == ["Tensor.__getitem__.0.forward"]


def test_a_torch_without_modes_is_one_clear_error(run_python, tmp_path):
    code, _, err = run_python(
        "import sys, torch.overrides\ndel torch.overrides.TorchFunctionMode\n"
        "from msprobe.pytorch import PrecisionDebugger\nPrecisionDebugger(dump_path=sys.argv[1])", tmp_path)
    assert code == 1 and "collecting needs PyTorch 1.13 or newer, this is " + torch.__version__ in err.splitlines()[-1]
