"""The repaired wheel in an environment of its own, without any framework."""

import subprocess
import sys
import zipfile

import pytest

from conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel():
    subprocess.run([str(ROOT / "scripts" / "make_wheel.sh"), sys.executable], check=True, timeout=1800)
    return max((ROOT / "dist").glob("msprobe_native-*.whl"), key=lambda path: path.stat().st_mtime)


def test_the_command_in_the_wheel_is_native_and_the_libraries_are_bundled(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        command = [name for name in names if name.endswith("/scripts/msprobe")]
        assert len(command) == 1
        assert archive.read(command[0])[:4] == b"\x7fELF"
        bundled = [name for name in names if ".libs/" in name]
        assert any("libhwy" in name for name in bundled) and any("libisal" in name for name in bundled)
        assert not any("torch" in name for name in bundled)


def test_comparing_needs_no_framework(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    bin_folder = tmp_path / "env" / "bin"
    subprocess.run([bin_folder / "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", wheel], check=True)
    assert subprocess.run([bin_folder / "msprobe", "-h"], capture_output=True).returncode == 0
    loaded = subprocess.run(
        [bin_folder / "python", "-c", "import msprobe, msprobe.mindspore, msprobe._core; print('fine')"], capture_output=True,
        text=True)
    assert loaded.stdout.strip() == "fine", loaded.stderr
    details = ROOT / "tests" / "data" / "csv" / "npu_details.csv"
    compared = subprocess.run(
        [bin_folder / "msprobe", "-f", "pytorch", "api_precision_compare", "-npu", details, "-gpu", details, "-o", tmp_path / "out"],
        capture_output=True, text=True)
    assert compared.returncode == 0, compared.stderr
    assert len(list((tmp_path / "out").glob("*.csv"))) == 2
