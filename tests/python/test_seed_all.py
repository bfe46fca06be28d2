"""seed_all: what it sets, what it refuses, and that it stays within what was asked for."""

import json

import pytest
import torch

from msprobe.core.common.exceptions import MsprobeException
from msprobe.pytorch import seed_all

PREAMBLE = """
import random, sys, numpy, torch
import torch.nn.functional as F
from msprobe.pytorch import PrecisionDebugger, seed_all
"""


@pytest.fixture
def run_script(run_python, tmp_path):
    """What a script prints, as words; argument 1 is a dump path."""

    def run(source, **environment):
        code, out, err = run_python(PREAMBLE + source, tmp_path / "dump", MSPROBE_LOG_LEVEL="4", **environment)
        assert code == 0, err
        return out.split()

    return run


@pytest.fixture(autouse=True)
def deterministic_mode_as_before():
    before = torch.are_deterministic_algorithms_enabled()
    yield
    torch.use_deterministic_algorithms(before)


@pytest.mark.parametrize("arguments", [(1234, True), (0,), (2 ** 32 - 1, False, False, False)])
def test_equal_seeds_give_equal_numbers(arguments):
    seed_all(*arguments)
    first = torch.rand(3)
    seed_all(*arguments)
    assert torch.equal(first, torch.rand(3))
    assert torch.are_deterministic_algorithms_enabled() == (True in arguments)


@pytest.mark.parametrize("arguments, words", [
    (dict(seed=-1), "seed must be an integer from 0 to 4294967295, not -1"),
    (dict(seed=2 ** 32), "4294967296"),
    (dict(seed="1"), "'1'"),
    (dict(seed=True), "True"),
    (dict(mode=1), "mode must be a bool, not 1"),
    (dict(rm_dropout="yes"), "rm_dropout"),
    (dict(is_enhanced=None), "is_enhanced"),
])
def test_wrong_arguments_are_refused_before_anything_is_seeded(arguments, words):
    state = torch.get_rng_state()
    with pytest.raises(MsprobeException) as caught:
        seed_all(**arguments)
    assert words in str(caught.value)
    assert torch.equal(state, torch.get_rng_state())


def test_dropout_is_removed_on_request_only(run_script):
    assert run_script("""
x = torch.ones(1000)
drops = lambda y: int(bool((y == 0).any()))
seed_all()
print(drops(F.dropout(x, 0.5)), drops(torch.nn.Dropout(0.5)(x)))
seed_all(rm_dropout=True)
seed_all(rm_dropout=True)
layer = torch.nn.Dropout2d(0.5)
print(drops(F.dropout(x, 0.5)), drops(F.dropout2d(x.view(1, 1000, 1), 0.5)), layer.p, drops(torch.nn.Dropout(0.5)(x)))
print(drops(torch.dropout(x, layer.p, True)))
try:
    F.dropout(x, 1.5)
except ValueError:
    print("refused")
print(drops(torch.jit.script(torch.nn.Sequential(torch.nn.Dropout(0.5)))(x)))
""") == ["1", "1", "0", "0", "0.0", "0", "0", "refused", "0"]


def test_removed_dropout_is_recorded_and_stands_in_the_head_of_the_dump(run_script, load_dump, tmp_path):
    run_script("""
seed_all(7, rm_dropout=True)
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
F.dropout(torch.ones(3), 0.5)
debugger.stop()
""")
    dump = load_dump(tmp_path / "dump")
    assert list(dump.data) == ["Functional.dropout.0.forward"]
    assert dump.header["seed_all"] == "seed=7, mode=False, rm_dropout=True, is_enhanced=False"


def test_enhanced_seeding_makes_equal_calls_equal(run_script):
    assert run_script("""
draw = lambda: [torch.rand(3).tolist(), torch.empty(3).normal_().tolist(), F.dropout(torch.ones(64)).tolist(),
                torch.bernoulli(torch.full((64,), 0.5)).tolist(), numpy.random.rand(3).tolist(), random.random(),
                random.sample(range(1000), 5), numpy.random.permutation(50).tolist()]
seed_all(3)
print([a == b for a, b in zip(draw(), draw())].count(True))
seed_all(3, is_enhanced=True)
first = draw()
print([a == b for a, b in zip(first, draw())].count(False))
seed_all(4, is_enhanced=True)
print([a == b for a, b in zip(first, draw())].count(True))
""") == ["0", "0", "0"]


def test_enhanced_seeding_leaves_the_records_as_they_are(run_script, load_dump, tmp_path):
    run_script("""
seed_all(is_enhanced=True)
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
torch.bernoulli(torch.ones(3)).normal_()
F.dropout(torch.ones(3), 0.5)
debugger.stop()
""")
    dump = load_dump(tmp_path / "dump")
    assert list(dump.data) == ["Torch.bernoulli.0.forward", "Tensor.normal_.0.forward", "Functional.dropout.0.forward"]


def test_a_dump_without_seeding_says_nothing_of_it(run_script, load_dump, tmp_path):
    run_script("""
debugger = PrecisionDebugger(dump_path=sys.argv[1])
debugger.start()
torch.relu(torch.ones(2))
debugger.stop()
""")
    header = load_dump(tmp_path / "dump").header
    assert "seed_all" not in header and header["torch_version"] == torch.__version__
