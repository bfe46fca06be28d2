"""The environments of the reference tool: MSPROBE_PEER_PYTHON, or .venv-peer, made once from PyPI, for version 1.0.4;
MSPROBE_PEER_PYTHON_26 for version 26.2.0.
"""

import os
import subprocess
import sys

from processes import NotMeasured, ROOT, environment, progress, run

REFERENCE = "mindstudio-probe==1.0.4"
_VARIABLES = {"1.0.4": "MSPROBE_PEER_PYTHON", "26.2.0": "MSPROBE_PEER_PYTHON_26"}
VERSIONS = tuple(_VARIABLES)
# Without service-identity the tool does not start. torch comes first, so that nothing else chooses its version.
_INSTALLS = (["torch==2.13.0"], ["transformers", REFERENCE, "service-identity"])


def reference_python():
    """Path of an interpreter that has the reference tool; makes .venv-peer if it has to. Raises NotMeasured."""
    python = os.environ.get(_VARIABLES["1.0.4"]) or _ready_environment()
    _require_version(python, REFERENCE.partition("==")[2])
    return python


def given_python(version):
    """Path of the interpreter that the environment names for a version of the reference; installs nothing.

    Raises NotMeasured where none is named, or one without that version.
    """
    python = os.environ.get(_VARIABLES[version])
    if not python:
        raise NotMeasured("%s is not set" % _VARIABLES[version])
    _require_version(python, version)
    return python


def _require_version(python, wanted):
    _, version = run([python, "-c", "from importlib.metadata import version; print(version('mindstudio-probe'))"],
                     keep_python_path=False)
    if version.strip() != wanted:
        raise NotMeasured("%s has mindstudio-probe %s, not %s" % (python, version.strip(), wanted))


def _ready_environment():
    folder = os.path.join(ROOT, ".venv-peer")
    python = os.path.join(folder, "bin", "python")
    marker = os.path.join(folder, ".ready")
    if os.path.exists(marker):
        return python
    progress("making .venv-peer with %s (some minutes, once)" % REFERENCE)
    _call([sys.executable, "-m", "venv", "--clear", folder])
    with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
        file.write("*\n")
    for packages in _INSTALLS:
        _call([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
    with open(marker, "w", encoding="utf-8"):
        pass
    return python


def _call(command):
    # pip's own messages go to stderr as they come: installing takes minutes.
    finished = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment(False))
    if finished.returncode != 0:
        raise NotMeasured("`%s` ended with exit code %d" % (" ".join(command[1:]), finished.returncode))
