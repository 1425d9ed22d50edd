"""Emulation with this machine's kernel: what it says, and that nothing of it stays."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from conftest import Cli
from emulating import TINY, need_emulation
from test_interruption import started, wait_for
from test_no_room import NO_ROOM
from tracepoints import Change, tracepoint

import retx
from retx.analysis.limits import flat

PATH = """\
duration = "30 s"
seed = 3

[[link]]
name = "path"
ends = ["server", "client"]
rate = "20 Mbit/s"
delay = "20 ms"
queue = { discipline = "droptail", packets = 100 }
forward.channel = { model = "bernoulli", p = 0.01 }

[[flow]]
name = "download"
from = "server"
to = "client"
initiator = "to"
tcp = "linux_reno"
app = { kind = "transfer", bytes = 200_000 }
"""

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 4000))
while True:
    s.sendto(*s.recvfrom(2000))
"""

ASK = """
import json, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
times = []
while len(times) < 20:
    begun = time.perf_counter()
    s.sendto(b"x", ("server", 4000))
    try:
        s.recv(2000)
    except OSError:
        continue
    times.append(time.perf_counter() - begun)
json.dump(times, open(sys.argv[1], "w"))
"""


@pytest.fixture(autouse=True)
def _no_calibration(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "path.toml"
    file.write_text(PATH)
    return file


def processes(argument: str) -> list[Path]:
    """Processes that have an argument which begins like this. Others may emulate meanwhile."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"\0{argument}" in (process / "cmdline").read_text():
                found.append(process)
        except (OSError, UnicodeDecodeError):
            continue
    return found


def workers(run: subprocess.Popen[str]) -> list[Path]:
    """Processes that hold the hosts of a run."""
    return processes(f"retx-emulator={run.pid}.")


def nothing_of(run: subprocess.Popen[str], argument: str) -> bool:
    """True if neither a worker of the run nor a program with this argument is left."""
    return not workers(run) and not processes(argument)


def holders(run: subprocess.Popen[str]) -> list[int]:
    """The workers that are the first processes of their namespaces, and so hold all others."""
    found = []
    for worker in workers(run):
        try:
            status = (worker / "status").read_text()
        except OSError:
            continue
        numbers = re.search(r"^NSpid:\s+\d+\s+1$", status, flags=re.MULTILINE)
        found += [int(worker.name)] if numbers else []
    return found


def test_the_record_has_the_keys_of_a_simulation(tmp_path: Path) -> None:
    need_emulation()
    out = tmp_path / "out"
    real = retx.emulate(PATH, out=out, pcap=tmp_path / "real.pcapng")
    model = retx.run(PATH)
    assert real.summary.keys() == {*model.summary.keys(), "emulation"}
    flow, simulated = real.summary["flows"][0], model.summary["flows"][0]
    assert flow.keys() == {*simulated.keys(), "kernel", "fault"}
    assert real.summary["links"][0].keys() == model.summary["links"][0].keys()
    assert flow["bytes_delivered"] == 200_000
    # 200,000 bytes at 20 Mbit/s take 80 ms, the handshake and the first flight 60.
    assert flow["response_time_s"] > 0.14
    lost = real.drops.filter(real.drops["packet_number"] > 0)
    assert flow["segments_retransmitted"] >= lost.height
    assert flow["segments_retransmitted"] == flow["kernel"]["total_retrans"]
    assert real.drops.height == real.links["drops_channel"].sum()
    assert real.drops["flow"].cast(str).unique().to_list() in (["download"], [])
    check_segments(real)
    assert (out / "segments.parquet").exists()
    emulation = real.summary["emulation"]
    assert emulation["device_drops"] == 0
    assert emulation["kernel"] == os.uname().release
    assert emulation["sysctls"]["server"]["net.ipv4.tcp_no_metrics_save"] == "1"
    assert json.loads((out / "summary.json").read_text())["flows"][0]["name"] == "download"
    assert (out / "drops.parquet").exists()
    # The same scenario again.
    assert retx.resolve(out / "scenario.toml") == retx.resolve(PATH)


def check_segments(real: retx.Result) -> None:
    """The table, the counts, the drops and the kernel tell the same."""
    flow = real.summary["flows"][0]
    data = real.segments.filter(pl.col("length_bytes") > 0)
    again = data.filter("retransmission")
    assert (data.height, again.height) == (flow["segments_sent"], flow["segments_retransmitted"])
    assert data.height == flow["kernel"]["data_segs_out"]
    lost = real.segments.filter(pl.col("fate").cast(str) == "channel")
    drops = real.drops.filter(pl.col("packet_number").is_not_null())
    assert lost["packet_number"].to_list() == drops["packet_number"].to_list()
    assert lost["retransmission"].to_list() == drops["retransmission"].to_list()
    # Each necessary retransmission follows a loss.
    needed = flow["segments_retransmitted"] - flow["retransmissions_unnecessary"]
    assert 0 <= needed <= lost.height
    came = data.filter(pl.col("fate").cast(str) == "delivered")
    # 20 ms each way.
    assert (came["arrived_s"] - came["sent_s"]).min() >= 0.02
    assert real.acks["ack"].max() == 200_000 + 2
    assert flow["idle_max_s"] <= flow["idle_total_s"] < flow["response_time_s"]


SCRIPT = PATH.replace("seed = 3", 'seed = 3\nsample_interval = "every_ack"').replace(
    'model = "bernoulli", p = 0.01', 'model = "script", drop_seq = [5793, 5793, 130_321]'
)
"""The fifth segment is lost twice, and one of the last flight."""


def test_recoveries_and_samples_are_those_of_a_simulation() -> None:
    need_emulation()
    real, model = retx.emulate(SCRIPT), retx.run(SCRIPT)
    assert set(real.tables) == set(model.tables)
    for name, table in model.tables.items():
        assert set(table.columns) <= set(real.tables[name].columns), name
    columns = ("kind", "trigger_packet", "cause", "inferred_cause", "backoff", "retransmitted")
    ours, theirs = (it.episodes.select(columns).cast(pl.String).rows() for it in (real, model))
    assert ours == theirs
    assert len(ours) >= 2
    # An emulation fills every column that a simulation fills.
    flow, simulated = real.flows.row(0, named=True), model.flows.row(0, named=True)
    assert {name for name, value in simulated.items() if value is not None} == {
        name for name in simulated if flow[name] is not None
    }
    ours, theirs = (flat(it.summary["flows"][0]["limited_by"]) for it in (real, model))
    life_s = flow["finish_s"] - flow["start_s"]
    assert sum(ours.values()) == pytest.approx(life_s, rel=0.01)
    assert all(abs(ours[key] - theirs[key]) < 0.1 * life_s for key in theirs), (ours, theirs)
    emulation = real.summary["emulation"]
    assert emulation["states_from"] == "tcp_info"
    samples = real.samples
    assert samples["time_s"].is_sorted()
    # The last acknowledgment may find the connection closed.
    assert 200_000 - 2 * 1448 <= samples["ack_bytes"].to_list()[-1] <= 200_000
    assert set(samples["state"].cast(str)) >= {"slow_start", "fast_recovery"}
    # In milliseconds: srtt + 4 times the variation, no less than 200, on the timer's grid.
    assert samples["rto_s"].min() >= 0.24


def test_a_slow_reader_closes_the_window_of_the_kernel() -> None:
    need_emulation()
    tcp = '[tcp.short]\nlike = "linux"\nreceive_buffer = 20_000\n\n[[link]]'
    slow = TINY.replace("[[link]]", tcp).replace("bytes = 1000", "bytes = 90_000")
    slow = slow.replace('"linux"\napp', '"short"\nread_rate = "400 kbit/s"\napp')
    real, model = retx.emulate(slow), retx.run(slow)
    for flow in (real.summary["flows"][0], model.summary["flows"][0]):
        # 90 kB less the last block, which need not be worked on.
        assert 1.4 < flow["finish_s"] < 1.8
    assert real.acks["window_bytes"].min() <= 1448


def test_the_summary_is_printed_although_files_cannot_be_written(tmp_path: Path) -> None:
    need_emulation()
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["emulate", "tiny.toml", "--pcap", "a.pcapng", "--out", "d"]
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "goodput" in done.stdout
    assert done.stderr.startswith("error: a.pcapng: File too large; ")
    assert [it.name for it in tmp_path.iterdir()] == ["tiny.toml"]


GIVING_UP = """
duration = "20 s"

[[link]]
name = "dead"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "10 ms"
channel = { model = "outage", times = [["1 s", "30 s"]] }

[[link]]
name = "alive"
ends = ["far", "near"]
rate = "1 Mbit/s"
delay = "10 ms"

[tcp.soon]
like = "linux"
max_retransmissions = 2

[[flow]]
name = "given_up"
from = "server"
to = "client"
tcp = "soon"
app = { kind = "transfer", bytes = 10_000_000 }

[[flow]]
name = "on"
from = "far"
to = "near"
tcp = "linux"
app = { kind = "transfer", bytes = 600_000 }
"""
"""A connection is given up after about three seconds; the other one lasts about five."""


def life(result: retx.Result) -> float:
    """Sum of the times under each limit of the first flow, in seconds."""
    times = result.summary["flows"][0]["limited_by"].values()
    return sum(sum(it.values()) if isinstance(it, dict) else it for it in times)


def test_the_life_of_a_connection_ends_when_the_kernel_gives_up() -> None:
    need_emulation()
    simulated, emulated = retx.run(GIVING_UP), retx.emulate(GIVING_UP, progress=False)
    assert emulated.summary["flows"][0]["fault"].startswith("Connection timed out")
    assert emulated.summary["engine"]["simulated_s"] > life(emulated) + 1
    assert life(emulated) == pytest.approx(life(simulated), abs=0.3)


def test_every_plot_of_a_simulation_is_one_of_an_emulation(tmp_path: Path) -> None:
    need_emulation()
    plot = retx.emulate(SCRIPT.replace('"every_ack"', '"5 ms"')).plot
    for name in ("cwnd", "rtt", "episodes", "queue", "sequence", "confusion"):
        getattr(plot, name)().save(tmp_path / f"{name}.png")
    plot.ladder(0.04, 0.1).save(tmp_path / "ladder.png")


def recoveries(changes: list[Change]) -> list[tuple[str, float]]:
    """Recoveries of one socket, from the changes that the kernel's tracepoint reports."""
    return [
        ("rto" if it.state == 4 else "fast_retransmit", it.time_s)
        for it in changes
        # A probe's repair takes the window down.
        if it.state in (3, 4) or (it.state == 2 and it.probing)
    ]


@pytest.mark.parametrize("seed", [3, 4, 7])
def test_looks_at_the_socket_find_what_the_tracepoint_tells(seed: int) -> None:
    need_emulation()
    seen = []
    for _ in range(3):
        ours, theirs, late = looked_and_told(seed)
        if any(same_recoveries(ours, of_socket, late + 0.02) for of_socket in theirs):
            return
        seen.append((late, ours, theirs))
        # A look that a busy machine delays may miss a state between two changes.
        if late < STOOD_STILL_S:
            break
    raise AssertionError(seen)


STOOD_STILL_S = 0.002
"""Lateness beyond which a machine has not emulated in real time."""
Recoveries = list[tuple[str, float]]


def looked_and_told(seed: int) -> tuple[Recoveries, list[Recoveries], float]:
    """Recoveries by looks at the socket, those of each socket by the tracepoint, and lateness."""
    lossy = PATH.replace("p = 0.01", "p = 0.08").replace('"linux_reno"', '"linux"')
    with tracepoint() as kernel:
        result = retx.emulate(lossy, seed=seed)
        sockets: dict[tuple[int, int, int], list[Change]] = {}
        for change in kernel.changes():
            sockets.setdefault(change.socket, []).append(change)
    ours = list(result.episodes.select(pl.col("kind").cast(str), "start_s").iter_rows())
    assert ours
    # Others may emulate meanwhile.
    theirs = [recoveries(changes) for changes in sockets.values()]
    return ours, theirs, result.summary["emulation"]["lateness"]["max_s"]


def same_recoveries(ours: Recoveries, theirs: Recoveries, late: float) -> bool:
    """True if both lists agree except for the origin of their clocks."""
    return [kind for kind, _ in theirs] == [kind for kind, _ in ours] and all(
        # An acknowledgment is dated by the link, a state by when it was set: a tenth of a
        # millisecond later, unless the machine stood still meanwhile. Two recoveries are a
        # round trip of 40 ms apart, so half of one cannot confuse them.
        abs((it[1] - theirs[0][1]) - (us[1] - ours[0][1])) < late
        for it, us in zip(theirs, ours, strict=True)
    )


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_a_capture_is_read_by_tshark(tmp_path: Path) -> None:
    need_emulation()
    capture = tmp_path / "real.pcapng"
    result = retx.emulate(PATH, pcap=capture)
    command = ["tshark", "-r", capture, "-Y", "tcp.len > 0", "-T", "fields", "-e", "tcp.len"]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    sent = result.flows["segments_sent"][0]
    assert len(read) == sent
    assert sum(map(int, read)) == 200_000 + result.flows["kernel_bytes_retrans"][0]


@pytest.mark.parametrize("backend", ["tun", "precise"])
def test_programs_find_each_other_over_the_path(backend: str, tmp_path: Path) -> None:
    need_emulation()
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "ask.py").write_text(ASK)
    times = tmp_path / "times.json"
    result = retx.emulate(
        PATH.replace("0.01", "0"),
        backend=backend,
        background=[("server", f"{sys.executable} {tmp_path}/echo.py")],
        programs=[("client", f"sleep 0.5; {sys.executable} {tmp_path}/ask.py {times}")],
    )
    assert [it["exit_code"] for it in result.summary["emulation"]["programs"]] == [None, 0]
    measured = json.loads(times.read_text())
    # Sooner than over 20 ms each way is impossible; later is the machine's affair.
    assert min(measured) >= 0.04


