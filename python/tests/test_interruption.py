"""Ctrl-C, SIGTERM and SIGHUP end a run quickly and leave nothing half-written."""

from __future__ import annotations

import os
import pty
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from conftest import ENDLESS, LOSSY

import retx
from retx.files.directory import new_directory, new_file
from retx.running.progress import all_done


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    return path


def started(*arguments: object, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "retx", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # The tests themselves may run under nohup.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        **options,  # type: ignore[call-overload]
    )


def wait_for(holds: Callable[[], bool], attempts: int = 600) -> None:
    for _ in range(attempts):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing happened for {attempts // 20} s")


@contextmanager
def signal_while_waiting() -> Iterator[list[str]]:
    """Raises InterruptedError here once this thread waits; yields the files in which it did.

    A thread waits if it is seen in the same line five times in half a second. On a slow machine, a
    signal after a fixed time might come before the wait.
    """
    places: list[str] = []
    left = threading.Event()
    main = threading.get_ident()

    def stop(_signal: int, frame: FrameType | None) -> None:
        places.append(Path(frame.f_code.co_filename).name if frame else "")
        raise InterruptedError

    def watch() -> None:
        seen: list[tuple[str, int]] = []
        while not left.wait(0.1):
            frame = sys._current_frames()[main]
            seen.append((frame.f_code.co_filename, frame.f_lineno))
            if len(seen) >= 5 and len(set(seen[-5:])) == 1:
                signal.pthread_kill(main, signal.SIGALRM)
                return

    before = signal.signal(signal.SIGALRM, stop)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with pytest.raises(InterruptedError):
            yield places
    finally:
        left.set()
        watcher.join()
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("sent", "code", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
    ],
)
@pytest.mark.parametrize("many", [[], ["--replications", "8"]], ids=["one", "many"])
def test_a_signal_leaves_nothing(
    endless: Path, tmp_path: Path, sent: signal.Signals, code: int, word: str, many: list[str]
) -> None:
    out = tmp_path / "deep" / "result"
    run = started("run", endless, "--out", out, "--no-segments", *many)
    # The run has begun when its temporary directory is there.
    wait_for(lambda: out.parent.exists() and any(out.parent.iterdir()))
    time.sleep(0.3)
    run.send_signal(sent)
    try:
        output, errors = run.communicate(timeout=30)
    finally:
        run.kill()
    assert (run.returncode, output, errors) == (code, "", f"{word}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["endless.toml"]


def cpu_s(file: Path) -> float:
    """Seconds of CPU of a process, or of one of its threads."""
    user, system = file.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Scenario with a million flows, and the CPU time of a whole run."""
    path = tmp_path_factory.mktemp("many") / "many.toml"
    text = LOSSY.replace("[[flow]]", "[[flow]]\ncount = 1_000_000").replace("= 500_000 }", "= 1 }")
    path.write_text(text.replace('duration = "100 s"', 'duration = "2 s"'))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started("run", path).communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return path, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.2, 0.4, 0.85], ids=["build", "start", "run", "print"])
def test_a_million_flows_answer_an_interrupt_at_once(
    many: tuple[Path, float], share: float
) -> None:
    """Without waiting until the flows are built, counted or freed.

    The interrupt comes after this share of the whole run's CPU time. The main thread waits 50 ms
    for the run to end, and may take 50 ms of CPU: how long it waits for a core is not ours.
    """
    path, whole_s = many
    said = ""
    for _ in range(6):
        run = started("run", path)
        proc = Path(f"/proc/{run.pid}")
        of_all, of_main = proc / "stat", proc / f"task/{run.pid}/stat"
        taken_s = 0.0
        while run.poll() is None and (taken_s := cpu_s(of_all)) < share * whole_s:
            time.sleep(0.05)
        if run.poll() is not None:  # a busy machine made the measured run take more CPU time
            whole_s = min(taken_s, 0.9 * whole_s)
            continue
        before = cpu_s(of_main)
        run.send_signal(signal.SIGINT)
        assert run.stderr is not None
        said = run.stderr.readline()
        if said or run.wait() not in (0, -signal.SIGINT):
            break
        whole_s *= 0.9  # Python was ending already
    assert said == "interrupted\n"
    assert cpu_s(of_main) - before < 0.05
    run.communicate()
    assert run.returncode == 130


INTERRUPT_IMPORT = """
import sys
NAME = sys.argv.pop(1)
class Interrupts:
    def find_spec(self, name, *_):
        if name == NAME:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
from retx.cli import main
main()
"""


def test_an_interrupt_during_the_start_ends_like_any_other() -> None:
    end = subprocess.run(
        [sys.executable, "-c", INTERRUPT_IMPORT, "typer"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (end.returncode, end.stdout, end.stderr) == (130, "", "interrupted\n")


def test_an_interrupt_while_numpy_is_imported_ends_like_any_other(tmp_path: Path) -> None:
    """The columns of many flows are counted in arrays of numpy, so a run imports it."""
    path = tmp_path / "many.toml"
    path.write_text(LOSSY.replace("[[flow]]", "[[flow]]\ncount = 1_000").replace("500_000", "1"))
    end = subprocess.run(
        [sys.executable, "-c", INTERRUPT_IMPORT, "numpy", "run", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (end.returncode, end.stderr) == (130, "interrupted\n")


INTERRUPT_RUN = """
import signal, sys, threading, retx
threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
try:
    retx.run(sys.argv[1], segments=False)
except KeyboardInterrupt:
    print("interrupted")
"""

STOP_AFTER_REPORTS = """
import sys, retx
class Enough(Exception): pass
seen = []
def report(fraction):
    seen.append(fraction)
    if len(seen) > 3:
        raise Enough
try:
    retx.run(sys.argv[1], segments=False, progress=report)
except Enough:
    print(seen == sorted(seen), 0 <= seen[0] <= seen[-1] < 1)
"""


@pytest.mark.parametrize(
    ("code", "printed"),
    [(INTERRUPT_RUN, "interrupted\n"), (STOP_AFTER_REPORTS, "True True\n")],
    ids=["Ctrl-C", "an exception in the progress function"],
)
def test_python_can_stop_a_run(endless: Path, code: str, printed: str) -> None:
    # In a process of its own, since a run that cannot be stopped takes hours.
    command = [sys.executable, "-c", code, str(endless)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (printed, "")


def test_a_signal_during_a_run_meets_no_code_of_python_that_holds_a_lock(endless: Path) -> None:
    """An exception in `threading.Condition` may leave its lock released, which is an error."""
    with signal_while_waiting() as places:
        retx.run(endless, tables=False)
    assert places == ["progress.py"]


def test_a_bar_on_a_terminal_and_none_elsewhere(endless: Path) -> None:
    terminal, other_end = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "retx", "run", str(endless)],
        stdout=subprocess.DEVNULL,
        stderr=other_end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(other_end)
    shown = b""
    while b"simulating" not in shown:
        shown += os.read(terminal, 1000)
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 130
    os.close(terminal)

    quiet = started("run", endless)
    time.sleep(2)
    quiet.send_signal(signal.SIGINT)
    assert quiet.communicate(timeout=30) == ("", "interrupted\n")


class Broken(Exception):  # noqa: N818
    """Error raised while files are written."""


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b"
    with pytest.raises(Broken), new_directory(target) as partial:
        (partial / "file").write_text("x")
        raise Broken
    assert list(tmp_path.iterdir()) == []
    with new_directory(target) as partial:
        (partial / "file").write_text("x")
        assert not target.exists()
    assert [path.name for path in target.parent.iterdir()] == ["b"]
    assert (target / "file").read_text() == "x"


def test_an_earlier_result_survives_a_failure(tmp_path: Path) -> None:
    target = tmp_path / "result"
    retx.run(LOSSY, out=target)
    before = (target / "summary.json").read_text()
    with pytest.raises(FileExistsError, match="not empty"):
        retx.run(LOSSY, out=target)
    with pytest.raises(Broken), new_directory(target, replace=True) as partial:
        (partial / "summary.json").write_text("{}")
        raise Broken
    assert (target / "summary.json").read_text() == before
    retx.run(LOSSY, seed=99, out=target, force=True)
    assert (target / "summary.json").read_text() != before
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_an_empty_directory_may_be_taken(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    retx.run(LOSSY, out=tmp_path / "empty")
    assert (tmp_path / "empty" / "summary.json").exists()


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "figure.png"
    target.write_text("old")
    with pytest.raises(Broken), new_file(target) as partial:
        partial.write_text("half")
        raise Broken
    assert target.read_text() == "old"
    with new_file(target) as partial:
        assert partial.suffix == ".png"
        partial.write_text("new")
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]


WAITS = {
    "why": lambda: retx.why("scenarios/why-satellite.toml"),
    "a pool": lambda: pooled(),
}


def pooled() -> None:
    with ThreadPoolExecutor(2) as pool:
        all_done(pool, time.sleep, [2.0, 2.0, 100.0])


@pytest.mark.parametrize("what", WAITS)
def test_a_signal_during_a_wait_for_threads_meets_no_lock_of_python(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a run: the wait is not in `threading.py`, and what has not begun does not begin."""
    monkeypatch.chdir(Path(__file__).parents[2])
    began = time.monotonic()
    with signal_while_waiting() as places:
        WAITS[what]()
    # A wait for a twentieth of a second may have ended as the signal came: `suppress` has no lock.
    assert places[0] in {{"why": "runs.py", "a pool": "progress.py"}[what], "contextlib.py"}
    assert len(places) == 1
    assert time.monotonic() - began < 60
