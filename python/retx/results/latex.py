"""Tables of means and comparisons for papers written in LaTeX (`booktabs`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor, isfinite, log10
from typing import Any

import polars as pl

from retx.scenarios.varied import value_name

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "µ": r"\textmu{}",
}  # fmt: skip
MISSING = "--"
LEAST_P = 0.001


def escaped(text: object) -> str:
    """Text escaped for LaTeX."""
    return "".join(SPECIAL.get(character, character) for character in str(text))


def tabular(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: int, note: str) -> str:
    """A LaTeX `tabular` with rules.

    Args:
        heads: Column heads, in LaTeX.
        rows: Cells, in LaTeX.
        texts: Number of leading columns that contain texts. The other columns are right-aligned.
        note: Comment above the table that says how it was made.
    """
    columns = "l" * texts + "r" * (len(heads) - texts)
    lines = [" & ".join(cells) + r" \\" for cells in rows]
    return "\n".join(
        [
            *(f"% {line}" for line in [*note.splitlines(), r"\usepackage{booktabs}"]),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(heads) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """A value with its interval: 5.08 ± 0.13, or 1.00 [0.92, 1.10] if the interval is asymmetric.

    The interval is rounded to two significant digits, and the value to the same place.
    """
    if value is None or not isfinite(value):
        return MISSING
    if low is None or high is None:
        return f"${value:.3g}$"
    below, above = value - low, high - value
    places = _places(max(below, above))
    if abs(below - above) <= 0.05 * max(below, above, 1e-300):
        return rf"${_fixed(value, places)} \pm {_fixed(above, places)}$"
    return rf"${_fixed(value, places)}\,[{_fixed(low, places)}, {_fixed(high, places)}]$"


def p_value(value: float | None) -> str:
    """A probability rounded to two digits."""
    if value is None:
        return MISSING
    return f"$<{LEAST_P}$" if value < LEAST_P else f"${value:.2g}$"


def means_table(
    table: pl.DataFrame,
    keys: Sequence[str],
    names: Mapping[str, str],
    value: tuple[str, str, float],
    note: str,
) -> str:
    """Means with intervals, one row per point.

    Args:
        table: Table returned by `Sweep.summary`.
        keys: Columns that identify a row.
        names: Heads of these columns.
        value: Name of the column in the table, its head, and the number by which values are
            divided.
        note: Comment that says how the table was made.
    """
    column, head, scale = value
    rows = [
        [
            *(_cell(row[key]) for key in keys),
            with_interval(*(_scaled(row[it], scale) for it in (column, "low", "high"))),
            _number(row),
        ]
        for row in table.iter_rows(named=True)
    ]
    heads = [*(escaped(names.get(key, key)) for key in keys), escaped(head), "$n$"]
    return tabular(heads, rows, len(keys), note)


def paired_table(
    table: pl.DataFrame,
    keys: Sequence[str],
    names: Mapping[str, str],
    value: tuple[str, float],
    note: str,
) -> str:
    """Differences and ratios, computed run by run, with intervals; one row per point.

    Args:
        table: Table returned by `Sweep.paired`.
        keys: Columns that identify a row.
        names: Heads of these columns.
        value: Head of the column of differences, and the number by which the differences are
            divided to convert them to the unit in the head.
        note: Comment that says how the table was made.
    """
    head, scale = value
    rows = [
        [
            *(_cell(row[key]) for key in keys),
            with_interval(*(_scaled(row[it], scale) for it in ("difference", "low", "high"))),
            with_interval(row["ratio"], row["ratio_low"], row["ratio_high"]),
            p_value(row["p_holm"]),
            _number(row),
        ]
        for row in table.iter_rows(named=True)
    ]
    heads = [
        *(escaped(names.get(key, key)) for key in keys),
        f"difference, {escaped(head)}", "ratio", r"$p$ (Holm)", "pairs",
    ]  # fmt: skip
    return tabular(heads, rows, len(keys), note)


def _number(row: Mapping[str, Any]) -> str:
    """Number of runs with a value; `6 of 10` if four of ten runs have none."""
    missing = row.get("missing") or 0
    return f"{row['n']} of {row['n'] + missing}" if missing else str(row["n"])


def comparison_table(table: pl.DataFrame, note: str) -> str:
    """Simulated and emulated means, one row per flow and quantity.

    Args:
        table: Table returned by `Comparison.table`.
        note: Comment that says how the table was made.
    """
    from retx.plots.labels import axis

    rows = []
    for row in table.iter_rows(named=True):
        scale, label = axis(row["quantity"], [row["simulated"], row["emulated"]])
        sides = [
            with_interval(*(_scaled(row[f"{side}{end}"], scale) for end in ("", "_low", "_high")))
            for side in ("simulated", "emulated")
        ]
        ratio = with_interval(row["ratio"], row["ratio_low"], row["ratio_high"])
        rows.append([escaped(row["flow"]), escaped(label), *sides, ratio, _agreement(row)])
    heads = ["flow", "quantity", "simulated", "emulated", "ratio", "means"]
    return tabular(heads, rows, 2, note)


def _agreement(row: Mapping[str, Any]) -> str:
    words = {"interval": "agree", "3 %": r"within 3\,\%", "pairs": "pairs agree"}
    words |= {"cannot tell": "cannot tell", "none": "differ"}
    return words.get(row["agreement"], MISSING)


def _cell(value: object) -> str:
    return f"${value:.4g}$" if isinstance(value, float) else escaped(value_name(value))


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def _places(half: float) -> int:
    """Number of decimal places with which an interval has two significant digits."""
    if half <= 0 or not isfinite(half):
        return 3
    # The value is rounded first, because 0.0999 is written as 0.10.
    return max(0, 1 - floor(log10(float(f"{half:.1e}"))))


def _fixed(value: float, places: int) -> str:
    return f"{value:.{places}f}"