WHICH = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
s.connect((sys.argv[1], int(sys.argv[2])))
used = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
open(sys.argv[3], "w").write(used.rstrip(bytes(1)).decode())
"""


@pytest.mark.parametrize(("tcp", "used"), [("linux_reno", "reno"), ("linux", "cubic")])
def test_programs_get_the_congestion_control_of_their_host(
    tcp: str, used: str, tmp_path: Path
) -> None:
    """One that every namespace may have by default, and one that only a route gives it."""
    need_emulation()
    (tmp_path / "which.py").write_text(WHICH)
    found = tmp_path / "found"
    ask = f"{sys.executable} {tmp_path}/which.py client 8000 {found}"
    listen = f"{sys.executable} -m http.server 8000 > /dev/null 2>&1"
    result = retx.emulate(
        PATH.replace('"linux_reno"', f'"{tcp}"').replace("0.01", "0"),
        background=[("client", listen)],
        # On a busy machine the server of the other host takes a while to listen.
        programs=[("server", f"until {ask}; do sleep 0.3; done")],
    )
    assert [it["exit_code"] for it in result.summary["emulation"]["programs"]] == [None, 0]
    assert found.read_text() == used
    sysctls = result.summary["emulation"]["sysctls"]["server"]
    assert sysctls["congestion control of programs"] == used


def test_programs_are_apart_from_the_machine(tmp_path: Path) -> None:
    """Process numbers, host name and System V IPC are the emulation's own."""
    marker = f"retx-marker-{os.getpid()}"
    key = 0x7E710000 + os.getpid() % 0x10000
    queue = f"python3 -c 'import ctypes; print(ctypes.CDLL(None).msgget({key}, 0o1600))'"
    script = (
        f"hostname > {tmp_path}/name; ps -e -o pid= | wc -l > {tmp_path}/count;"
        f" cat /proc/[0-9]*/cmdline | tr '\\0' ' ' > {tmp_path}/processes;"
        f" {queue} > {tmp_path}/queue; kill -0 {os.getpid()}; echo $? > {tmp_path}/reached"
    )
    outside = subprocess.Popen(["sh", "-c", "sleep 60; true", marker])
    name_before = os.uname().nodename
    files = [Path("/etc/hosts"), Path("/etc/resolv.conf")]
    before = [file.read_bytes() if file.exists() else None for file in files]
    try:
        result = retx.emulate(PATH, programs=[("client", script)])
    finally:
        outside.kill()
        outside.wait()
    assert result.summary["emulation"]["programs"][0]["exit_code"] == 0
    assert (tmp_path / "name").read_text() == "client\n"
    assert os.uname().nodename == name_before
    assert [file.read_bytes() if file.exists() else None for file in files] == before
    assert marker not in (tmp_path / "processes").read_text()
    assert (tmp_path / "reached").read_text() == "1\n"
    assert int((tmp_path / "queue").read_text()) >= 0
    assert str(key) not in Path("/proc/sysvipc/msg").read_text()


