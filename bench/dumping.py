"""What the measuring scripts share: a debugger from a config file, and a look at the records that it wrote.

Uses only what msprobe-native and the reference tool both have, so that one script measures either.
"""

import glob
import json
import os
import shutil
import time

# Wall time, or processor time of this process with MSPROBE_BENCH_CLOCK=cpu.
now = time.process_time if os.environ.get("MSPROBE_BENCH_CLOCK") == "cpu" else time.perf_counter


def make_debugger(folder, task):
    """A PrecisionDebugger at level L1 for every step. `task`: statistics, tensor or md5 (statistics with check values)."""
    section = {"scope": [], "list": [], "data_mode": ["all"]}
    name = "tensor" if task == "tensor" else "statistics"
    if name == "statistics":
        section["summary_mode"] = task
    config = {"task": name, "dump_path": os.path.join(folder, "dump"), "rank": [], "step": [], "level": "L1", name: section}
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    from msprobe.pytorch import PrecisionDebugger
    return PrecisionDebugger(config_path=path)


def dump_file(folder, step):
    """Path of the dump.json of a finished step."""
    found = glob.glob(os.path.join(folder, "dump", "step%d" % step, "rank*", "dump.json"))
    if len(found) != 1:
        raise RuntimeError("step %d left %d dump.json files in %s, not one" % (step, len(found), folder))
    return found[0]


def count_records(folder, step):
    """Returns (forward records, backward records) of a finished step."""
    with open(dump_file(folder, step), encoding="utf-8") as file:
        names = json.load(file)["data"]
    return sum(name.endswith(".forward") for name in names), sum(name.endswith(".backward") for name in names)


def remove_step(folder, step):
    shutil.rmtree(os.path.join(folder, "dump", "step%d" % step), ignore_errors=True)
