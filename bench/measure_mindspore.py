"""Cost of recording one call with MindSpore: a step of N calls on 16x16 tensors, forward and backward, task statistics.

usage: measure_mindspore.py RESULT_FILE WORK_FOLDER KIND CALLS ROUNDS

KIND: cell (L0, ReLU), cell-with-parameters (L0, Dense), call (L1, ops.add). Writes {"plain_us", "dump_us", "overhead_us",
"stopped_us"}: microseconds per call, medians of the rounds; stopped_us is what a call costs more after stop(). Operators run
one by one (pynative_synchronize), for this tool and the reference alike.
"""

import json
import os
import statistics
import sys

import mindspore
import numpy
from mindspore import Tensor, nn, ops

import dumping

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, pynative_synchronize=True)
mindspore.set_device("CPU")

LEVELS = {"cell": "L0", "cell-with-parameters": "L0", "call": "L1"}


def help_the_reference():
    """Names without which its versions do not run on this MindSpore; the tool itself is unchanged."""
    import mindspore.common._stub_tensor as stub
    import mindspore.common.api as old
    import mindspore.graph.api as new
    from mindspore import mint

    if not hasattr(old, "_MindsporeFunctionExecutor"):
        old._MindsporeFunctionExecutor = new._JitExecutor
    if not hasattr(stub, "StubTensor"):
        stub.StubTensor = type("StubTensor", (), {})
    norm = ops.norm
    mint.norm = lambda tensor, *args, **kwargs: norm(tensor.astype(mindspore.float32))


class Chain(nn.Cell):
    def __init__(self, make, count):
        super().__init__()
        self.chain = nn.CellList([make() for _ in range(count)])

    def construct(self, x):
        for cell in self.chain:
            x = cell(x)
        return x


def made(kind, calls):
    """(model or None, step)"""
    x, other = (Tensor(numpy.random.RandomState(seed).randn(16, 16).astype(numpy.float32)) for seed in (0, 1))
    if kind == "call":
        def forward(x):
            for _ in range(calls):
                x = ops.add(x, other)
            return x.sum()

        gradient = mindspore.grad(forward)
        return None, lambda: gradient(x)
    net = Chain(nn.ReLU if kind == "cell" else lambda: nn.Dense(16, 16), calls)
    weights = net.trainable_params()
    gradient = mindspore.value_and_grad(lambda x: net(x).sum(), 0, weights) if weights else mindspore.grad(lambda x: net(x).sum())
    return net, lambda: gradient(x)


def timed(action):
    begin = dumping.now()
    action()
    return dumping.now() - begin


def main():
    result_file, folder, kind = sys.argv[1:4]
    calls, rounds = int(sys.argv[4]), int(sys.argv[5])
    model, step = made(kind, calls)
    step()
    plain = [timed(step) for _ in range(rounds)]
    try:
        import msprobe._core  # noqa: F401
    except ImportError:
        help_the_reference()
    from msprobe.mindspore import PrecisionDebugger

    os.makedirs(folder, exist_ok=True)
    config = os.path.join(folder, "config.json")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"task": "statistics", "level": LEVELS[kind], "dump_path": os.path.join(folder, "dump"), "rank": [], "step": [],
                   "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}, file)
    debugger = PrecisionDebugger(config_path=config)

    def dumped():
        if model is None:
            debugger.start()
        else:
            debugger.start(model)
        step()
        debugger.stop()
        debugger.step()

    dumped()
    dump = [timed(dumped) for _ in range(rounds)]
    stopped = [timed(step) for _ in range(rounds)]
    microseconds = {name: statistics.median(times) / calls * 1e6
                    for name, times in (("plain_us", plain), ("dump_us", dump), ("stopped_us", stopped))}
    microseconds["overhead_us"] = microseconds["dump_us"] - microseconds["plain_us"]
    microseconds["stopped_us"] -= microseconds["plain_us"]
    with open(result_file, "w", encoding="utf-8") as file:
        json.dump(microseconds, file)


if __name__ == "__main__":
    main()
