"""Display of a running sweep: progress, speed and current estimates."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from retx.running.progress import DISPLAY_DELAY_S, Progress
from retx.sweeps.plan import Plan

if TYPE_CHECKING:
    from rich.console import RenderableType

    from retx.sweeps.precision import KnownMean, Precision
    from retx.sweeps.running import Execution

METRIC = "goodput_bit_s"
"""Metric that is shown if no `until` names another."""
SHOWN = 8
REFRESH_S = 0.5
LOG_S = 60.0
"""Interval between lines if the output is not a terminal."""


class Display:
    """Display that shows nothing; `Terminal` and `Log` override its methods."""

    precision: Precision | None = None
    """Collects the values that are shown."""

    def update(self, execution: Execution) -> None:
        """Shows the state of a sweep."""

    @staticmethod
    @contextmanager
    def shown(plan: Plan, progress: Progress) -> Iterator[Display]:
        """Display that the caller requested."""
        if callable(progress):
            yield _Callback(progress)
        elif progress or (progress is None and sys.stderr.isatty()):
            with Terminal(plan) as terminal:
                yield terminal
        elif progress is None:
            yield Log()
        else:
            yield Display()


class Log(Display):
    """Display for log files: one line per minute."""

    def __init__(self) -> None:
        self._started = self._printed = time.monotonic()

    def update(self, execution: Execution) -> None:
        """See `Display`."""
        now = time.monotonic()
        if now - self._printed < LOG_S:
            return
        self._printed = now
        left = _clock(_remaining(execution, now - self._started))
        print(f"{_counted(execution)}, {left} left", file=sys.stderr, flush=True)


class _Callback(Display):
    """Calls a function with the fraction of the runs that is done."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self._report = report

    def update(self, execution: Execution) -> None:
        self._report(execution.done / execution.planned)


class Terminal(Display):
    """Display on a terminal: a bar with rate and remaining time; below it, the widest intervals."""

    def __init__(self, plan: Plan) -> None:
        from rich.live import Live

        from retx.sweeps.precision import Metric, Precision
        from retx.terminal.clean_console import CleanConsole

        self._plan = plan
        until = plan.until
        self._metric = until.metric if until else METRIC
        self._wanted = until.relative_half_width if until else None
        confidence = until.confidence if until else 0.95
        self.precision = Precision(Metric.read(self._metric), confidence)
        self._started = time.monotonic()
        self._drawn = 0.0
        self._live = Live(console=CleanConsole(stderr=True), transient=True, auto_refresh=False)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, execution: Execution) -> None:
        """See `Display`."""
        now = time.monotonic()
        if now - self._started < DISPLAY_DELAY_S or now - self._drawn < REFRESH_S:
            return
        self._drawn = now
        self._live.start()
        self._live.update(self._drawing(execution, now - self._started), refresh=True)

    def _drawing(self, execution: Execution, elapsed: float) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        rate = execution.fresh / elapsed
        line = Table.grid(padding=(0, 1))
        line.add_row(
            _counted(execution),
            ProgressBar(total=execution.planned, completed=execution.done, width=30),
            f"{rate:,.0f} runs/s".replace(",", "\u202f"),
            f"{_clock(_remaining(execution, elapsed))} left",
        )
        return Group(line, self._intervals(execution))

    def _intervals(self, execution: Execution) -> RenderableType:
        from rich.markup import escape
        from rich.table import Table

        assert self.precision is not None
        rows = [
            (known, point)
            for point in range(len(execution.keys))
            for known in self.precision.known(point)
            if known.n > 1
        ]
        rows.sort(key=lambda row: -row[0].relative)
        wanted = f", wanted ± {100 * self._wanted:g} %" if self._wanted else ""
        table = Table(
            title=f"{self._metric}: the widest intervals{wanted}",
            title_justify="left",
            title_style="",
            box=None,
            show_header=False,
        )
        for known, point in rows[:SHOWN]:
            table.add_row(
                escape(self._values(execution, point)),
                escape(known.name),
                self._interval(known),
                f"n = {known.n}",
            )
        return table

    def _interval(self, known: KnownMean) -> str:
        from retx.terminal.quantities import rate

        shown = rate if self._metric.endswith("_bit_s") else "{:.4g}".format
        share = 100 * known.relative
        return f"{shown(known.mean)} ± {share:.{0 if share >= 10 else 1}f} %"

    def _values(self, execution: Execution, point: int) -> str:
        index = self._plan.keys.index(execution.keys[point])
        values = zip(self._plan.grid.keys, self._plan.grid.points[index], strict=True)
        return ", ".join(
            f"{key.rsplit('.', 1)[-1]} = {value}" for key, value in values if value is not None
        )


def _counted(execution: Execution) -> str:
    return f"{execution.done:,} of {execution.planned:,} runs".replace(",", "\u202f")


def _remaining(execution: Execution, elapsed: float) -> float | None:
    """Remaining time: the remaining events divided by the rate so far."""
    if not execution.events or not execution.fresh:
        return None
    typical = sum(execution.events.values()) / len(execution.events)
    left = sum(
        count * execution.events.get(point, typical) for point, count in enumerate(execution.left())
    )
    return left / (execution.fresh_events / elapsed)


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
