"""Runs native work in a thread, so that the main thread can show progress and heed Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from retx._native import Control

T = TypeVar("T")

Progress = bool | Callable[[float], None] | None

TICK_S = 0.1
PATIENCE_S = 1.0
"""Work that is done sooner shows no bar."""


def watched(work: Callable[[Control], T], progress: Progress = None) -> T:
    """The result of `work(control)`, which runs in a thread of its own.

    An exception in the main thread, Ctrl-C above all, cancels the work and waits for its end.
    """
    control = Control()
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(work, control)
        try:
            with _reporter(progress) as report:
                while not wait([future], timeout=TICK_S).done:
                    report(control.progress)
        except BaseException:
            control.cancel()
            raise
        return future.result()


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
    from rich.console import Console
    from rich.progress import Progress as Bar

    started = time.monotonic()
    bar = Bar(console=Console(stderr=True), transient=True)
    task = bar.add_task("simulating", total=1.0)

    def report(fraction: float) -> None:
        if time.monotonic() - started > PATIENCE_S:
            bar.start()
            bar.update(task, completed=fraction)

    try:
        yield report
    finally:
        bar.stop()