def test_a_file_arrives_whole_by_other_programs(tmp_path: Path) -> None:
    need_emulation()
    served = tmp_path / "served"
    served.mkdir()
    (served / "file").write_bytes(random.Random(1).randbytes(300_000))
    fetch = "import urllib.request as u; u.urlretrieve('http://server:8000/file', 'got')"
    server = f"cd {served}; {sys.executable} -m http.server 8000 > /dev/null 2>&1"
    client = f'cd {tmp_path}; sleep 0.7; {sys.executable} -c "{fetch}"'
    result = retx.emulate(PATH, background=[("server", server)], programs=[("client", client)])
    hashes = {
        hashlib.sha256(file.read_bytes()).hexdigest()
        for file in (served / "file", tmp_path / "got")
    }
    assert len(hashes) == 1
    # More packets than the flow's own: the file's.
    assert result.links["packets_in"][0] > result.flows["frames_sent"][0] + 200


def test_the_advertised_window_is_held() -> None:
    need_emulation()
    held = PATH.replace('tcp = "linux_reno"', 'tcp = "narrow"').replace("0.01", "0") + (
        '[tcp.narrow]\nlike = "linux_reno"\nadvertised_window = "6 mss"\n'
        "sack = false\ntimestamps = false\nwindow_scaling = false\n"
    )
    flow = retx.emulate(held).flows.row(0, named=True)
    # 200,000 bytes in flights of 8760, one each 40 ms: 22 before the last, which is a part.
    assert flow["response_time_s"] > 22 * 0.04
    assert flow["kernel_rwnd_limited_us"] > 0


