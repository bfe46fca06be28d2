"""Time of a training step of a small Llama (forward, backward, AdamW), plain and dumped.

usage: measure_training_step.py RESULT_FILE WORK_FOLDER TASK ROUNDS [LEVEL]
       TASK: statistics, tensor, md5; LEVEL: L0, L1 (default), mix

Writes {"plain_ms", "dump_ms", "ratio", "forward_records", "backward_records"}: medians of the rounds. The dumped step
counts from before start() to after step(), writing the files included.
"""

import json
import statistics
import sys

import torch

import dumping
import models


def main():
    result_file, folder, task, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    level = sys.argv[5] if len(sys.argv) > 5 else "L1"
    torch.set_num_threads(1)
    model, batch = models.build("llama")
    recorded_model = None if level == "L1" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def time_step(debugger=None):
        begin = dumping.now()
        if debugger:
            dumping.start(debugger, recorded_model)
        model(**batch).loss.backward()
        if debugger:
            debugger.stop()
        optimizer.step()
        optimizer.zero_grad()
        if debugger:
            debugger.step()
        return (dumping.now() - begin) * 1e3

    # The first two of each kind warm up. All plain steps come before the debugger exists: it may leave traces in torch.
    plain = statistics.median([time_step() for _ in range(rounds + 2)][2:])
    debugger = dumping.make_debugger(folder, task, level, recorded_model)
    dumped = []
    for index in range(rounds + 2):
        dumped.append(time_step(debugger))
        if index == 0:
            forward, backward = dumping.count_records(folder, index)
            if not forward or not backward:
                raise RuntimeError("the step left %d forward and %d backward records" % (forward, backward))
        dumping.remove_step(folder, index)
    dump = statistics.median(dumped[2:])
    with open(result_file, "w", encoding="utf-8") as file:
        json.dump({"plain_ms": plain, "dump_ms": dump, "ratio": dump / plain, "forward_records": forward,
                   "backward_records": backward}, file)


if __name__ == "__main__":
    main()
