"""Records one training step (forward and backward) of a small model at L1.

usage: collect_step.py RESULT_FILE WORK_FOLDER MODEL [TASK [DEVICE [DTYPE]]]      MODEL: gpt2, llama

Writes {"dump": path of dump.json, "forward_records", "backward_records", "seconds", "loss"}; of two steps the second
is kept, `seconds` is its time from start() to step().
"""

import json
import sys

import torch

import dumping
import models


def main():
    result_file, folder, name = sys.argv[1:4]
    task, device, dtype = (sys.argv[4:] + ["statistics", "cpu", "float32"][len(sys.argv) - 4:])[:3]
    torch.set_num_threads(1)
    model, batch = models.build(name, device, getattr(torch, dtype))
    debugger = dumping.make_debugger(folder, task)
    for _ in range(2):
        begin = dumping.now()
        debugger.start(model)
        loss = model(**batch).loss
        loss.backward()
        debugger.stop()
        debugger.step()
        seconds = dumping.now() - begin
        model.zero_grad()
    dumping.remove_step(folder, 0)
    forward, backward = dumping.count_records(folder, 1)
    with open(result_file, "w", encoding="utf-8") as file:
        json.dump({"dump": dumping.dump_file(folder, 1), "forward_records": forward, "backward_records": backward,
                   "seconds": seconds, "loss": loss.item()}, file)


if __name__ == "__main__":
    main()
