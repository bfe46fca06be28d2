"""The table that `make bench` prints says what was measured and what was not. No time is asserted here."""

import json
import os
import sys

import pytest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "bench"))

import checker
import google_benchmark
import processes
from table import Row, format_figure, format_table


@pytest.mark.parametrize("figure, more_is_better, state", [
    (20.0, False, "ok"), (20.1, False, "over"), (20.0, True, "ok"), (19.9, True, "under"), (None, False, "")])
def test_limit(figure, more_is_better, state):
    assert Row("n", "us", figure, limit=20, more_is_better=more_is_better).state == state


@pytest.mark.parametrize("more_is_better, times, state", [(False, 10.0, "ok"), (True, 0.1, "under")])
def test_times_better_turns_round_for_rates(more_is_better, times, state):
    row = Row("n", "s", 2.0, reference=20.0, more_is_better=more_is_better, times_better_limit=10)
    assert row.times_better == pytest.approx(times)
    assert row.times_better_state == state


def test_no_ratio_without_a_positive_figure_on_both_sides():
    assert Row("n", "s", -0.5, reference=20.0, times_better_limit=10).times_better_state == ""
    assert Row("n", "s", 2.0, times_better_limit=10).times_better is None


@pytest.mark.parametrize("value, text", [(2324.4, "2324"), (99.96, "100"), (18.62, "18.6"), (1.306, "1.31"), (0.0213, "0.021")])
def test_three_digits(value, text):
    assert format_figure(value) == text


def test_table_is_aligned_and_gives_reasons():
    rows = [Row("first", "us", 3.0, samples=(2.0, 3.0, 4.0), limit=20), Row("second", "s", reason="a | b")]
    lines = format_table(rows).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0].count("|") == lines[3].count("|")
    assert "2.00 to 4.00" in lines[2] and "ok" in lines[2]
    assert "not measured" in lines[3] and "a / b" in lines[3]


def test_reference_columns_only_where_measured():
    rows = [Row("first", "us", 3.0, times_better_limit=25), Row("second", "us", 1.0, reference=50.0, times_better_limit=25)]
    lines = format_table(rows, with_reference=True).splitlines()
    assert ">= 25x" not in lines[2]
    assert "50.0x" in lines[3] and ">= 25x" in lines[3] and lines[3].rstrip("| ").endswith("ok")


def test_medians_of_google_benchmark():
    entries = [{"run_name": "Read/lines", "aggregate_name": name, "bytes_per_second": rate}
               for name, rate in (("mean", 1e9), ("median", 3e8), ("stddev", 5.0))]
    assert google_benchmark.medians(json.dumps({"benchmarks": entries})) == {"Read/lines": 3e8}


def test_verdicts_are_counted(tmp_path):
    (tmp_path / "accuracy_checking_result_20260101000000.csv").write_text(
        "\ufeffAPI name,Forward Test Success,Backward Test Success,Message\n"
        "Torch.add.0,pass,pass,\nTorch.arange.0,pass, ,\nTensor.to.0,SKIP,SKIP,\"why, so\"\n", encoding="utf-8")
    verdicts = checker.read_verdicts(str(tmp_path))
    assert checker.checked_apis(verdicts) == ["Torch.add.0", "Torch.arange.0"]
    assert verdicts["Tensor.to.0"] == ("SKIP", "SKIP", "why, so")
    assert checker.summary(verdicts) == "3 APIs; forward 2 pass, 1 SKIP; backward 1 pass, 1 none, 1 SKIP"


def test_failed_measurement_names_its_reason_and_is_not_repeated():
    calls = []

    def fails():
        calls.append(1)
        processes.run([sys.executable, "-c", "import sys; sys.exit('no such\\nthing here')"])

    results = processes.alternate(3, {"good": lambda: 1, "bad": fails, "once": lambda: 2}, {"once": 1})
    assert results["good"] == [1, 1, 1] and results["once"] == [2]
    assert len(calls) == 1
    assert "exit code 1: thing here" in str(results["bad"])


def test_measured_programs_use_one_thread():
    _, text = processes.run([sys.executable, "-c", "import os; print(os.environ['OMP_NUM_THREADS'])"])
    assert text.strip() == "1"
