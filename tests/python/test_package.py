"""What importing the package costs and needs, and what the built files link."""

import os
import subprocess
import sys

import pytest

import msprobe
from msprobe import _core

PACKAGE = os.path.dirname(msprobe.__file__)
COMMAND = os.path.join(os.path.dirname(sys.executable), "msprobe")


def needed_libraries(path):
    text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return [line.split("[")[1].rstrip("]") for line in text.splitlines() if "(NEEDED)" in line]


def test_importing_the_package_loads_no_framework(run_python):
    code, out, err = run_python(
        "import sys, msprobe, msprobe.mindspore, msprobe.core.common.exceptions\n"
        "print([m for m in ('torch', 'mindspore', 'numpy') if m in sys.modules])")
    assert (code, out.strip()) == (0, "[]"), err


def test_mindspore_part_needs_no_torch(run_python):
    code, out, err = run_python(
        "import sys\nsys.modules['torch'] = None\nimport msprobe.mindspore\nprint('fine')")
    assert (code, out.strip()) == (0, "fine"), err


def test_importing_the_pytorch_part_changes_nothing_in_torch(run_python):
    code, out, err = run_python(
        "import torch\nbefore = dict(torch.Tensor.__dict__), dict(vars(torch.nn.functional)), torch.initial_seed()\n"
        "import msprobe.pytorch\n"
        "after = dict(torch.Tensor.__dict__), dict(vars(torch.nn.functional)), torch.initial_seed()\n"
        "print(before == after, torch.cuda.is_initialized())")
    assert (code, out.strip()) == (0, "True False"), err


def test_the_extension_links_no_framework():
    libraries = needed_libraries(_core.__file__)
    assert libraries and not [name for name in libraries if "torch" in name or "c10" in name or "mindspore" in name]


@pytest.mark.skipif(not os.path.exists(COMMAND), reason="the command is not installed in this environment")
def test_the_command_is_native_and_needs_nothing_that_a_wheel_would_bundle():
    with open(COMMAND, "rb") as file:
        assert file.read(4) == b"\x7fELF"
    assert {name.split(".so")[0] for name in needed_libraries(COMMAND)} <= {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}


@pytest.mark.parametrize("path", (
    "config.json", "pytorch/api_accuracy_checker/config.yaml", "pytorch/hook_module/support_wrap_ops.yaml"))
def test_files_that_users_edit_lie_at_their_documented_places(path):
    assert os.path.isfile(os.path.join(PACKAGE, path))


def test_beside_the_other_distribution_the_import_says_so(tmp_path, run_python):
    os.symlink(PACKAGE, tmp_path / "msprobe")
    (tmp_path / "mindstudio_probe-1.0.4.dist-info").mkdir()
    code, _, err = run_python("import msprobe", PYTHONPATH=str(tmp_path))
    assert code != 0 and "pip uninstall mindstudio-probe" in err


@pytest.mark.parametrize("statement", (
    "from msprobe.pytorch import PrecisionDebugger, seed_all",
    "from msprobe.pytorch.debugger.precision_debugger import PrecisionDebugger",
    "from msprobe.pytorch.common.utils import seed_all",
    "from msprobe.pytorch.common import seed_all",
    "from msprobe.core.common.exceptions import MsprobeException, FileCheckException, ScopeException",
))
def test_documented_imports(statement):
    exec(statement, {})


def test_exceptions_have_a_code_and_a_prefix():
    from msprobe.core.common.exceptions import MsprobeException

    error = MsprobeException(MsprobeException.INVALID_PARAM_ERROR, "why")
    assert error.code == 0 and str(error).startswith("[msprobe]") and str(error).endswith("why")
    assert isinstance(error, ValueError)
