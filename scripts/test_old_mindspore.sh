#!/usr/bin/env bash
# Runs the short suite of MindSpore with the oldest version that PyPI offers, on the package that is installed for the newest.
# usage: test_old_mindspore.sh PYTHON_WITH_THE_PACKAGE
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/old_mindspore
if [ ! -e "$folder/.ready" ]; then
  echo "installing MindSpore 2.7.0 into $folder (some minutes, once)"
  "$1" -m venv --clear "$folder"
  "$folder/bin/python" -m pip install -q --disable-pip-version-check mindspore==2.7.0 "numpy<2" "scipy<1.17" pytest
  touch "$folder/.ready"
fi
mkdir -p "$folder/package"
ln -sfn "$("$1" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/msprobe" "$folder/package/msprobe"
export PYTHONPATH=$PWD/$folder/package
"$folder/bin/python" -c 'import mindspore; print("with MindSpore", mindspore.__version__)'
exec "$folder/bin/python" -m pytest -m "not slow" tests/mindspore
