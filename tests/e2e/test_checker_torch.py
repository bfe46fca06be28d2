"""run_ut and multi_run_ut with the real workers and torch, the CPU as the device under test."""

import importlib.util
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import make_dump, read_csv, tensor, write_dump

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None or importlib.util.find_spec("msprobe") is None,
                                reason="torch or this package is not installed for this interpreter")


@pytest.fixture(scope="module", autouse=True)
def built():
    code = "import msprobe._core.replay"
    if subprocess.run([sys.executable, "-c", code], capture_output=True).returncode != 0:
        pytest.skip("the package's extension is not built for this interpreter")


@pytest.fixture
def run(check):
    """The checker with this interpreter."""
    def call(dump, *options, **more):
        return check(dump, "--python", sys.executable, *options, fake=False, timeout=300, **more)

    return call


def small_dump(copies=1):
    dump = make_dump([])
    for i in range(copies):
        dump["data"].update({
            f"Functional.linear.{i}.forward": {
                "input_args": [tensor((4, 3)), tensor((5, 3))], "input_kwargs": {"bias": tensor((5,))},
                "output": [tensor((4, 5))]},
            f"Tensor.add.{i}.forward": {
                "input_args": [tensor((2, 3)), {"type": "int", "value": 2}], "input_kwargs": {}, "output": [tensor((2, 3))]},
            f"Torch.no_such_function.{i}.forward": {"input_args": [tensor()], "input_kwargs": {}, "output": [tensor()]},
            f"Functional.linear.{i}.backward": {"input": [tensor((4, 5))],
                                                "output": [tensor((4, 3)), tensor((5, 3)), tensor((5,))]},
        })
    return dump


def test_a_cpu_passes_its_own_check(run):
    result = run(small_dump(), check_code=0)
    rows = {row[0]: row[1:] for row in result.rows()[1:]}
    assert rows["Functional.linear.0"][:2] == ["pass", "pass"]
    assert rows["Tensor.add.0"][:2] == ["pass", " "]
    assert rows["Torch.no_such_function.0"][:2] == ["SKIP", "SKIP"] and rows["Torch.no_such_function.0"][2]
    details = {row[0]: row for row in result.rows("details")[1:]}
    assert details["Functional.linear.0.forward.output.0"][1:4] == ["torch.float64", "torch.float32", "(4, 5)"]
    assert details["Functional.linear.0.backward.output.1"][3] == "(5, 3)"
    assert "this run shows nothing about an accelerator" in result.stdout


def test_workers_do_not_change_a_byte(run, tmp_path):
    contents = []
    for options in ([], ["-n", "3"]):
        result = run(small_dump(12), *options, command="multi_run_ut" if options else "run_ut", check_code=0)
        contents.append((result.path("result").read_bytes(), result.path("details").read_bytes()))
        for path in result.out.iterdir():
            path.unlink()
    assert contents[0] == contents[1]


def test_a_run_that_was_killed_is_continued_to_the_same_bytes(run, msprobe, tmp_path):
    whole = run(small_dump(40), check_code=0)
    expected = whole.path("result").read_bytes(), whole.path("details").read_bytes()
    for path in whole.out.iterdir():
        path.unlink()
    path = write_dump(tmp_path, small_dump(40))
    process = subprocess.Popen(
        [msprobe.executable, "-f", "pytorch", "multi_run_ut", "-n", "2", "-api_info", path, "-o", tmp_path / "out", "--python",
         sys.executable], cwd=msprobe.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < end:
        found = list((tmp_path / "out").glob("*.csv.journal"))
        if found and found[0].read_bytes().count(b"\n") > 10:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    csv = next((tmp_path / "out").glob("accuracy_checking_result_*.csv"))
    result = run(path, "-csv_path", csv, check_code=0)
    assert (result.path("result").read_bytes(), result.path("details").read_bytes()) == expected
    assert read_csv(csv)[-1][0] == "Torch.no_such_function.39"


def test_a_device_that_is_not_there(run):
    result = run(small_dump(), "-d", "3", check_code=1)
    assert len(result.error_lines()) == 1 and "3" in result.error_lines()[0]
    assert [name for name in result.files() if name.endswith(".csv")] == []
    result = run(small_dump(), "--device-type", "quantum", check_code=1)
    assert len(result.error_lines()) == 1 and "quantum" in result.error_lines()[0]


def test_a_module_that_cannot_be_imported(run):
    result = run(small_dump(), "--import", "no_such_module_at_all", check_code=1)
    assert len(result.error_lines()) == 1 and "no_such_module_at_all" in result.error_lines()[0]


def test_modules_in_the_current_folder_do_not_stand_in(run, msprobe):
    (msprobe.work / "torch.py").write_text("raise RuntimeError('the wrong torch')\n")
    (msprobe.work / "json.py").write_text("raise RuntimeError('the wrong json')\n")
    if sys.version_info < (3, 11):
        pytest.skip("PYTHONSAFEPATH needs Python 3.11")
    run(small_dump(), check_code=0)


def test_no_process_is_left(run, tmp_path):
    mark = f"KEEP_AN_EYE_ON={tmp_path}"
    run(small_dump(), "-n", "2", command="multi_run_ut", env=dict([mark.split("=", 1)]), check_code=0)
    left = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if mark.encode() in file.read():
                    left.append(entry)
        except OSError:
            continue
    assert left == []
