import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from dump_fixtures import ROOT, configured, fresh_debugger, load_dump, peer, record, run_python  # noqa: E402, F401


@pytest.fixture
def debugger_class():
    from msprobe.pytorch import PrecisionDebugger

    return PrecisionDebugger
