"""Inputs and surroundings that cannot be used: one clear line, the right exit code, nothing written."""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import forward_record, make_dump, write_dump


def refused(run, *texts):
    assert run.code == 1, run.stdout + run.stderr
    lines = run.error_lines()
    assert len(lines) == 1, run.stderr
    assert "[ERROR]" in lines[0]
    for text in texts:
        assert text in lines[0], lines[0]
    assert "Traceback" not in run.stderr
    assert [name for name in run.files() if name.endswith((".csv", ".journal", ".device"))] == []


def test_missing_dump(check, tmp_path):
    refused(check(tmp_path / "nowhere" / "dump.json"), "nowhere/dump.json", "does not exist")


def test_dump_that_is_a_folder(check, tmp_path):
    (tmp_path / "dump.json").mkdir()
    refused(check(tmp_path / "dump.json"), "dump.json")


def test_dump_with_another_suffix(check, tmp_path):
    path = tmp_path / "dump.txt"
    path.write_text(json.dumps(make_dump(["Torch.add.0"])))
    refused(check(path), "dump.txt", ".json")


@pytest.mark.parametrize("text", ["", "   \n", "hello", "[]", "[1, 2]", "3", '"text"', "\x00\x01\x02", "{]"])
def test_dump_that_is_no_dump(check, tmp_path, text):
    path = tmp_path / "dump.json"
    path.write_text(text)
    refused(check(path), "dump.json")


@pytest.mark.parametrize("dump", [{}, {"task": "statistics"}, {"data": None}, {"data": []}, {"data": "x"}])
def test_dump_without_data(check, dump):
    refused(check(dump), "dump.json")


def test_truncated_dump_is_checked_as_far_as_it_goes(check, tmp_path):
    text = json.dumps(make_dump([f"Torch.add.{i}" for i in range(5)]), indent=1)
    path = tmp_path / "dump.json"
    path.write_text(text[:text.index("Torch.add.3.forward") + 60])
    run = check(path, check_code=0)
    assert [row[0] for row in run.rows()[1:]] == ["Torch.add.0", "Torch.add.1", "Torch.add.2"]
    assert run.stdout.count("[WARNING]") == 1 and "truncated" in run.stdout


def test_truncated_before_the_first_record(check, tmp_path):
    text = json.dumps(make_dump(["Torch.add.0"]), indent=1)
    path = tmp_path / "dump.json"
    path.write_text(text[:text.index("Torch.add.0.forward") + 40])
    refused(check(path), "truncated")


def test_record_names_that_are_no_api(check):
    dump = make_dump(["Torch.add.0"])
    dump["data"]["something else"] = forward_record()
    refused(check(dump), "something else")


def test_dump_of_another_framework(check):
    refused(check(make_dump(["Mint.add.0"], framework="mindspore")), "PyTorch only")


def test_unusual_record_contents_are_left_to_the_worker(check):
    dump = make_dump([])
    dump["data"] = {"Torch.a.0.forward": None, "Torch.b.0.forward": [], "Torch.c.0.forward": {"input_args": 3}}
    run = check(dump, "-f", check_code=0)
    assert len(run.rows()) >= 2


@pytest.mark.parametrize("text, part", [("", "config.json"), ("{", "config.json"), ("[]", "config.json"),
                                        ('{"run_ut": {"white_list": "relu"}}', "white_list"),
                                        ('{"run_ut": {"error_data_path": "/nowhere/at/all"}}', "/nowhere/at/all")])
def test_bad_config(check, tmp_path, text, part):
    path = tmp_path / "config.json"
    path.write_text(text)
    refused(check(make_dump(["Torch.add.0"]), "-config", path), part)


def test_missing_config(check, tmp_path):
    refused(check(make_dump(["Torch.add.0"]), "-config", tmp_path / "none.json"), "none.json")


def test_output_path_below_a_file(check, tmp_path):
    (tmp_path / "file").write_text("keep me")
    refused(check(make_dump(["Torch.add.0"]), "-o", tmp_path / "file" / "out"), "file")
    assert (tmp_path / "file").read_text() == "keep me"


def test_output_path_that_is_a_file(check, tmp_path):
    (tmp_path / "file").write_text("keep me")
    refused(check(make_dump(["Torch.add.0"]), "-o", tmp_path / "file"), "file")
    assert (tmp_path / "file").read_text() == "keep me"


