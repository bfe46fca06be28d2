"""Cost of recording one API call: a step of N torch.add calls on 16x16 tensors, forward and backward, L1 statistics.

usage: measure_api_calls.py RESULT_FILE WORK_FOLDER CALLS ROUNDS

Writes {"plain_us", "dump_us", "overhead_us"}: microseconds per call, medians of the rounds. The dumped step counts from
before start() to after step(), writing the files included.
"""

import json
import statistics
import sys

import torch

import dumping


def main():
    result_file, folder = sys.argv[1:3]
    calls, rounds = int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    first = torch.randn(16, 16, requires_grad=True)
    other = torch.randn(16, 16, requires_grad=True)

    def step():
        total = first
        for _ in range(calls):
            total = torch.add(total, other)
        total.sum().backward()
        first.grad = other.grad = None

    def time_step(debugger=None):
        begin = dumping.now()
        if debugger:
            debugger.start()
        step()
        if debugger:
            debugger.stop()
            debugger.step()
        return (dumping.now() - begin) / calls * 1e6

    # The first of each kind warms up. All plain steps come before the debugger exists: it may leave traces in torch.
    plain = statistics.median([time_step() for _ in range(rounds + 1)][1:])
    debugger = dumping.make_debugger(folder, "statistics")
    dumped = []
    for index in range(rounds + 1):
        dumped.append(time_step(debugger))
        forward, backward = dumping.count_records(folder, index) if index == 0 else (calls, calls)
        if forward < calls or backward < calls:
            raise RuntimeError("%d calls left %d forward and %d backward records" % (calls, forward, backward))
        dumping.remove_step(folder, index)
    dump = statistics.median(dumped[1:])
    with open(result_file, "w", encoding="utf-8") as file:
        json.dump({"plain_us": plain, "dump_us": dump, "overhead_us": dump - plain}, file)


if __name__ == "__main__":
    main()
