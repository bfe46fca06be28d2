"""Measures what the tool costs and prints one table; with --peer beside the reference tool, in the same run.

usage: run.py [--peer [--long]] [--only GROUP ...] [--dump FILE] [--runs N] [--cpu-time]
"""

import argparse
import os
import statistics
import sys
import tempfile

import checker
import google_benchmark
import peer_environment
import system
from processes import CLOCK, ROOT, NotMeasured, alternate, measure, measure_in, progress
from table import Row, format_table

API_CALL_LIMIT_US = 20
API_CALL_TIMES_BETTER = 25
GROWTH_LIMIT = 1.5  # linear growth leaves the cost of a call the same: 1; a quadratic one makes it 4 and more
STEP_LIMIT = 1.5
CHECKER_TIMES_BETTER = 10
WORKERS = 2


class Tools:
    """The interpreters that are measured: ours, and the reference tool's or the reason why there is none."""

    def __init__(self, options):
        self.runs = options.runs
        self.build = options.build
        self.long = options.long
        program = options.command or os.path.join(os.path.dirname(sys.executable), "msprobe")
        self.checker = checker.Checker([program, "--python", sys.executable] if options.command else [program])
        self.dump = options.dump
        self.peer = None
        self.peer_reason = ""
        if options.peer:
            try:
                self.peer = peer_environment.reference_python()
            except NotMeasured as reason:
                self.peer_reason = "no reference tool: %s" % reason

    def measure_both(self, script, *arguments, with_peer=True, peer_arguments=None, peer_runs=None):
        """Runs a script for ours and the reference in turn: {"ours": results or NotMeasured, "peer": the same}."""
        sides = {"ours": lambda: measure(sys.executable, script, *arguments)}
        if self.peer and with_peer:
            sides["peer"] = lambda: measure(self.peer, script, *(peer_arguments or arguments), keep_python_path=False)
        return alternate(self.runs, sides, {"peer": peer_runs})


def _fill(row, results, value):
    """Gives a row the medians of `value(result)` of both sides, or the reasons why there are none."""
    ours, peer = results["ours"], results.get("peer")
    if isinstance(ours, NotMeasured):
        row.reason = str(ours)
    else:
        row.samples = tuple(value(result) for result in ours)
        row.figure = statistics.median(row.samples)
    if isinstance(peer, NotMeasured):
        row.reference_reason = str(peer)
    elif peer:
        row.reference = statistics.median(value(result) for result in peer)
    return row


def _entry(key):
    return lambda result: result[key]


def api_call_rows(tools, notes):
    rows, per_call = [], {}
    for calls in (1000, 4000, 16000):
        progress("API calls, %d a step" % calls)
        few = calls > 4000
        results = tools.measure_both("measure_api_calls.py", calls, 3 if few else 5, with_peer=not few or tools.long,
                                     peer_arguments=(calls, 1 if few else 3), peer_runs=1 if few else None)
        rows.append(_fill(Row("API call recorded, %s a step" % format(calls, ","), "us", limit=API_CALL_LIMIT_US,
                              times_better_limit=API_CALL_TIMES_BETTER), results, _entry("overhead_us")))
        per_call[calls] = rows[-1]
    few, many = per_call[1000], per_call[16000]
    growth = Row("the same, 16,000 over 1,000", "x", limit=GROWTH_LIMIT)
    if few.figure and many.figure:
        growth.figure = many.figure / few.figure
    else:
        growth.reason = few.reason or many.reason or "no cost above that of the plain step"
    if few.reference and many.reference:
        growth.reference = many.reference / few.reference
    return rows + [growth]


def training_step_rows(tools, notes):
    rows = []
    for task in ("statistics", "tensor", "md5"):
        progress("Llama step, " + task)
        results = tools.measure_both("measure_training_step.py", task, 9)
        if task == "statistics":
            rows.append(_fill(Row("Llama step, plain", "ms"), results, _entry("plain_ms")))
        rows.append(_fill(Row("Llama step, " + task, "ms"), results, _entry("dump_ms")))
        limit = STEP_LIMIT if task == "statistics" else None
        rows.append(_fill(Row("Llama step, %s over plain" % task, "x", limit=limit), results, _entry("ratio")))
        if task == "statistics" and not isinstance(results["ours"], NotMeasured):
            notes.append("Llama step: %(forward_records)d forward and %(backward_records)d backward records"
                         % results["ours"][0])
    return rows


def checker_rows(tools, notes):
    progress("start of the command")
    results = alternate(2 * tools.runs, {"ours": tools.checker.version_seconds})
    rows = [_fill(Row("msprobe --version", "ms"), results, lambda seconds: seconds * 1e3)]
    with tempfile.TemporaryDirectory(prefix="msprobe_bench_") as folder:
        dumps = [("dump " + os.path.basename(tools.dump), tools.dump)] if tools.dump else _own_dumps(folder, rows)
        for index, (label, path) in enumerate(dumps):
            rows += _dump_rows(tools, notes, label, path, folder, with_peer=index == len(dumps) - 1)
    return rows


def _own_dumps(folder, rows):
    """GPT-2 dumped by us and, where it is at hand, by the reference tool: [(label, path)]."""
    dumps = []
    try:
        dumps.append(("GPT-2", measure_in(folder, sys.executable, "collect_step.py", "gpt2")["dump"]))
    except NotMeasured as reason:
        rows.append(Row("run_ut, GPT-2", "s", reason=str(reason)))
    peer_dump = checker.peer_gpt2_dump(ROOT)
    return dumps + ([("GPT-2 dumped by the reference", peer_dump)] if peer_dump else [])


