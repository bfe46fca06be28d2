"""Training steps of one model, plain and recorded at several levels and tasks, each of these in a process of its own.

usage: measure_collection.py RESULT_FILE WORK_FOLDER MODEL LEVELS TASKS ROUNDS
       MODEL of tests/python/models.py; LEVELS, TASKS: names with commas between; TASKS: statistics, md5, tensor

Writes {"plain": {"peak_mb"}, "L1 tensor": {...}, ...}; for each level and task either {"error": why there is nothing} or
"plain_ms", "dump_ms"   medians of the rounds; forward and backward; the recorded step from before start() to after step()
"peak_mb"               the most memory that the process held; "plain" is a process that ran as many steps without a tool
"same_loss", "gradients", "changed_gradients"   a recorded step against a plain one, bit for bit
"records", "missing", "foreign"                 see dump_records.count; of the second recorded step
Torch and the model are loaded once; the processes are forked from there, before anything was computed.
"""

import hashlib
import importlib.util
import json
import os
import resource
import shutil
import signal
import statistics
import sys

import torch

import dump_records
import dumping

_MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests", "python", "models.py")
_SECONDS_PER_CELL = 240


def _load_models():
    spec = importlib.util.spec_from_file_location("collected_models", _MODELS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Steps:
    """Training steps of a model, timed."""

    def __init__(self, model, batch):
        self.model, self._batch = model, batch

    def run(self, before=lambda: None, after=lambda: None):
        """Returns (milliseconds, digest of the loss, {parameter: digest of its gradient})."""
        self.model.zero_grad(set_to_none=True)
        torch.manual_seed(77)
        begin = dumping.now()
        before()
        loss = self.model(**self._batch).loss
        loss.backward()
        after()
        milliseconds = (dumping.now() - begin) * 1e3
        gradients = {name: parameter.grad for name, parameter in self.model.named_parameters()}
        return milliseconds, _digest(loss.detach()), {name: _digest(gradient) for name, gradient in gradients.items()}


def _digest(tensor):
    if tensor is None:
        return None
    data = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    return hashlib.sha256(data.tobytes()).hexdigest()


def _peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _plain(steps, rounds):
    """`rounds` timed steps after a first one; they have to agree, or there is nothing to compare with."""
    results = [steps.run() for _ in range(rounds + 1)]
    if any(result[1:] != results[0][1:] for result in results):
        raise RuntimeError("plain steps of this model do not repeat bit for bit")
    return results[1:]


def measure_plain(steps, rounds):
    _plain(steps, 2 * rounds + 1)
    return {"peak_mb": _peak_mb()}


def measure_cell(steps, folder, level, task, rounds):
    plain = _plain(steps, rounds)
    model = None if level == "L1" else steps.model
    debugger = dumping.make_debugger(folder, task, level, model)

    def finish():
        debugger.stop()
        debugger.step()

    recorded = []
    for index in range(rounds + 1):
        recorded.append(steps.run(lambda: dumping.start(debugger, model), finish))
        if index != 1:
            dumping.remove_step(folder, index)
    peak = _peak_mb()  # before the dump is read here
    with open(dumping.dump_file(folder, 1), encoding="utf-8") as file:
        counts = dump_records.count(json.load(file)["data"])
    if not counts["records"]:
        raise RuntimeError("nothing was recorded")
    _, loss, gradients = plain[0]
    worst = [[name for name in gradients if gradients[name] != result[2].get(name)] for result in recorded]
    return dict(counts, plain_ms=statistics.median(result[0] for result in plain),
                dump_ms=statistics.median(result[0] for result in recorded[1:]), peak_mb=peak,
                same_loss=all(result[1] == loss for result in recorded), gradients=len(gradients),
                changed_gradients=max(map(len, worst)))


def _in_process(measurement, path):
    """The result of `measurement()` in a fork of this process, or {"error": one line}. `path`: for the result."""
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS_PER_CELL)
        try:
            result = measurement()
        except BaseException as error:  # also SystemExit: a tool that ends the training is a result
            lines = str(error).strip().splitlines() or ["no message"]
            result = {"error": "%s: %s" % (type(error).__name__, lines[-1][:200])}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        killer = os.WTERMSIG(status)
        return {"error": "took more than %d s" % _SECONDS_PER_CELL if killer == signal.SIGALRM else
                "ended by signal %d" % killer}
    if not os.path.exists(path):
        return {"error": "ended with exit code %d" % os.WEXITSTATUS(status)}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    result_file, folder, name, levels, tasks = sys.argv[1:6]
    rounds = int(sys.argv[6])
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    steps = Steps(*_load_models().build(name))
    results = {"plain": _in_process(lambda: measure_plain(steps, rounds), os.path.join(folder, "plain.json"))}
    for level in levels.split(","):
        for task in tasks.split(","):
            cell = "%s %s" % (level, task)
            work = os.path.join(folder, cell.replace(" ", "_"))
            results[cell] = _in_process(lambda: measure_cell(steps, work, level, task, rounds), work + ".json")
            shutil.rmtree(work, ignore_errors=True)
    with open(result_file, "w", encoding="utf-8") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main()
