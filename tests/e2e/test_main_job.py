"""The main job on training steps of real models: record, check, check again with two workers, compare."""

import os
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT, Run, read_csv

pytest.importorskip("torch")
pytest.importorskip("transformers")

MODELS = ("llama", "gpt2", "bert", "t5", "mixtral", "vit", "resnet", "llama_bf16")
# What the documented ladder itself accuses on a healthy CPU in half precision.
ACCUSED_BY_THE_LADDER = {"llama_bf16": {"Functional.scaled_dot_product_attention"}}
# The algorithms whose fixed limit a healthy device may violate; softened where both devices do (spec decisions 39).
FIXED_LIMITS = {"绝对阈值法", "ULP误差比对法"}

RECORD = """
import sys
sys.path.insert(0, sys.argv[1])
import models
from msprobe.pytorch import PrecisionDebugger
model, batch = models.build(sys.argv[2])
debugger = PrecisionDebugger(dump_path=sys.argv[3], task=sys.argv[4])
debugger.start()
models.training_step(model, batch)
debugger.stop()
debugger.step()
"""


def record(model, folder, task="statistics"):
    subprocess.run(
        [sys.executable, "-c", RECORD, str(ROOT / "tests" / "python"), model, str(folder), task], check=True,
        capture_output=True, timeout=300)
    return folder / "step0" / "rank" / "dump.json"


def call(executable, out, *arguments):
    process = subprocess.run([executable, "-f", "pytorch", *map(str, arguments), "-o", str(out)], capture_output=True, text=True,
                             timeout=600)
    assert process.returncode == 0, process.stdout + process.stderr
    return Run(process, out)


@pytest.fixture(scope="module", params=MODELS)
def checked(request, executable, tmp_path_factory):
    """(model, run_ut, multi_run_ut with two workers) on its dump."""
    folder = tmp_path_factory.mktemp(request.param)
    dump = record(request.param, folder / "dump")
    one = call(executable, folder / "one", "run_ut", "-api_info", dump)
    two = call(executable, folder / "two", "multi_run_ut", "-api_info", dump, "-n", 2)
    return request.param, one, two


def api_of(name):
    return name.rsplit(".", 1)[0]


def test_a_healthy_cpu_has_no_error(checked):
    model, one, _ = checked
    rows = one.rows()[1:]
    assert len(rows) > 60
    accused = {api_of(row[0]) for row in rows if "error" in row[1:3]}
    assert accused == ACCUSED_BY_THE_LADDER.get(model, set())
    assert [row for row in rows if row[1] == "SKIP"] == [], "every call of these models can be made again"
    for row in rows:
        if row[2] == "SKIP":
            assert "several outputs" in row[3], row


def test_workers_do_not_change_a_byte(checked):
    _, one, two = checked
    for kind in ("result", "details"):
        assert one.path(kind).read_bytes() == two.path(kind).read_bytes()


def test_compared_with_itself_nothing_is_wrong(checked, executable, tmp_path):
    model, one, two = checked
    compared = call(executable, tmp_path / "compare", "api_precision_compare", "-npu", one.path("details"), "-gpu",
                    two.path("details"))
    result = read_csv(next(compared.out.glob("api_precision_compare_result_*.csv")))
    assert len(result) == len(one.rows()), "one result row per API"
    assert [row for row in result if "error" in row[1:3]] == []
    details = read_csv(next(compared.out.glob("api_precision_compare_details_*.csv")))
    verdict, algorithm, message = (details[0].index(title) for title in ("比对结果", "比对算法", "Message"))
    for row in details[1:]:
        if row[verdict] == "warning":
            assert row[algorithm] in FIXED_LIMITS and "softened" in row[message], row


def test_real_data_and_a_moved_dump(executable, tmp_path):
    dump = record("llama", tmp_path / "dump", "tensor")
    moved = tmp_path / "elsewhere"
    pathlib.Path(dump.parent).rename(moved)
    run = call(executable, tmp_path / "out", "run_ut", "-api_info", moved / "dump.json")
    rows = run.rows()[1:]
    assert {row[1] for row in rows} == {"pass"}, [row for row in rows if row[1] != "pass"]


@pytest.mark.parametrize("version", ("1.0.4", "26.2.0"))
def test_dumps_of_the_reference_are_checked(executable, tmp_path, version):
    peer = pathlib.Path(os.environ.get("MSPROBE_PEER_DIR", ROOT.parent / "shared" / "peer"))
    dump = peer / "pytorch" / "dumps" / ("gpt2-%s-statistics-L1" % version) / "dump.json"
    if not dump.exists():
        pytest.skip("the reference tool's files are not here (MSPROBE_PEER_DIR)")
    rows = call(executable, tmp_path / "out", "run_ut", "-api_info", dump).rows()[1:]
    assert len(rows) > 80
    assert [row for row in rows if "error" in row[1:3] or row[1] == "SKIP"] == []


@pytest.mark.parametrize("arguments", [[], ["dump", "everything"], ["dump", "tensor", "more"]])
def test_the_example_explains_itself(arguments, tmp_path):
    example = subprocess.run([sys.executable, ROOT / "examples" / "llama_step.py", *arguments], cwd=tmp_path, capture_output=True,
                             text=True, timeout=120)
    assert example.returncode == 1 and "usage: llama_step.py" in example.stderr and "Traceback" not in example.stderr
    assert not list(tmp_path.iterdir())