def _dump_rows(tools, notes, label, path, folder, with_peer):
    progress("run_ut, " + label)
    whole = Row("run_ut, " + label, "s", times_better_limit=CHECKER_TIMES_BETTER if with_peer else None)
    try:
        dump = checker.unpacked(path, folder)
        checked = checker.checked_apis(tools.checker.run_ut(dump)[1])  # warms the file cache, too
        if not checked:
            raise NotMeasured("no API of this dump could be checked")
    except NotMeasured as reason:
        whole.reason = str(reason)
        return [whole]
    sides = {"whole": lambda: tools.checker.run_ut(dump), "one": lambda: tools.checker.run_ut(dump, "--only", checked[0]),
             "multi": lambda: tools.checker.multi_run_ut(dump, WORKERS)}
    if tools.peer and with_peer:
        reference = checker.ReferenceChecker(tools.peer)
        sides["peer"] = lambda: reference.run_ut(dump)
    results = alternate(tools.runs, sides)
    peer = results.get("peer")
    _fill(whole, {"ours": results["whole"], "peer": peer}, _seconds)
    one = _fill(Row("the same, one API alone (start-up)", "s"), {"ours": results["one"]}, _seconds)
    multi = _fill(Row("multi_run_ut -n %d, " % WORKERS + label, "s"), {"ours": results["multi"]}, _seconds)
    rate = Row("the same, after start-up", "APIs/s", more_is_better=True)
    if whole.figure is None or one.figure is None:
        rate.reason = whole.reason or one.reason
    elif len(checked) < 2 or whole.figure <= one.figure:
        rate.reason = "too short to tell from start-up"
    else:
        rate.figure = (len(checked) - 1) / (whole.figure - one.figure)
    if whole.figure is not None:
        notes.append("run_ut, %s: %s" % (label, checker.summary(results["whole"][0][1])))
    if whole.reference is not None:
        notes.append("the reference's run_ut, %s: %s" % (label, checker.summary(peer[0][1])))
    return [whole, one, rate, multi]


def _seconds(result):
    return result[0]


def mindspore_rows(tools, notes):
    rows = []
    for kind, label, limit, times_better in (("cell", "MindSpore cell without parameters, L0", 100, None),
                                             ("cell-with-parameters", "MindSpore cell with parameters, L0", 200, None),
                                             ("call", "MindSpore API call, L1", 100, 10)):
        progress(label)
        results = tools.measure_both("measure_mindspore.py", kind, 1000, 5, peer_arguments=(kind, 200, 3))
        rows.append(_fill(Row(label, "us", limit=limit, times_better_limit=times_better), results, _entry("overhead_us")))
        if kind == "call":
            rows.append(_fill(Row("the same, after stop()", "us", limit=1), results, _entry("stopped_us")))
    progress("MindSpore API calls, 64,000 a step")
    many = tools.measure_both("measure_mindspore.py", "call", 64000, 1, with_peer=False)
    rows.append(_fill(Row("the same, 64,000 a step", "us"), many, _entry("overhead_us")))
    rows.append(_fill(Row("plain call beside it", "us"), many, _entry("plain_us")))
    return rows


def kernel_rows(tools, notes):
    progress("statistics kernel")
    return google_benchmark.kernel_rows(tools.build)


def json_rows(tools, notes):
    progress("JSON")
    return google_benchmark.json_rows(tools.build)


GROUPS = {"api": api_call_rows, "step": training_step_rows, "mindspore": mindspore_rows, "checker": checker_rows,
          "kernel": kernel_rows, "json": json_rows}
PEER_GROUPS = ("api", "step", "mindspore", "checker")


def _conditions(tools, options):
    """What a reader of the table has to know, in lines."""
    text = system.lines()
    text.append("%s of %d process%s a figure, one thread each%s"
                % ("median" if options.runs > 1 else "result", options.runs, "es" if options.runs > 1 else "",
                   ", processor time" if options.cpu_time else ""))
    if options.peer:
        text.append("reference: " + (tools.peer_reason or peer_environment.REFERENCE))
    return text


def parse_arguments():
    parser = argparse.ArgumentParser(description="Measures what the tool costs and prints one table.")
    parser.add_argument("--peer", action="store_true", help="also measure the reference tool (mindstudio-probe 1.0.4)")
    parser.add_argument("--long", action="store_true", help="with --peer: its 16,000 calls a step too, some minutes")
    parser.add_argument("--only", nargs="+", choices=GROUPS, metavar="GROUP",
                        help="measure these groups alone: " + ", ".join(GROUPS))
    parser.add_argument("--dump", metavar="FILE", help="dump.json for the checker (default: GPT-2, dumped now)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="processes for each figure (default: 3)")
    parser.add_argument("--cpu-time", action="store_true",
                        help="processor time, not wall time: for a machine that does other work, too")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), metavar="DIR",
                        help="build folder with the C++ benchmarks (default: build/release)")
    parser.add_argument("--command", metavar="PROGRAM", help="msprobe (default: the one beside this Python)")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs needs a number above 0")
    return options


def main():
    options = parse_arguments()
    os.environ[CLOCK] = "cpu" if options.cpu_time else "wall"
    tools = Tools(options)
    rows, notes = [], []
    for name in options.only or (PEER_GROUPS if options.peer else GROUPS):
        try:
            rows += GROUPS[name](tools, notes)
        except NotMeasured as reason:
            rows.append(Row(name, "", reason=str(reason)))
    table = format_table(rows, bool(tools.peer))
    print("\n".join(["", *_conditions(tools, options), "", table, "", *notes]), flush=True)
    return 0 if any(row.figure is not None for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