CELL = """\
duration = "3 s"

[[wlan]]
name = "cell"
stations = ["a", "b", "c", "d"]
spacing = "200 m"
range = "250 m"
carrier_sense_range = "250 m"
interference_range = "250 m"
"""

CELLS = {
    # Two who do not hear each other send to the one between them.
    "hidden": """
[[flow]]
name = "left"
from = "a"
to = "b"
udp = { packet = 1000 }
app = "bulk"

[[flow]]
name = "right"
from = "c"
to = "b"
udp = { packet = 1000 }
app = "bulk"
""",
    # Three hops, each of which the next but one disturbs.
    "chain": """
[[flow]]
name = "chain"
from = "a"
to = "d"
udp = { packet = 1000 }
app = "bulk"
""",
}


@pytest.mark.parametrize("case", CELLS)
def test_stations_in_a_row_disturb_each_other_as_in_a_simulation(case: str) -> None:
    need_emulation()
    scenario = CELL + CELLS[case]
    runs = retx.replicate(scenario, 20, progress=False)
    real = retx.emulate(scenario, progress=False).summary
    collided = runs.wlans["frames_collided"]
    carried = runs.flows.group_by("replication").agg(pl.col("goodput_bit_s").sum())
    for simulated, emulated in (
        (collided, real["wlans"][0]["frames_collided"]),
        (carried["goodput_bit_s"], sum(flow["goodput_bit_s"] for flow in real["flows"])),
    ):
        # One more draw of the same: four standard deviations, and 3 % for a machine that is late.
        mean, sd = simulated.mean(), simulated.std()
        assert abs(emulated - mean) <= 4 * sd * (1 + 1 / 20) ** 0.5 + 0.03 * mean
        assert emulated > 0


