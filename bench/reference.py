"""Runs run_ut of the reference tool (mindstudio-probe 1.0.4) with the CPU as its device under test.

usage: reference.py -api_info DUMP_JSON -o FOLDER        as the tool's own run_ut; run by an interpreter that has it

The tool accepts an NPU or a GPU only, so the name of its device and two calls into torch.cuda are replaced. What it does
for each API is untouched.
"""

import torch


def _use_cpu(modules):
    torch.cuda.set_device = lambda *arguments: None
    torch.cuda.empty_cache = lambda: None
    for module in modules:
        module.current_device = "cpu"


def main():
    torch.set_num_threads(1)
    from msprobe.pytorch.api_accuracy_checker.run_ut import run_ut, run_ut_utils
    _use_cpu([run_ut, run_ut_utils])
    run_ut._run_ut()


if __name__ == "__main__":
    main()
