"""Sweeps on a Dask cluster: a real scheduler and workers on this machine."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sweeping import LONG, SCENARIO, SWEEP, Timid, hashes, with_bytes

import retx
from retx.errors import UsageError
from retx.sweeps.place import StoreError

distributed = pytest.importorskip("distributed")

SEED = random.randrange(10**6)
"""Seed of the moments at which workers are lost; printed when a test fails."""
LOSSES = int(os.environ.get("RETX_WORKER_LOSSES", "1"))
"""Number of sweeps that lose a worker."""

Process = subprocess.Popen[str]


def started(*words: object, folder: Path) -> Process:
    code = "import sys; from distributed.cli.{0} import main; main(args=sys.argv[1:])"
    module, *arguments = words
    return subprocess.Popen(
        [sys.executable, "-c", code.format(module), *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
    )


class Cluster:
    """A scheduler, and workers that can be lost."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        file = directory / "scheduler.json"
        self.scheduler = started(
            "dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            0,
            "--no-dashboard",
            "--scheduler-file",
            file,
            folder=directory,
        )
        for _ in range(600):
            if file.exists() and file.read_text().endswith("}"):
                break
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        self.workers: list[Process] = []
        for _ in range(2):
            self.add_worker()

    def add_worker(self) -> None:
        self.workers.append(
            started(
                "dask_worker",
                self.address,
                "--nthreads",
                1,
                "--no-nanny",
                "--no-dashboard",
                "--host",
                "127.0.0.1",
                "--local-directory",
                self._directory,
                folder=self._directory,
            )
        )

    def write(self, name: str, text: str) -> None:
        """Writes a file into the folder where workers look for modules."""
        (self._directory / name).write_text(text)

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("dask"))
    yield made
    made.stop()


