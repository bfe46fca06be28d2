"""The command from outside: MSPROBE_EXECUTABLE names it, else the one of the project's virtual environment."""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE_SPAWNER = pathlib.Path(__file__).with_name("fake_spawner.py")

RESULT_HEADER = ["API name", "Forward Test Success", "Backward Test Success", "Message"]


def find_executable():
    named = os.environ.get("MSPROBE_EXECUTABLE")
    return pathlib.Path(named) if named else ROOT / ".venv" / "bin" / "msprobe"


@pytest.fixture(scope="session")
def executable():
    path = find_executable()
    if not path.exists():
        pytest.skip(f"{path} is not built; MSPROBE_EXECUTABLE names another one")
    return str(path)


@pytest.fixture
def fake_python(tmp_path):
    """A program that stands in for Python and runs the fake spawner."""
    path = tmp_path / "fake_python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE_SPAWNER}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def tensor(shape=(2, 3), maximum=1.0, **more):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(shape), "Max": maximum, "Min": -1.0,
            "Mean": 0.0, "Norm": 1.0, "requires_grad": True, **more}


def forward_record(*args, **kwargs):
    return {"input_args": list(args) or [tensor()], "input_kwargs": kwargs, "output": [tensor()]}


def backward_record():
    return {"input": [tensor()], "output": [tensor()]}


def make_dump(apis, backward=(), **header):
    """A dump of the named APIs ("Functional.linear.0"); those in `backward` have a backward record, True: all."""
    data = {}
    for api in apis:
        data[f"{api}.forward"] = forward_record()
    for api in apis if backward is True else backward:
        data[f"{api}.backward"] = backward_record()
    return {"task": "statistics", "level": "L1", "dump_data_dir": None, **header, "data": data}


def write_dump(folder, dump):
    path = folder / "dump.json"
    path.write_text(json.dumps(dump, indent=1))
    return path


class Run:
    """One call of the command and what it has left."""

    def __init__(self, process, out):
        self.code = process.returncode
        self.stdout = process.stdout
        self.stderr = process.stderr
        self.out = out

    def files(self):
        return sorted(path.name for path in self.out.iterdir()) if self.out.exists() else []

    def path(self, kind):
        found = sorted(self.out.glob(f"accuracy_checking_{kind}_*.csv"))
        assert len(found) == 1, found
        return found[0]

    def rows(self, kind="result"):
        return read_csv(self.path(kind))

    def error_lines(self):
        return [line for line in self.stderr.splitlines() if "[ERROR]" in line or ": error: " in line]


def read_csv(path):
    raw = path.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") and raw.count(b"\xef\xbb\xbf") == 1
    assert raw.endswith(b"\r\n")
    return list(csv.reader(raw.decode("utf-8-sig").splitlines(keepends=True), strict=True))


@pytest.fixture
def msprobe(executable, fake_python, tmp_path):
    """Calls `msprobe ...` in an empty folder, by default with the fake Python."""
    work = tmp_path / "work"
    work.mkdir()

    def call(*arguments, env=None, fake=True, timeout=60, check_code=None):
        command = [executable, *map(str, arguments)]
        if fake:
            command += ["--python", fake_python]
        process = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=timeout,
                                 env={**os.environ, **(env or {})})
        run = Run(process, tmp_path / "out")
        if check_code is not None:
            assert run.code == check_code, run.stdout + run.stderr
        return run

    call.work = work
    call.executable = executable
    call.fake_python = fake_python
    return call


@pytest.fixture
def check(msprobe, tmp_path):
    """Runs the checker on a dump (an object or a path) into tmp_path/out."""

    def call(dump, *options, command="run_ut", **more):
        path = write_dump(tmp_path, dump) if isinstance(dump, dict) else dump
        return msprobe("-f", "pytorch", command, "-api_info", path, "-o", tmp_path / "out", *options, **more)

    return call


def stamp_of(path):
    return re.fullmatch(r"accuracy_checking_(?:result|details)_(\d{14})\.csv", path.name).group(1)


def kill_group(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        process.wait()
