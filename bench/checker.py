"""Time of the offline checker, whole processes from outside: ours, and the reference tool's run_ut."""

import collections
import csv
import glob
import gzip
import os
import shutil
import tempfile

from processes import BENCH, NotMeasured, run


class Checker:
    """Our command, with the CPU as the device under test: what is measured is the tool, not a device."""

    def __init__(self, command):
        self._command = command  # program and its leading options

    def version_seconds(self):
        return run([self._command[0], "--version"])[0]

    def run_ut(self, dump, *options):
        """Returns (wall seconds, verdicts as in `read_verdicts`)."""
        return self._check("run_ut", dump, *options)

    def multi_run_ut(self, dump, workers):
        return self._check("multi_run_ut", dump, "-n", str(workers))

    def _check(self, subcommand, dump, *options):
        program, *leading = self._command
        return _timed_check([program, "-f", "pytorch", subcommand, *leading, "--device-type", "cpu", *options], dump, True)


class ReferenceChecker:
    """run_ut of the reference tool, run by the interpreter that has it."""

    def __init__(self, python):
        self._python = python

    def run_ut(self, dump):
        return _timed_check([self._python, os.path.join(BENCH, "reference.py")], dump, False)


def _timed_check(command, dump, keep_python_path):
    with tempfile.TemporaryDirectory(prefix="msprobe_bench_") as folder:
        out = os.path.join(folder, "out")
        seconds, _ = run([*command, "-api_info", dump, "-o", out], keep_python_path, folder)
        return seconds, read_verdicts(out)


def read_verdicts(folder):
    """{API name: (forward verdict, backward verdict, message)} from the result CSV in a folder."""
    files = glob.glob(os.path.join(folder, "accuracy_checking_result_*.csv"))
    if len(files) != 1:
        raise NotMeasured("the checker left %d result files, not one" % len(files))
    with open(files[0], encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {row[0]: (row[1].strip(), row[2].strip(), row[3].strip() if len(row) > 3 else "") for row in rows}


def checked_apis(verdicts):
    """Names of the APIs that were really called."""
    return [name for name, (forward, _, _) in verdicts.items() if forward.upper() != "SKIP"]


def summary(verdicts):
    """Such as "113 APIs; forward 113 pass; backward 98 pass, 15 none"."""
    text = "%d APIs" % len(verdicts)
    for label, index in (("forward", 0), ("backward", 1)):
        counts = collections.Counter(verdict[index] or "none" for verdict in verdicts.values())
        text += "; %s " % label + ", ".join("%d %s" % (count, verdict) for verdict, count in counts.most_common())
    return text


def peer_gpt2_dump(root):
    """A GPT-2 dump that the reference tool wrote, from the folder MSPROBE_PEER_DIR or ../shared/peer; None without."""
    peer = os.environ.get("MSPROBE_PEER_DIR") or os.path.join(root, os.pardir, "shared", "peer")
    path = os.path.join(peer, "pytorch", "dumps", "gpt2-1.0.4-statistics-L1", "dump.json")
    for candidate in (path, path + ".gz"):
        if os.path.exists(candidate):
            return os.path.abspath(candidate)
    return None


def unpacked(dump, folder):
    """The dump itself, or its text in `folder` if it is gzipped."""
    if not os.path.isfile(dump):
        raise NotMeasured("there is no file %s" % dump)
    if not dump.endswith(".gz"):
        return os.path.abspath(dump)
    path = os.path.join(folder, "dump.json")
    with gzip.open(dump, "rb") as source, open(path, "wb") as target:
        shutil.copyfileobj(source, target)
    return path
