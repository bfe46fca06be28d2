"""Fixtures of tests that dump, whatever the framework: `debugger_class` is the conftest's."""

import json
import os
import subprocess
import sys

import pytest

from dump_files import Dump

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def peer_folder():
    """Files that the reference tool wrote; tests that need them are skipped where they are not."""
    path = os.environ.get("MSPROBE_PEER_DIR", os.path.join(ROOT, "..", "shared", "peer"))
    return path if os.path.isdir(path) else None


@pytest.fixture
def peer():
    path = peer_folder()
    if path is None:
        pytest.skip("the reference tool's files are not here (MSPROBE_PEER_DIR)")
    return path


@pytest.fixture
def fresh_debugger(debugger_class):
    """PrecisionDebugger is one per process; each test gets its own and leaves nothing installed."""
    debugger_class._instance = None
    yield debugger_class
    instance = debugger_class._instance
    if instance is not None:
        if instance._collection.hooks is not None:
            instance._collection.hooks.end()
        debugger_class._instance = None


@pytest.fixture
def load_dump():
    return lambda dump_path, step=0, rank="rank": Dump(os.path.join(str(dump_path), "step%d" % step, rank))


@pytest.fixture
def run_python():
    """Runs a script in a fresh interpreter; returns (exit code, stdout, stderr)."""

    def run(source, *arguments, **environment):
        finished = subprocess.run(
            [sys.executable, "-c", source, *map(str, arguments)], capture_output=True, text=True, timeout=300,
            env={**os.environ, **environment})
        return finished.returncode, finished.stdout, finished.stderr

    return run


@pytest.fixture
def configured(fresh_debugger, tmp_path):
    """A new debugger that dumps to tmp_path / "dump". Task "md5" is statistics with checksums; `top`: other keys of the file."""

    def make(task="statistics", level="L1", top=None, **section):
        if task == "md5":
            task, section = "statistics", {"summary_mode": "md5", **section}
        config = tmp_path / "config.json"
        config.write_text(json.dumps(
            {"task": task, "level": level, "dump_path": str(tmp_path / "dump"), task: section, **(top or {})}))
        fresh_debugger._instance = None
        return fresh_debugger(str(config))

    return make


@pytest.fixture
def record(configured, load_dump, tmp_path):
    """Runs a function between start and stop; returns its dump. `prepare` is given the debugger before."""

    def run(function, task="statistics", level="L1", model=None, prepare=None, **section):
        debugger = configured(task, level, **section)
        if prepare is not None:
            prepare(debugger)
        debugger.start(model)
        function()
        debugger.stop()
        debugger.step()
        dump = load_dump(tmp_path / "dump")
        assert dump.errors == ""
        return dump

    return run
