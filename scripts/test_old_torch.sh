#!/usr/bin/env bash
# Runs the short suite with the system's Python and its torch (Debian 12: 1.13) on the package that is installed for
# another Python: the same files, not a second build.
# usage: test_old_torch.sh PYTHON_WITH_THE_PACKAGE
set -euo pipefail
cd "$(dirname "$0")/.."
system=${SYSTEM_PYTHON:-/usr/bin/python3}
tests=(tests/python/test_{dump_*,fault_kinds_*,small_models,torch_modes,custom_api,debugger_api,debug_level,executor}.py)

version='import sys; print("%d.%d" % sys.version_info[:2])'
ours=$("$1" -c "$version")
theirs=$("$system" -c "$version")
if [ "$ours" != "$theirs" ]; then
  echo "$1 is Python $ours and $system is Python $theirs: one build cannot serve both." \
       "Make .venv with $system (rm -r .venv; make PYTHON=$system test) or name another one in SYSTEM_PYTHON" >&2
  exit 1
fi
mkdir -p build/old_torch
ln -sfn "$("$1" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/msprobe" build/old_torch/msprobe
export PYTHONPATH=$PWD/build/old_torch MSPROBE_EXECUTABLE=$(cd "$(dirname "$1")" && pwd)/msprobe
if ! "$system" -c 'import pytest, numpy, torch; print("with torch", torch.__version__)'; then
  echo "$system has no torch, numpy or pytest: run scripts/install_debian_packages.sh (python3-torch is in Debian 12's main)" >&2
  exit 1
fi
exec "$system" -m pytest -m "not slow" "${tests[@]}"