REFUSED = {
    "sack": ['flow.download.tcp="sack"', "no kernel can be set to"],
    "algorithm": ['flow.download.tcp="prairie_like"', "no kernel has congestion_control"],
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_kernel_can_is_one_sentence_and_code_2(case: str, cli: Cli, path: Path) -> None:
    setting, sentence = REFUSED[case]
    done = cli("emulate", path, "--set", setting)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: tcp.")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_algorithm_that_this_kernel_lacks(cli: Cli, path: Path) -> None:
    need_emulation()
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if "veno" in available:
        pytest.skip("this kernel has veno")
    own = '[tcp.own]\nlike = "linux"\ncongestion_control = "veno_linux"\n'
    path.write_text(PATH.replace('"linux_reno"', '"own"') + own)
    done = cli("emulate", path)
    assert done.returncode == 2
    assert done.stderr.startswith('error: this kernel has no congestion control "veno"; it has ')


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "no scenario is named"),
        (["{path}", "--backend", "netem"], 'no backend "netem" (there are tun, precise)'),
        (["{path}", "--clean"], "take no scenario"),
        (["{path}", "--exec", "cleint", "true"], 'unknown host "cleint"'),
        (["{path}", "--pcap-at", "path@client"], "add --pcap FILE"),
    ],
)
def test_misuse_is_one_sentence_and_code_2(
    arguments: list[str], sentence: str, cli: Cli, path: Path
) -> None:
    done = cli("emulate", *(argument.format(path=path) for argument in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_json_is_all_that_is_printed(cli: Cli, path: Path) -> None:
    need_emulation()
    done = cli("emulate", path, "--json", "--exec", "client", "echo hello; exit 3")
    assert done.returncode == 1
    assert json.loads(done.stdout)["emulation"]["programs"][0]["exit_code"] == 3
    assert "hello" in done.stderr


def test_a_run_that_is_too_late_says_so(cli: Cli, path: Path) -> None:
    need_emulation()
    done = cli("emulate", path, "--lateness-bound", "0")
    assert done.returncode == 0
    assert "NOT VALID" in done.stdout


def test_a_scenario_beyond_the_calibration_is_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = tmp_path / "retx" / "calibration-tun.json"
    place.parent.mkdir()
    place.write_text('{"rate_max_bit_s": 1e7}')
    with pytest.raises(retx.EmulationRefusedError, match=r"20 Mbit/s together, and .* holds 10"):
        retx.emulate(path)


def namespaces(process: Path) -> set[str]:
    """Namespaces of a process that are not ours."""
    kinds = ("net", "mnt", "pid", "user")
    try:
        return {str((process / "ns" / kind).readlink()) for kind in kinds} - namespaces_of_ours()
    except OSError:
        return set()


def hold(process: Path, held: ExitStack) -> set[str]:
    """Namespaces of a process that are not ours, kept open so that their numbers are not reused."""
    for kind in ("net", "mnt", "pid", "user"):
        with suppress(OSError):
            held.enter_context((process / "ns" / kind).open("rb"))
    return namespaces(process)


@cache
def namespaces_of_ours() -> frozenset[str]:
    kinds = ("net", "mnt", "pid", "user")
    return frozenset(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in kinds)


def living() -> set[str]:
    """Namespaces that some process is in; one that none is in, and that no file names, is gone."""
    return {it for process in Path("/proc").glob("[0-9]*") for it in namespaces(process)}


def named() -> set[str]:
    """Network namespaces that files name, mounts and devices of this machine, but for loopback."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    devices = {path.name for path in Path("/sys/class/net").iterdir()}
    files = {str(path) for path in Path("/run/netns").glob("*")}
    return {line for line in mounts if "retx" in line or "nsfs" in line} | devices | files


def test_nothing_stays_whenever_it_ends(path: Path, tmp_path: Path) -> None:
    """Ten moments, from before the hosts are there to the middle of the run; five by Ctrl-C."""
    need_emulation()
    moments = random.Random(1)
    before = named()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    seen: set[str] = set()
    # The number of a namespace is not reused while it is held open.
    held = ExitStack()
    for number, sent in enumerate([signal.SIGINT, signal.SIGKILL] * 5):
        out = tmp_path / f"out{number}"
        # A program that would live on, had it not a namespace of processes.
        length = f"1000.{os.getpid()}"
        lasting = f"setsid sleep {length} > /dev/null 2>&1 & sleep {length}"
        with mock.patch.dict(os.environ, TMPDIR=str(temporary)):
            # The download must not end by itself, also if this process gets no processor meanwhile.
            long = ["--set", "flow.download.app.bytes=50_000_000"]
            run = started("emulate", path, "--out", out, *long, "--background", "server", lasting)
        if number > 1:
            wait_for(partial(holders, run))
        until = time.monotonic() + moments.uniform(0, 0.5)
        while time.monotonic() < until:
            for process in [*workers(run), *processes(length)]:
                seen |= hold(process, held)
            time.sleep(0.02)
        run.send_signal(sent)
        run.communicate(timeout=30)
        wait_for(partial(nothing_of, run, length))
        assert not out.exists()
    # There were some: of networks, of mounts and of processes.
    assert {it.split(":")[0] for it in seen} >= {"net", "mnt", "pid"}
    done = subprocess.run(
        [sys.executable, "-m", "retx", "emulate", "--clean"], capture_output=True, text=True
    )
    # Others may have left something meanwhile.
    assert (done.returncode, done.stderr) == (0, "")
    assert not seen & living()
    held.close()
    assert named() == before
    assert list(temporary.iterdir()) == []
    assert sorted(tmp_path.iterdir()) == sorted([path, temporary])


def test_a_worker_that_is_killed_is_missed(path: Path) -> None:
    need_emulation()
    run = started(
        "emulate", path, "--background", "server", "sleep 100", "--exec", "client", "sleep 9"
    )
    wait_for(lambda: holders(run))
    os.kill(holders(run)[0], signal.SIGKILL)
    output, errors = run.communicate(timeout=30)
    assert (run.returncode, output) == (1, "")
    assert errors.startswith("error: the worker has gone")
    wait_for(lambda: not workers(run))


def test_without_privileges_it_works_or_says_why_not(path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("whoever runs this has no privileges, or there is no setpriv to drop them")
    need_emulation()
    script = "import sys, retx; r = retx.emulate(sys.stdin.read(), progress=False)"
    script += "; print(r.summary['emulation']['priority'], r.flows['bytes_delivered'][0])"
    # Another user, who may read the files of this one, wherever they are.
    reads = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reads]
    command = [*user, sys.executable, "-c", script]
    done = subprocess.run(command, input=TINY, capture_output=True, text=True)
    if "cannot be started: Permission denied" in done.stderr:
        pytest.skip("another user cannot start this interpreter")
    if done.returncode:
        # The kernel namespaces, or the machine its device of packets.
        assert re.search("EmulationRefusedError: .* does not let an ordinary user ", done.stderr)
    else:
        assert done.stdout == "normal 1000\n"


MISSING = {
    # Without the capability, and without user namespaces to get it from.
    "privileges": (
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-sys_admin",
        "error: the kernel does not let even root make namespaces here (",
    ),
    "tun": (
        "mount -t tmpfs none /dev/net && exec env",
        "error: there is no /dev/net/tun: load the module tun (modprobe tun), or take ",
    ),
    "ip": (
        "exec env PATH={nothing}",
        "error: the command ip is missing: install iproute2",
    ),
}


@pytest.mark.parametrize("lacking", MISSING)
def test_what_a_machine_lacks_is_one_sentence_and_code_2(
    lacking: str, path: Path, tmp_path: Path
) -> None:
    """The lack is made for this process alone, in namespaces of its own."""
    need_emulation()
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("setpriv")):
        pytest.skip("only root can take things from a process, with unshare and setpriv")
    without, sentence = MISSING[lacking]
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    own = ["unshare", "--mount"]
    if lacking == "privileges":
        own += ["--user", "--map-root-user"]
    script = f'{without.format(nothing=nothing)} "$@"'
    command = [*own, "sh", "-c", script, "sh", sys.executable, "-m", "retx", "emulate", path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


def test_other_systems_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retx.cli.emulate import command
    from retx.running.emulation import calibrate, clean

    monkeypatch.setattr(sys, "platform", "darwin")
    for asked in (lambda: command(path), lambda: retx.emulate(path), calibrate, clean):
        with pytest.raises(retx.EmulationRefusedError, match="emulation needs Linux"):
            asked()
