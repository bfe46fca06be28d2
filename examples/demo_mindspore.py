"""Dumps a real training run with Model.train and MsprobeStep on the CPU, and shows what the files say.

Called by `make demo-mindspore`. Writes into out/demo_mindspore_<time>; nothing is overwritten.
"""

import collections
import glob
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    out = os.path.join(ROOT, "out", "demo_mindspore_" + time.strftime("%Y%m%d%H%M%S"))
    script = os.path.join(ROOT, "examples", "mindspore_training.py")
    print("== 1. Train a small convolutional network for two steps, and record them", flush=True)
    print("$ python %s %s" % (os.path.relpath(script, ROOT), os.path.relpath(out, ROOT)), flush=True)
    if subprocess.run([sys.executable, script, out], cwd=ROOT).returncode != 0:
        sys.exit("the demo stops: the training failed")
    print("\n== 2. What the files say")
    for path in sorted(glob.glob(os.path.join(out, "step*", "rank*", "dump.json"))):
        with open(path, encoding="utf-8") as file:
            records = json.load(file)["data"]
        kinds = collections.Counter(name.split(".")[0] for name in records)
        print("%s: %d records (%s)" % (os.path.relpath(path, ROOT), len(records),
                                       ", ".join("%d %s" % (count, kind) for kind, count in sorted(kinds.items()))))
    name, record = next((name, record) for name, record in records.items() if name.startswith("Cell.") and "backward" in name)
    print("for example %s: the gradient that came in has Norm %.4g" % (name, record["input"][0]["Norm"]))
    print("Where each call was made stands in stack.json beside it, which cell it belongs to in construct.json.")


if __name__ == "__main__":
    main()
