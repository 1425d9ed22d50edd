"""Fixtures: a small scenario, the command line as a user has it, and all studies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

import pytest
from forking import Forks
from required import missing, required
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from retx.study import Plan, Report, load, reproduce
from retx.study.set_up import at_set_up
from retx.study.shipped import names

LOSSY = """\
title = "A short download over a noisy channel"
duration = "100 s"
seed = 7
sample_interval = "every_ack"

[[link]]
name = "cloud"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { discipline = "droptail", packets = 20 }
forward.channel = { model = "bernoulli", p = 0.02 }

[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "newreno"
app = { kind = "transfer", bytes = 500_000 }
"""

ENDLESS = """\
duration = "1000000 s"
stop = "duration"

[[link]]
name = "wire"
ends = ["a", "b"]
rate = "10 Gbit/s"
delay = "1 ms"

[[flow]]
name = "flood"
from = "a"
to = "b"
tcp = "reno"
app = { kind = "bulk" }
"""
"""Hours of work: for tests that stop it."""


ROOT = Path(__file__).parents[2]
STUDIES = names()
EMULATING = (
    "test_compare",
    "test_diagnose_kernel",
    "test_emulate",
    "test_kernel_grid",
    "test_study_emulations",
)
"""Modules with emulations, of which a machine has one at a time."""
OF_HIGH_BER = ("test_high_ber", "test_study")
"""Modules that look at that study's report; others have the name of theirs."""


def group_of(nodeid: str) -> str:
    """Name of what one process has to run: a study's report is made once, emulations take turns."""
    file, _, test = nodeid.partition("::")
    module, parameters = Path(file).stem, test.partition("[")[2].rstrip("]")
    own = module.removeprefix("test_").replace("_", "-")
    if own in STUDIES or module in OF_HIGH_BER:
        return own if own in STUDIES else "high-ber"
    if parameters in STUDIES:
        return parameters
    if module in EMULATING or emulates(parameters):
        return "emulations"
    return nodeid if module == "test_readme" else module


@cache
def emulates(page: str) -> bool:
    """True if a page of the documentation lets its reader run an emulation."""
    if not page.endswith(".md"):
        return False
    text = (ROOT / page).read_text(encoding="utf-8")
    return bool(re.search(r"retx (emulate|compare)|\bemulate\(", text))


class Groups(LoadScopeScheduling):
    """The scheduler of pytest-xdist that gives each group to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups:
    """Chooses the scheduler, if the tests run in several processes."""
    return Groups(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs reports, and puts first what takes longest."""
    for item in items:
        if "quick_reports" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.studies)
            item.add_marker(pytest.mark.slow)
    first = ("high-ber", "emulations", *STUDIES)
    items.sort(key=lambda item: group_of(item.nodeid) not in first)


@contextmanager
def alone() -> Generator[None]:
    """Holds the lock of emulations, which the tests of crates/emulate take too."""
    import fcntl  # not on Windows, which does not emulate

    (ROOT / "target").mkdir(exist_ok=True)
    with (ROOT / "target" / "emulating").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Runs what may emulate while nothing else on this machine does."""
    emulating = sys.platform == "linux" and group_of(item.nodeid) == "emulations"
    with alone() if emulating else nullcontext():
        return (yield)


REQUIRED = required(os.environ.get("RETX_REQUIRE_ALL", ""))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip into a failure where what it lacks is required."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        name = missing(report.longrepr[2], REQUIRED)
        if name is not None:
            report.outcome = "failed"
            report.longrepr = f"{report.longrepr[2]}; RETX_REQUIRE_ALL requires {name}"
    return report


Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY)
    return path


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Generator[Forks]:
    """Server that forks processes for calls of `retx`, without starting an interpreter for each."""
    started = Forks(tmp_path_factory.mktemp("forks"))
    yield started
    started.close()


@pytest.fixture
def cli(tmp_path: Path, forks: Forks) -> Cli:
    """Runs `retx` in an empty directory."""
    where = tmp_path / "cwd"
    where.mkdir()

    def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        # A limit on the size of files would also leave parts of files with byte code behind.
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        own = {"env": environment} if "preexec_fn" in options else {}
        if not options.keys() - {"cwd"}:
            return forks.retx([*map(str, arguments)], Path(str(options.get("cwd", where))), 120)
        return subprocess.run(
            [sys.executable, "-m", "retx", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **{"cwd": where, **own, **options},  # type: ignore[call-overload]
        )

    return call


FEWER = {"atlas": 2, "dynamic-response": 2, "reliable-mac": 2, "satellite-threshold": 3}
"""Replications instead of the quick form's, by study: as few as decide what the tests hold."""


class QuickReports:
    """Every study in quick form, run from scratch when a test first asks for it, and only then.

    Emulations need real time and an idle machine, and have tests of their own.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._made: dict[str, Report] = {}

    def __getitem__(self, name: str) -> Report:
        if name not in self._made:
            plan = Plan("quick", emulations=0, replications=FEWER.get(name))
            study = at_set_up(load(name), None, plan, self.home / name)
            self._made[name] = reproduce(study, plan, self.home / name)
        return self._made[name]


@pytest.fixture(scope="session")
def quick_reports(tmp_path_factory: pytest.TempPathFactory) -> QuickReports:
    return QuickReports(tmp_path_factory.mktemp("studies"))