def test_a_cluster_finds_the_same_bytes(cluster: Cluster, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for tables in ((), ("episodes",)):
        retx.sweep(SCENARIO + SWEEP, out=here, tables=tables, force=True)
        retx.sweep(SCENARIO + SWEEP, out=there, tables=tables, force=True, dask=cluster.address)
        assert hashes(there) == hashes(here)


def test_precision_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    until = {"metric": "goodput_bit_s", "relative_half_width": 0.1, "max_replications": 60}
    grid = {"link.cloud.forward.channel.p": [0.01, 0.05]}
    here, there = tmp_path / "here", tmp_path / "there"
    retx.sweep(SCENARIO, grid, until=until, out=here)
    retx.sweep(SCENARIO, grid, until=until, out=there, dask=cluster.address)
    assert hashes(there) == hashes(here)


def test_a_worker_may_be_lost(cluster: Cluster, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    text = with_bytes(SCENARIO + LONG, 1_000_000)
    retx.sweep(text, out=here)
    moments = random.Random(SEED)
    for _ in range(LOSSES):
        moment, lost = moments.uniform(0.02, 0.9), False

        def lose_one(fraction: float, moment: float = moment) -> None:
            nonlocal lost
            if fraction > moment and not lost:
                victim = cluster.workers.pop(0)
                os.kill(victim.pid, signal.SIGKILL)
                victim.wait()
                cluster.add_worker()
                lost = True

        retx.sweep(text, out=there, dask=cluster.address, progress=lose_one, force=True)
        assert lost
        assert hashes(there) == hashes(here), f"seed {SEED}"


def resent(run: retx.RunTables) -> dict[str, float | None]:
    return {"resent": int(run.segments["retransmission"].sum())}


def test_quantities_are_derived_here_from_runs_there(cluster: Cluster, tmp_path: Path) -> None:
    """The caller's machine derives; the workers need nothing of its code."""
    here, there = tmp_path / "here", tmp_path / "there"
    own = {"derive": resent, "derive_from": ["segments"]}
    retx.sweep(SCENARIO + SWEEP, out=here, **own)
    retx.sweep(SCENARIO + SWEEP, out=there, dask=cluster.address, **own)
    assert hashes(there) == hashes(here)


def test_workers_with_another_engine_are_refused(cluster: Cluster) -> None:
    with pytest.raises(retx.RunError, match=r"this machine 0\.0\.9: install the same"):
        _with_engine(cluster, "0.0.9")


def _with_engine(cluster: Cluster, engine: str) -> None:
    from retx.sweeps import cluster as module

    real = module._native.ENGINE
    module._native.ENGINE = engine
    try:
        retx.sweep(SCENARIO + SWEEP, dask=cluster.address)
    finally:
        module._native.ENGINE = real


def test_no_scheduler_there() -> None:
    from retx.sweeps import cluster as module

    connect_s, module.CONNECT_S = module.CONNECT_S, 0.5
    try:
        with pytest.raises(UsageError, match="no Dask scheduler answers there"):
            retx.sweep(SCENARIO + SWEEP, dask="tcp://127.0.0.1:1")
    finally:
        module.CONNECT_S = connect_s


def test_an_address_without_a_port() -> None:
    with pytest.raises(UsageError, match=r"--dask lonely: .*missing port"):
        retx.sweep(SCENARIO + SWEEP, dask="lonely")


AIMD = """\
import math

import numpy as np
import retx
import steps
from shares import SHARE, Base

TABLE = np.array([SHARE, 1.0])


class Aimd(Base):
    def __init__(self, increase: float = 1.0) -> None:
        self.increase = increase
        self.losses = 0

    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        window.cwnd += math.ceil(steps.step(self.increase, window))

    def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
        super().on_loss(window, loss)
        self.losses += 1
        window.cwnd = window.ssthresh = int(TABLE[0] * loss.flight_size)
"""
STEPS = "def step(increase, window):\n    return increase * window.smss**2 / window.cwnd\n"
SHARES = """\
import retx

SHARE = 0.7


class Base(retx.CongestionControl):
    def on_ack(self, window, ack):
        raise NotImplementedError

    def on_loss(self, window, loss):
        window.ssthresh = 2 * window.smss

    def on_timeout(self, window, loss, repeated):
        window.cwnd = window.smss
"""
OWN = 'tcp = "mine"\n'


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> Iterator[Path]:
    """A scenario with a class that uses modules, which are other ones where the workers run."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text, other in (("steps", STEPS, "*2"), ("shares", SHARES, "")):
        (folder / f"{name}.py").write_text(text)
        cluster.write(f"{name}.py", text.replace("**2", other).replace("0.7", "0.2"))
    (folder / "aimd.py").write_text(AIMD)
    choice = '{ name = "python", file = "aimd.py", class = "Aimd", increase = 1.5 }'
    own = f'\n[tcp.mine]\nlike = "newreno"\ncongestion_control = {choice}\n'
    path = folder / "mine.toml"
    path.write_text(SCENARIO.replace('tcp = "reno"\n', OWN) + own + SWEEP.replace("reno", "mine"))
    monkeypatch.syspath_prepend(folder)
    yield path
    for name in ("steps", "shares"):
        sys.modules.pop(name, None)


def test_code_of_your_own_gives_the_same_bytes(cluster: Cluster, mine: Path) -> None:
    here, there = mine.parent / "here", mine.parent / "there"
    retx.sweep(mine, out=here)
    retx.sweep(mine, out=there, dask=cluster.address)
    assert hashes(there) == hashes(here)
    with pytest.raises(StoreError, match="not part of this sweep"):
        (mine.parent / "aimd.py").write_text(AIMD.replace("[0]", "[1]"))
        retx.sweep(mine, out=there, dask=cluster.address)


def made(share: float) -> type:
    class Cut(Timid):
        def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
            window.cwnd += min(window.smss, window.smss**2 // window.cwnd)

        def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
            window.cwnd = window.ssthresh = int(share * loss.flight_size)

    return Cut


def test_classes_without_a_file_give_the_same_bytes(cluster: Cluster, tmp_path: Path) -> None:
    grid = {"tcp.reno.congestion_control": [Timid, made(0.3), made(0.8)]}
    here, there = tmp_path / "here", tmp_path / "there"
    lossy = {"link.cloud.forward.channel.p": 0.05}
    retx.sweep(SCENARIO, grid, 3, overrides=lossy, out=here)
    retx.sweep(SCENARIO, grid, 3, overrides=lossy, out=there, dask=cluster.address)
    assert hashes(there) == hashes(here)
    times = retx.load(there).flows["response_time_s"].to_list()
    assert len({tuple(times[start : start + 3]) for start in (0, 3, 6)}) == 3


def test_no_code_is_sent_where_none_may_run(cluster: Cluster, mine: Path) -> None:
    with pytest.raises(retx.ScenarioError, match="does not run with --no-code"):
        retx.sweep(mine, dask=cluster.address, code=False)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_what_cannot_be_sent_is_said_before_the_first_run(cluster: Cluster, mine: Path) -> None:
    aimd, steps = (mine.parent / f"{name}.py" for name in ("aimd", "steps"))
    edit(aimd, "TABLE = ", "import threading\nLOCK = threading.Lock()\nTABLE = ")
    retx.sweep(mine, replications=1, dask=cluster.address)  # no function uses the lock
    edit(aimd, "self.losses += 1", "self.losses += LOCK.locked()")
    with pytest.raises(UsageError, match=r"code cannot be sent to workers: .*lock"):
        retx.sweep(mine, replications=1, dask=cluster.address)
    edit(aimd, "self.losses += LOCK.locked()", "import steps")
    with pytest.raises(UsageError, match=r"Aimd\.on_loss imports steps as it runs, which workers"):
        retx.sweep(mine, replications=1, dask=cluster.address)
    edit(aimd, "import steps\nfrom", "from")
    edit(aimd, "        import steps\n", "        import colorsys\n")
    edit(aimd, "steps.step(self.increase, window)", "1")
    steps.unlink()
    retx.sweep(mine, replications=1, dask=cluster.address)  # Python's own modules are everywhere


def test_code_that_fails_there_shows_its_lines(cluster: Cluster, mine: Path) -> None:
    text = AIMD.replace("self.losses += 1", "self.losses = window.cwnd / 0")
    (mine.parent / "aimd.py").write_text(text)
    with pytest.raises(
        retx.UserCodeError, match=r"replication \d+: Aimd failed in on_loss"
    ) as told:
        retx.sweep(mine, dask=cluster.address)
    shown = str(told.value.__cause__)
    assert "    self.losses = window.cwnd / 0\nZeroDivisionError: division by zero" in shown
    assert f'{mine.parent / "aimd.py"}", line' in shown


def test_a_worker_without_the_same_packages_is_refused(
    cluster: Cluster, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retx.sweeps import sent_code

    real = sent_code._version
    monkeypatch.setattr(sent_code, "_version", lambda it: "0.1" if it == "numpy" else real(it))
    with pytest.raises(retx.RunError, match=r"a worker has numpy \d\S*, this machine 0\.1: your"):
        retx.sweep(mine, dask=cluster.address)