@pytest.mark.skipif(not pathlib.Path("/proc/self").exists(), reason="needs /proc")
def test_output_folder_that_takes_no_files(check):
    # Also root cannot make a file there.
    refused(check(make_dump(["Torch.add.0"]), "-o", "/proc/self"), "/proc/self")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_output_folder_without_permission(check, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    refused(check(make_dump(["Torch.add.0"]), "-o", tmp_path / "closed"), "closed")


@pytest.mark.parametrize("ids, missing", [(["3"], "3"), (["0", "5"], "5")])
def test_device_that_does_not_exist(check, ids, missing):
    run = check(make_dump(["Torch.add.0"]), "-d", *ids, "-n", "2", command="multi_run_ut", env={"FAKE_DEVICES": "2"})
    refused(run, f"device {missing} does not exist", "2 cpu devices")


@pytest.mark.parametrize("mode, text", [
    ("dies", "ImportError: no framework here"),
    ("silent", "exit code 4"),
    ("failed", "the driver of the npu does not answer"),
])
def test_python_side_that_does_not_start(check, mode, text):
    refused(check(make_dump(["Torch.add.0"]), env={"FAKE_SPAWNER": mode}), text)


def test_python_side_that_dies_during_the_run(check):
    apis = ["Torch.slow.0"] + [f"Torch.add.{i}" for i in range(5)]
    run = check(make_dump(apis), env={"FAKE_SPAWNER": "dies_later", "FAKE_SLOW": "20"})
    assert run.code == 1
    assert len(run.error_lines()) == 1 and "the spawner lost its mind" in run.error_lines()[0]
    assert "-csv_path" in run.stdout


def test_workers_that_never_become_ready(check):
    run = check(make_dump(["Torch.add.0"]), env={"FAKE_SPAWNER": "no_workers"})
    assert run.code == 1
    assert len(run.error_lines()) == 1 and "no worker can live here" in run.error_lines()[0]


def test_a_worker_that_hangs_while_it_starts(check):
    run = check(make_dump(["Torch.add.0"]), env={"FAKE_SPAWNER": "never_ready", "MSPROBE_START_TIMEOUT": "1"})
    assert run.code == 1
    assert len(run.error_lines()) == 1 and "not ready within 1 s" in run.error_lines()[0]


def test_a_python_side_that_never_answers(check):
    run = check(make_dump(["Torch.add.0"]), env={"FAKE_SPAWNER": "mute", "MSPROBE_START_TIMEOUT": "1"})
    assert run.code == 1
    assert len(run.error_lines()) == 1 and "not ready within 1 s" in run.error_lines()[0]
    assert run.files() == []  # the name that was taken is given back


def test_a_start_timeout_that_is_none(check):
    run = check(make_dump(["Torch.add.0"]), env={"MSPROBE_START_TIMEOUT": "soon"})
    assert run.code == 2 and "MSPROBE_START_TIMEOUT" in run.error_lines()[0]


def test_output_folder_that_is_a_dangling_link(check, tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "absent")
    run = check(make_dump(["Torch.add.0"]), check_code=1)
    assert len(run.error_lines()) == 1 and "leads nowhere" in run.error_lines()[0]


def test_python_that_does_not_exist(msprobe, tmp_path):
    path = write_dump(tmp_path, make_dump(["Torch.add.0"]))
    run = msprobe("-f", "pytorch", "run_ut", "-api_info", path, "-o", tmp_path / "out", "--python", "/no/such/python",
                  fake=False)
    refused(run, "/no/such/python", "--python")


def test_no_python_with_the_package(msprobe, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "python3").chmod(0o755)
    copy = tmp_path / "alone" / "msprobe"
    copy.parent.mkdir()
    copy.write_bytes(pathlib.Path(msprobe.executable).read_bytes())
    copy.chmod(0o755)
    path = write_dump(tmp_path, make_dump(["Torch.add.0"]))
    process = subprocess.run([copy, "-f", "pytorch", "run_ut", "-api_info", path], cwd=msprobe.work, capture_output=True,
                             text=True, env={"PATH": str(tmp_path / "bin")})
    assert process.returncode == 1
    assert "no Python with the package msprobe was found" in process.stderr and "--python" in process.stderr
    assert list(msprobe.work.iterdir()) == []


def test_the_reference_in_the_same_environment(msprobe, tmp_path):
    copy = tmp_path / "env" / "bin" / "msprobe"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(pathlib.Path(msprobe.executable).read_bytes())
    copy.chmod(0o755)
    assert subprocess.run([copy, "--version"]).returncode == 0
    (tmp_path / "env" / "lib" / "python3.9" / "site-packages" / "mindstudio_probe-1.0.4.dist-info").mkdir(parents=True)
    process = subprocess.run([copy, "-f", "pytorch", "run_ut", "-h"], capture_output=True, text=True)
    assert process.returncode == 1 and process.stdout == ""
    assert len(process.stderr.splitlines()) == 1 and "mindstudio-probe" in process.stderr


def test_a_link_as_the_output_file_is_not_followed(check, tmp_path):
    # Existing names are stepped over, links among them.
    run = check(make_dump(["Torch.add.0"]), check_code=0)
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    stamp = int(run.path("result").name[-18:-4])
    for second in range(stamp, stamp + 8):
        for kind in ("result", "details"):
            path = run.out / f"accuracy_checking_{kind}_{second}.csv"
            if not path.exists():
                path.symlink_to(precious)
    check(make_dump(["Torch.add.0"]), check_code=0)
    assert precious.read_text() == "keep me"


def test_formulas_in_names_stay_text(check):
    run = check(make_dump(["=cmd|' /C calc'!A0.add.0", "@SUM.add.0", "Torch.add.0"]), check_code=0)
    assert [row[0] for row in run.rows()[1:]] == ["_cmd|' /C calc'!A0.add.0", "_SUM.add.0", "Torch.add.0"]


def test_hostile_names_stay_on_one_line(check):
    run = check(make_dump(["Torch.a\r\n\x1b[2J.0", "Torch.\u202eadd.0", "Torch." + "x" * 5000 + ".0"]), check_code=0)
    assert "\x1b" not in run.stdout + run.stderr
    assert len(run.rows()) == 4
