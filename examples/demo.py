"""The main job on a real model: dump a step, check it, check it again as the other device would, compare the two.

Called by `make demo`. Writes into out/demo_<time>; nothing is overwritten.
"""

import csv
import glob
import os
import subprocess
import sys
import time
from collections import Counter

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MSPROBE = os.path.join(os.path.dirname(sys.executable), "msprobe")


def run(title, *command):
    print("\n== " + title + "\n$ " + " ".join(os.path.relpath(part, ROOT) if part.startswith(ROOT) else part for part in command),
          flush=True)
    finished = subprocess.run(command, cwd=ROOT)
    if finished.returncode != 0:
        sys.exit("the demo stops: this command ended with exit code %d" % finished.returncode)


def only(pattern):
    found = sorted(glob.glob(pattern))
    if not found:
        sys.exit("the demo stops: nothing matches " + pattern)
    return found[-1]


def verdicts(path, direction):
    with open(path, encoding="utf-8-sig", newline="") as file:
        counts = Counter(row[direction].strip() or "none" for row in csv.DictReader(file))
    return ", ".join("%d %s" % (count, verdict) for verdict, count in counts.most_common())


def main():
    out = os.path.join(ROOT, "out", "demo_" + time.strftime("%Y%m%d%H%M%S"))
    os.makedirs(out)
    run("1. Record one training step of a small Llama", sys.executable, os.path.join(ROOT, "examples", "llama_step.py"),
        os.path.join(out, "dump"))
    dump = only(os.path.join(out, "dump", "step0", "rank*", "dump.json"))
    run("2. Check every recorded call", MSPROBE, "-f", "pytorch", "run_ut", "-api_info", dump, "-o", os.path.join(out, "device"))
    run("3. Check it again with two workers, as the other device would", MSPROBE, "-f", "pytorch", "multi_run_ut", "-api_info",
        dump, "-n", "2", "-o", os.path.join(out, "benchmark"))
    details = [only(os.path.join(out, side, "accuracy_checking_details_*.csv")) for side in ("device", "benchmark")]
    run("4. Compare the two by the precision standard", MSPROBE, "-f", "pytorch", "api_precision_compare", "-npu", details[0],
        "-gpu", details[1], "-o", os.path.join(out, "compare"))

    print("\n== What the files say")
    for label, pattern in (("run_ut", "device/accuracy_checking_result_*.csv"),
                           ("multi_run_ut", "benchmark/accuracy_checking_result_*.csv"),
                           ("api_precision_compare", "compare/api_precision_compare_result_*.csv")):
        path = only(os.path.join(out, pattern))
        print("%-22s %s" % (label, os.path.relpath(path, ROOT)))
        print("%-22s forward: %s" % ("", verdicts(path, "Forward Test Success")))
        print("%-22s backward: %s" % ("", verdicts(path, "Backward Test Success")))
    print("The recorded calls are in " + os.path.relpath(dump, ROOT) + ", where they were made in stack.json beside it.")


if __name__ == "__main__":
    main()
