import os
import sys

import mindspore
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "python")]

from dump_fixtures import configured, fresh_debugger, load_dump, peer, record, run_python  # noqa: E402, F401

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, pynative_synchronize=True)
mindspore.set_device("CPU")


@pytest.fixture
def debugger_class():
    from msprobe.mindspore import PrecisionDebugger

    return PrecisionDebugger


@pytest.fixture(autouse=True)
def _working_folder(tmp_path, monkeypatch):
    """MindSpore leaves files where it runs."""
    monkeypatch.chdir(tmp_path)
