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

distributed = pytest.importorskip("distributed")

SEED = random.randrange(10**6)
"""Seed of the moments at which workers are lost; printed when a test fails."""
LOSSES = int(os.environ.get("RETX_WORKER_LOSSES", "1"))
"""Number of sweeps that lose a worker."""

Process = subprocess.Popen[str]


def started(*words: object) -> Process:
    code = "import sys; from distributed.cli.{0} import main; main(args=sys.argv[1:])"
    module, *arguments = words
    return subprocess.Popen(
        [sys.executable, "-c", code.format(module), *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
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
            )
        )

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


def test_code_of_your_own_stays_here(cluster: Cluster) -> None:
    grid = {"tcp.reno.congestion_control": [Timid]}
    with pytest.raises(UsageError, match="runs on this machine only"):
        retx.sweep(SCENARIO, grid, 1, dask=cluster.address)
