#!/usr/bin/env bash
# Builds the image of Dockerfile and uses it as its first lines say: a run, an answer of retx why, a
# sweep with user code on a scheduler and a worker, an emulation, and that nothing runs as root.
# Skipped, in one sentence, where Docker is not.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! docker info >/dev/null 2>&1; then
    echo "The image is not tested: Docker is not here, or does not answer."
    exit 0
fi

version=$(tools/release_notes.py --version)
image=retx:$version
DOCKER_BUILDKIT=1 docker build --network host --quiet --tag "$image" .

work=$(mktemp --directory)
started=()
end() {
    [ ${#started[@]} = 0 ] || docker kill "${started[@]}" >/dev/null
    rm -rf "$work"
}
trap end EXIT
chmod 777 "$work" # the image's user is another than this one

run() { docker run --rm --volume "$work:/work" "$@"; }
run "$image" init
# Without grep's --quiet: Docker's client fails where its output has no reader any more.
run "$image" run scenario.toml --json | grep '"goodput_bit_s"' >/dev/null
run "$image" why scenario.toml | grep 'limited' >/dev/null
[ "$(run --entrypoint id "$image" --user)" != 0 ]
[ "$(run --entrypoint python "$image" -c 'import retx; print(retx.__version__)')" = "$version" ]

# The worker does not see the folder with the scenario and the code.
cat >"$work/gentle.py" <<'END'
import retx


class Gentle(retx.CongestionControl):
    def on_ack(self, window, ack):
        window.cwnd += window.smss**2 // window.cwnd

    def on_loss(self, window, loss):
        window.cwnd = window.ssthresh = max(int(0.8 * loss.flight_size), 2 * window.smss)

    def on_timeout(self, window, loss, repeated):
        window.cwnd = window.smss
END
address=tcp://127.0.0.1:$(python3 -c '
import socket
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    print(free.getsockname()[1])
')
dask() { docker run --rm --detach --network host --entrypoint dask "$image" "$@" --no-dashboard; }
started+=("$(dask scheduler --host 127.0.0.1 --port "${address##*:}")")
started+=("$(dask worker "$address" --nthreads 1)")
code='{ name = "python", file = "gentle.py", class = "Gentle" }'
for place in here cluster; do
    if [ $place = cluster ]; then dask=(--dask "$address"); else dask=(); fi
    run --network host "$image" sweep scenario.toml --replications 4 --out "$place" \
        --vary "tcp.mine.congestion_control=$code,cubic" "${dask[@]}" --json >"$work/$place.json"
done
cmp "$work/here.json" "$work/cluster.json"

if [ -e /dev/net/tun ]; then
    run --user 0 --cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun \
        --security-opt apparmor=unconfined --security-opt seccomp=unconfined \
        "$image" emulate scenario.toml --set flow.download.tcp=linux --json |
        grep '"goodput_bit_s"' >/dev/null
else
    echo "No emulation was tried: there is no /dev/net/tun."
fi
echo "The image $image works."
