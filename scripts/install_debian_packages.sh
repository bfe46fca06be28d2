#!/usr/bin/env bash
# Installs the Debian packages that are missing; does nothing, and asks for nothing, when all are there.
set -euo pipefail
list="$(dirname "$0")/../requirements/debian.txt"
missing=()
while read -r package; do
  [ -n "$package" ] || continue
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done < "$list"
[ ${#missing[@]} -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "these packages are missing and apt-get is not there to install them: ${missing[*]}" >&2
  exit 1
fi
run=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "run this as root, or install by hand: apt-get install ${missing[*]}" >&2; exit 1; }
  run=(sudo)
fi
echo "installing Debian packages: ${missing[*]}"
"${run[@]}" apt-get update -qq || echo "some package lists could not be read again; going on with those that are here" >&2
if ! "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
  echo "apt-get could not install all of: ${missing[*]} (the reason stands above). They are in Debian 12's main;" \
       "check /etc/apt/sources.list and the network, then run this again" >&2
  exit 1
fi
