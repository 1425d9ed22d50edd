#!/usr/bin/env bash
# packages.sh COMMAND=PACKAGE… : sees to it that every COMMAND exists, from Debian's PACKAGE.
#
# Names what it is about to install, and installs only as root on a machine with apt-get. Fails when
# something is still missing; the caller decides whether that matters.
set -euo pipefail

missing=()
for pair in "$@"; do
    case "$pair" in
        venv=*) python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=("${pair#*=}") ;;
        *) command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}") ;;
    esac
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "Installing Debian packages: ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 || true
    if apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2; then
        exit 0
    fi
    echo "apt-get could not install: ${missing[*]}" >&2
    exit 1
fi
echo "Missing, and not installed because that takes root and apt-get: ${missing[*]}" >&2
exit 1
