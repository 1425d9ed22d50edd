"""Output of `retx sweep`: tables, JSON, CSV, figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.cli.csv_files import check_csv, is_file, write_csv
from retx.cli.drawing import Drawing, draw_all, file_of
from retx.cli.options import check_latex, write_latex
from retx.errors import UsageError
from retx.errors.meant import choice
from retx.sweeps.figures import KINDS, FigureRequest, axes_of, draw, pair_of
from retx.terminal.quantities import rate
from retx.terminal.streams import echo

if TYPE_CHECKING:
    import polars as pl

    from retx.cli.tables import Table
    from retx.sweeps.plan import Plan
    from retx.sweeps.result import Sweep


@dataclass(frozen=True)
class SweepOutput:
    """Outputs of a sweep, and their paths."""

    metric: str
    as_json: bool
    csv: Path | None
    figures: list[Drawing]
    pair: str | None
    latex: Path | None = None

    @property
    def files(self) -> list[Path]:
        """Files that are written in addition to the sweep's directory."""
        tables = [it for it in (self.csv, self.latex) if it]
        return [it.place(None) for it in self.figures] + tables

    @property
    def _asked(self) -> FigureRequest:
        return FigureRequest(self.metric, paired=self.pair)

    def check(self, plan: Plan) -> None:
        """Checks before the first run that the requested output can be shown.

        Raises:
            UsageError: The output cannot be shown; the message says why.
        """
        from retx.sweeps.result import Sweep

        check_csv(self.csv)
        check_latex(self.latex)
        found = Sweep(plan, lambda _: None)
        if self.pair is not None:
            pair_of(found, self.pair)
        for figure in self.figures:
            axes_of(found, figure.kind, self._asked)

    def show(self, found: Sweep, directory: Path) -> None:
        """Prints, writes and draws the output."""
        summary = found.summary(self.metric)
        paired = self._paired(found)
        if self.csv:
            write_csv(self.csv, lambda: summary, lambda: found.tables | {"summary": summary})
        if self.latex:
            write_latex(self.latex, self._latex(found))
        if self.as_json:
            self._print_json(found, summary, paired)
        else:
            _print(_means_of(found, summary, self.metric))
            if paired is not None:
                _print(_differences(found, paired, self._title(found), self.metric))
        drawn = draw_all(self.figures, lambda drawing: draw(found, drawing.kind, self._asked))
        if not self.as_json:
            for place in (*(it for it in (self.csv, self.latex) if it), *drawn):
                echo(f"Written: {place}{'' if is_file(place) or place.suffix else '/'}")
            echo(f"Tables: {directory / 'tables'} (Parquet; Python: retx.load({str(directory)!r}))")

    def _paired(self, found: Sweep) -> pl.DataFrame | None:
        if self.pair is None:
            return None
        key, (first, second) = pair_of(found, self.pair)
        return found.paired({key: first}, {key: second}, self.metric)

    def _latex(self, found: Sweep) -> str:
        """LaTeX table of means, or of differences if a comparison was requested."""
        if self.pair is None:
            return found.to_latex(self.metric)
        key, (first, second) = pair_of(found, self.pair)
        return found.to_latex(self.metric, paired=({key: first}, {key: second}))

    def _title(self, found: Sweep) -> str:
        key, (first, second) = pair_of(found, self.pair)
        return f"{self.metric}: {key} = {first} less {second}, run by run, with 95 % intervals"

    def _print_json(self, found: Sweep, summary: pl.DataFrame, paired: pl.DataFrame | None) -> None:
        from retx.cli.run import print_json

        content: dict[str, Any] = {
            "metric": self.metric,
            "keys": list(found.keys),
            "runs": len(found),
            "summary": summary.to_dicts(),
        }
        if paired is not None:
            key, values = pair_of(found, self.pair)
            content["paired"] = {"key": key, "values": list(values), "rows": paired.to_dicts()}
        print_json(content)


def of_sweep(word: str, option: str) -> Drawing:
    """Plot of a sweep from `KIND[=FILE]`.

    Raises:
        UsageError: The kind is unknown.
    """
    kind, file = file_of(word, option)
    if kind not in KINDS:
        raise UsageError(f"{option}{word}: no plot {kind!r} of a sweep{choice(kind, KINDS)}")
    return Drawing(kind, file, None, None, option)


def _means_of(found: Sweep, means: pl.DataFrame, metric: str) -> Table:
    """Table of means of the metric, with a row for each point."""
    from retx.cli.tables import Table, plain

    labels = [name for name in (*found.keys, "name", "direction") if name in means.columns]
    title = f"{plain(metric)}: means with 95 % confidence intervals, {len(found)} runs"
    heads = (f">{head}" for head in ("mean", "low", "high", "runs"))
    made = Table(title, *map(plain, labels), *heads)
    shown = _numbers(metric)
    for row in means.iter_rows(named=True):
        numbers = [shown(row[name]) for name in ("mean", "low", "high")]
        missing = f" ({row['missing']} without)" if row["missing"] else ""
        made.add_row(
            *(plain(str(row[label])) for label in labels), *numbers, f"{row['n']}{missing}"
        )
    return made


def _differences(found: Sweep, paired: pl.DataFrame, title: str, metric: str) -> Table:
    """Table of differences run by run."""
    from retx.cli.tables import Table, plain

    labels = [name for name in (*found.keys, "name", "direction") if name in paired.columns]
    heads = (">difference", ">low", ">high", ">ratio", ">p", ">p (Holm)", ">pairs")
    made = Table(plain(title), *map(plain, labels), *heads)
    shown = _numbers(metric)
    for row in paired.iter_rows(named=True):
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.3f}"
        if row["ratio_low"] is not None:
            ratio += f" ({row['ratio_low']:.3f}–{row['ratio_high']:.3f})"
        made.add_row(
            *(plain(str(row[label])) for label in labels),
            *(shown(row[name]) for name in ("difference", "low", "high")),
            ratio,
            *("–" if row[name] is None else f"{row[name]:.2g}" for name in ("p", "p_holm")),
            str(row["n"]),
        )
    return made


def _print(made: Table) -> None:
    from retx.cli.console import console

    console().print(made)


def _numbers(metric: str) -> Callable[[float | None], str]:
    if metric.endswith("_bit_s"):
        return rate
    return lambda value: "–" if value is None else f"{value:.5g}"
