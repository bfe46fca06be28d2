"""What the measuring scripts share: a debugger from a config file, and a look at the records that it wrote.

Uses only what msprobe-native and the reference tool both have, so that one script measures either.
"""

import glob
import inspect
import json
import os
import shutil
import time

from dump_records import direction

# Wall time, or processor time of this process with MSPROBE_BENCH_CLOCK=cpu.
now = time.process_time if os.environ.get("MSPROBE_BENCH_CLOCK") == "cpu" else time.perf_counter


def make_debugger(folder, task, level="L1", model=None):
    """A PrecisionDebugger for every step. `task`: statistics, tensor or md5 (statistics with check values).

    Levels L0 and mix need the model, here and for `start` below; L1 gets none.
    """
    section = {"scope": [], "list": [], "data_mode": ["all"]}
    name = "tensor" if task == "tensor" else "statistics"
    if name == "statistics":
        section["summary_mode"] = task
    config = {"task": name, "dump_path": os.path.join(folder, "dump"), "rank": [], "step": [], "level": level, name: section}
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    from msprobe.pytorch import PrecisionDebugger
    if model is None or _start_takes_a_model(PrecisionDebugger):
        return PrecisionDebugger(config_path=path)
    return PrecisionDebugger(config_path=path, model=model)


def _start_takes_a_model(debugger):
    return "model" in inspect.signature(debugger.start).parameters


def start(debugger, model):
    """Starts recording; older versions of the reference were given the model when the debugger was made."""
    if _start_takes_a_model(type(debugger)):
        debugger.start(model)
    else:
        debugger.start()


def dump_file(folder, step):
    """Path of the dump.json of a finished step."""
    found = glob.glob(os.path.join(folder, "dump", "step%d" % step, "*", "dump.json"))
    if len(found) != 1:
        raise RuntimeError("step %d left %d dump.json files in %s, not one" % (step, len(found), folder))
    return found[0]


def count_records(folder, step):
    """Returns (forward records, backward records) of a finished step."""
    with open(dump_file(folder, step), encoding="utf-8") as file:
        directions = [direction(name)[0] for name in json.load(file)["data"]]
    return directions.count("forward"), directions.count("backward")


def remove_step(folder, step):
    shutil.rmtree(os.path.join(folder, "dump", "step%d" % step), ignore_errors=True)
