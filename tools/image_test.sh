#!/usr/bin/env bash
# Builds the image of Dockerfile and uses it as its first lines say: a run, an answer of retx why, a
# worker's program, and that nothing runs as root. Skipped, in one sentence, where Docker is not.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! docker info >/dev/null 2>&1; then
    echo "The image is not tested: Docker is not here, or does not answer."
    exit 0
fi

version=$(tools/release_notes.py --version)
image=retx:$version
docker build --quiet --tag "$image" .

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
chmod 777 "$work" # the image's user is another than this one

run() { docker run --rm --volume "$work:/work" "$@"; }
run "$image" init
run "$image" run scenario.toml --json | grep --quiet '"goodput_bit_s"'
run "$image" why scenario.toml | grep --quiet 'limited'
run --entrypoint dask "$image" worker --version
[ "$(run --entrypoint id "$image" --user)" != 0 ]
[ "$(run --entrypoint python "$image" -c 'import retx; print(retx.__version__)')" = "$version" ]
echo "The image $image works."
