"""Measures collection on models x levels x tasks, beside the reference's versions that are at hand, into docs/collection.md.

usage: collection.py [--models M ...] [--levels L ...] [--tasks T ...] [--runs N] [--rounds N] [--cpu-time]
                     [--no-peer] [--out FILE]

The reference is measured where MSPROBE_PEER_PYTHON (1.0.4) and MSPROBE_PEER_PYTHON_26 (26.2.0) name interpreters that have
it. Exit code 1: a cell of ours was not measured, changed the numbers, or has a missing or foreign backward record.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import collection_page
import peer_environment
import system
from processes import CLOCK, NotMeasured, ROOT, alternate, measure, progress
from table import Row

MODELS = ("llama", "gpt2", "bert", "t5", "mixtral", "vit", "resnet", "llama_bf16")
LEVELS = ("L0", "L1", "mix")
TASKS = ("statistics", "md5", "tensor")
OURS = collection_page.OURS
_PEER_ROUNDS = 2
_PEER_RUNS = 2
_API_CALLS = 1000
API_CALL_LIMIT_US = 15
API_CALL_TIMES_BETTER = 30
# (level, task, limit of the step over the plain one)
STEP_LIMITS = (("L1", "statistics", 1.3), ("L0", "statistics", 1.1), ("mix", "statistics", 1.4), ("L1", "md5", 1.4))


def interpreters():
    """({name of the tool: interpreter}, [why a version of the reference is not measured])."""
    found, reasons = {OURS: sys.executable}, []
    for version in peer_environment.VERSIONS:
        try:
            found[version] = peer_environment.given_python(version)
        except NotMeasured as reason:
            reasons.append("reference %s not measured: %s" % (version, reason))
    return found, reasons


def _run(tool, python, script, *arguments):
    return measure(python, script, *arguments, keep_python_path=tool == OURS)


def measure_models(tools, options):
    """{(model, level, task): {tool: result of measure_collection.py, or {"error"}}}; results have "growth_mb" in addition."""
    cells = {}
    for model in options.models:
        for tool, python in tools.items():
            progress("%s, %s" % (model, tool))
            rounds = options.rounds if tool == OURS else _PEER_ROUNDS
            try:
                results = _run(tool, python, "measure_collection.py", model, ",".join(options.levels),
                               ",".join(options.tasks), rounds)
            except NotMeasured as reason:
                results = {"plain": {"error": str(reason)}}
            plain = results["plain"]
            for level in options.levels:
                for task in options.tasks:
                    result = dict(results.get("%s %s" % (level, task), plain))
                    if "error" not in result and "error" in plain:
                        result = {"error": plain["error"]}
                    if "error" not in result:
                        result["growth_mb"] = result["peak_mb"] - plain["peak_mb"]
                    cells.setdefault((model, level, task), {})[tool] = result
    return cells


def _rows(label, unit, limit, times_better_limit, results, value):
    """A row for each version of the reference, each with our figure; without any, one row."""
    versions = [tool for tool in results if tool != OURS] or [None]
    rows = []
    for version in versions:
        row = Row(label if version is None else "%s, beside %s" % (label, version), unit, limit=limit,
                  times_better_limit=times_better_limit)
        ours, reference = results[OURS], results.get(version)
        if isinstance(ours, NotMeasured):
            row.reason = str(ours)
        else:
            row.samples = tuple(map(value, ours))
            row.figure = statistics.median(row.samples)
        if isinstance(reference, NotMeasured):
            row.reference_reason = str(reference)
        elif reference:
            row.reference = statistics.median(map(value, reference))
        rows.append(row)
    return rows


def measure_limits(tools, runs):
    """Rows for the figures that have a limit."""
    progress("API calls")
    results = alternate(runs, {
        tool: lambda tool=tool, python=python: _run(tool, python, "measure_api_calls.py", _API_CALLS,
                                                    5 if tool == OURS else 2)
        for tool, python in tools.items()}, dict.fromkeys(peer_environment.VERSIONS, min(runs, _PEER_RUNS)))
    rows = _rows("API call recorded", "us", API_CALL_LIMIT_US, API_CALL_TIMES_BETTER, results,
                 lambda result: result["overhead_us"])
    for level, task, limit in STEP_LIMITS:
        progress("Llama step, %s %s" % (level, task))
        results = alternate(runs, {
            tool: lambda tool=tool, python=python: _run(tool, python, "measure_training_step.py", task,
                                                        9 if tool == OURS else 2, level)
            for tool, python in tools.items()}, dict.fromkeys(peer_environment.VERSIONS, 1))
        rows += _rows("Llama step, %s %s, over plain" % (level, task), "x", limit, None, results,
                      lambda result: result["ratio"])
    return rows


def _conditions(options, tools, reasons, seconds):
    text = system.lines()
    text.append("one thread%s, files written to %s; a cell: median of %d recorded steps, of the reference %d"
                % (", processor time" if options.cpu_time else "", system.file_system(tempfile.gettempdir()),
                   options.rounds, _PEER_ROUNDS))
    if options.runs:
        text.append("processes for a figure with a limit (median): %d; of the reference %d (API call) and 1 (Llama step)"
                    % (options.runs, min(options.runs, _PEER_RUNS)))
    versions = [tool for tool in tools if tool != OURS]
    if versions:
        text.append("reference: mindstudio-probe " + " and ".join(versions))
    return text + reasons + ["measured in %.0f minutes" % (seconds / 60)]


def parse_arguments():
    parser = argparse.ArgumentParser(description="Measures collection and writes docs/collection.md.")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=LEVELS, metavar="LEVEL", help=", ".join(LEVELS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS, metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--runs", type=int, default=5, metavar="N",
                        help="processes for each figure with a limit (default: 5; 0: leave these out)")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="timed steps of each cell (default: 7)")
    parser.add_argument("--cpu-time", action="store_true",
                        help="processor time, not wall time: for a machine that does other work, too")
    parser.add_argument("--no-peer", action="store_true", help="leave the reference out, even where it is at hand")
    parser.add_argument("--out", default=os.path.join(ROOT, "docs", "collection.md"), metavar="FILE",
                        help="the page to write (default: docs/collection.md)")
    options = parser.parse_args()
    if options.rounds < 1 or options.runs < 0:
        parser.error("--rounds needs a number above 0, --runs one that is not negative")
    return options


def main():
    options = parse_arguments()
    os.environ[CLOCK] = "cpu" if options.cpu_time else "wall"
    begin = time.monotonic()
    tools, reasons = ({OURS: sys.executable}, ["reference left out"]) if options.no_peer else interpreters()
    rows = measure_limits(tools, options.runs) if options.runs else []
    cells = measure_models(tools, options)
    conditions = _conditions(options, tools, reasons, time.monotonic() - begin)
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(collection_page.page(list(tools), cells, rows, conditions))
    progress("wrote " + options.out)
    faults = collection_page.faults(cells)
    for fault in faults:
        progress(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
