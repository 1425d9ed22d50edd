"""Runs native work in a thread, so that the main thread can show progress and handle Ctrl-C."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from retx._native import Control

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from rich.progress import Progress as Bar

S = TypeVar("S")
T = TypeVar("T")

Progress = bool | Callable[[float], None] | None

TICK_S = 0.1
DISPLAY_DELAY_S = 1.0
"""Time after which the progress bar appears."""
GRACE_S = 1.0
"""Time given to cancelled work to end. It needs milliseconds, unless user code is running."""

LEAVE_S = 0.05
"""Time after which cancelled work may be abandoned."""


class Background(Generic[T]):
    """Work in a thread of its own, which can be cancelled."""

    def __init__(self, work: Callable[[Control], T]) -> None:
        self._work = work
        self._control = Control()
        self._begun = Event()
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        self._running = Lock()
        self._running.acquire()
        self._worker = Thread(target=self._begin, daemon=True)

    def _begin(self) -> None:
        self._begun.set()
        try:
            self._results.append(self._work(self._control))
        except BaseException as error:  # whatever it is, it is the caller's
            self._errors.append(error)
        finally:
            self._running.release()

    def start(self) -> None:
        """Starts the thread."""
        self._worker.start()

    def result(self, report: Callable[[float], None] = lambda _: None) -> T:
        """Waits for the end of the work, and returns its result or raises its error.

        Args:
            report: Function that is called with the fraction done, several times a second.
        """
        # A bare lock is used, because Ctrl-C within the code of a condition or a future may leave
        # its lock released, which then causes "RuntimeError: release unlocked lock".
        while not self._running.acquire(timeout=TICK_S):
            report(self._control.progress)
        self._worker.join()
        if self._errors:
            raise self._errors.pop()
        return self._results.pop()

    def cancel(self, *, leave: bool = False) -> None:
        """Cancels the work and waits until it has ended; interrupts user code that does not return.

        Args:
            leave: Return after `LEAVE_S` even if the work has not ended.
        """
        self._control.cancel()
        if self._begun.wait(GRACE_S):
            self._worker.join(LEAVE_S if leave else GRACE_S)
        while self._worker.is_alive():
            if not interrupt_user_code([self._worker]) and leave:
                break
            self._worker.join(GRACE_S)


def watched(work: Callable[[Control], T], progress: Progress = None, *, leave: bool = False) -> T:
    """Runs `work(control)` in a separate thread and returns its result.

    After an exception in the main thread, such as Ctrl-C, the work is cancelled, and this function
    waits until it has ended. User code that does not return is interrupted.

    Args:
        work: Function that does the work.
        progress: True to show a bar, or a function called with the fraction done.
        leave: Return `LEAVE_S` after a cancellation even if the work has not ended, since a million
            flows take seconds to free. Only for work without side effects.
    """
    task = Background(work)
    try:
        # The thread is started within the `try` block, because Ctrl-C may occur before `start`
        # returns.
        task.start()
        with _reporter(progress) as report:
            return task.result(report)
    except BaseException:
        task.cancel(leave=leave)
        raise


def all_done(pool: Executor, work: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """Results of `work` for all items, in their order, as by `pool.map`.

    This function waits for a simple queue instead of a future, because Ctrl-C within the code of a
    future may leave its lock released. Python would then raise "RuntimeError: release unlocked
    lock".

    Raises:
        Exception: The first error of any item; items that have not begun are cancelled.
    """
    from queue import Empty, SimpleQueue

    finished: SimpleQueue[Future[T]] = SimpleQueue()
    futures = [pool.submit(work, item) for item in items]
    try:
        for future in futures:
            future.add_done_callback(finished.put)
        left = len(futures)
        while left:
            # With a time-out, as Ctrl-C interrupts no other wait on Windows.
            with suppress(Empty):
                finished.get(timeout=TICK_S).result()
                left -= 1
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def interrupt_user_code(workers: Iterable[Thread] = ()) -> bool:
    """Raises KeyboardInterrupt in the threads that run user code; true if there are any.

    Args:
        workers: Threads of Python that may run user code; the others are threads of the simulation.
    """
    import ctypes

    interrupted = False
    # Python creates a dummy for a thread of the simulation whose user code asks for its thread.
    everyone = [it for it in threading.enumerate() if not isinstance(it, threading._DummyThread)]
    known = {it.ident for it in everyone} - {it.ident for it in workers}
    for ident, frame in sys._current_frames().items():
        # Threads of the simulation are unknown to `threading`. If such a thread is inside a
        # function of retx, it does not run user code.
        ours = Path(__file__).parents[1] in Path(frame.f_code.co_filename).parents
        if ident not in known and not ours:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt)
            )
            interrupted = True
    return interrupted


@contextmanager
def _reporter(progress: Progress) -> Iterator[Callable[[float], None]]:
    if callable(progress):
        yield progress
    elif progress or (progress is None and sys.stderr.isatty()):
        with _bar() as report:
            yield report
    else:
        yield lambda _: None


@contextmanager
def _bar() -> Iterator[Callable[[float], None]]:
    started = time.monotonic()
    bar: Bar | None = None

    def report(fraction: float) -> None:
        nonlocal bar
        if time.monotonic() - started <= DISPLAY_DELAY_S:
            return
        if bar is None:
            # Importing rich takes longer than a short run, which shows no bar.
            from rich.progress import Progress as Bar

            from retx.terminal.clean_console import CleanConsole

            bar = Bar(console=CleanConsole(stderr=True), transient=True)
            bar.add_task("simulating", total=1.0)
            bar.start()
        bar.update(bar.task_ids[0], completed=fraction)

    try:
        yield report
    finally:
        if bar is not None:
            bar.stop()
