#!/usr/bin/env bash
# oldest_glibc.sh WHEEL MINOR : fails unless the wheel runs with glibc 2.MINOR, by what auditwheel finds in it.
set -euo pipefail
shown=$(auditwheel show "$1" | tr '\n' ' ')
needed=$(sed -nE 's/.*platform tag: *"manylinux_2_([0-9]+)_.*/\1/p' <<<"$shown")
if [ -z "$needed" ] || [ "$needed" -gt "$2" ]; then
    echo "The wheel does not run with glibc 2.$2: $shown" >&2
    exit 1
fi
echo "The wheel needs glibc 2.$needed or newer."
