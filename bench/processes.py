"""Starts the measured programs: each in a process of its own, on one thread, with its output kept out of the table."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(BENCH)
CLOCK = "MSPROBE_BENCH_CLOCK"
_TIMEOUT_SECONDS = 900


class NotMeasured(Exception):
    """Says in one line why there is no figure."""


def progress(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def environment(keep_python_path=True):
    """This process's environment with one thread for every library that computes."""
    variables = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
        variables[name] = "1"
    variables.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", PYTHONWARNINGS="ignore")
    if not keep_python_path:
        variables.pop("PYTHONPATH", None)
    return variables


def _now():
    """Seconds of the clock that is used: wall time, or processor time of all children with MSPROBE_BENCH_CLOCK=cpu."""
    if os.environ.get(CLOCK) != "cpu":
        return time.perf_counter()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, keep_python_path=True, folder=None):
    """Runs a program to its end, in `folder`. Returns (seconds, stdout). Raises NotMeasured with its last line."""
    begin = _now()
    try:
        finished = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, errors="replace", timeout=_TIMEOUT_SECONDS,
                                  cwd=folder, env=environment(keep_python_path))
    except FileNotFoundError:
        raise NotMeasured("%s does not exist; run `make build`" % command[0]) from None
    except subprocess.TimeoutExpired:
        raise NotMeasured("%s took more than %d s" % (os.path.basename(command[0]), _TIMEOUT_SECONDS)) from None
    seconds = _now() - begin
    if finished.returncode != 0:
        raise NotMeasured("%s: exit code %d: %s" % (os.path.basename(command[0]), finished.returncode,
                                                   _last_line(finished.stderr) or _last_line(finished.stdout)))
    return seconds, finished.stdout


def _last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"


def measure(python, script, *arguments, keep_python_path=True):
    """Runs a script of this folder, called with a result file and an empty work folder first. Returns its result."""
    with tempfile.TemporaryDirectory(prefix="msprobe_bench_") as folder:
        return measure_in(folder, python, script, *arguments, keep_python_path=keep_python_path)


def measure_in(folder, python, script, *arguments, keep_python_path=True):
    """As `measure`, in a folder that stays."""
    result = os.path.join(folder, "result.json")
    run([python, os.path.join(BENCH, script), result, os.path.join(folder, "work"), *map(str, arguments)],
        keep_python_path)
    with open(result, encoding="utf-8") as file:
        return json.load(file)


def alternate(runs, measurements, fewer_runs=None):
    """Calls each of {name: function} `runs` times in turn, so that a busy spell of the machine hits all of them.

    `fewer_runs`: {name: runs or None} for those to be called less often. Returns {name: list of results}; what fails is
    not called again, and its entry is the NotMeasured.
    """
    results = {name: [] for name in measurements}
    for index in range(runs):
        for name, function in measurements.items():
            if isinstance(results[name], NotMeasured) or index >= ((fewer_runs or {}).get(name) or runs):
                continue
            try:
                results[name].append(function())
            except NotMeasured as reason:
                results[name] = reason
    return results
