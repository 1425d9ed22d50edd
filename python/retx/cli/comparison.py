"""Comparisons, printed as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from retx.cli.console import console
from retx.terminal.quantities import count, rate, seconds

if TYPE_CHECKING:
    import polars as pl

    from retx.cli.console import Screen
    from retx.comparing.comparison import Comparison
    from retx.comparing.grid import Grid


SHORT = {
    "goodput_bit_s": "goodput",
    "response_time_s": "response",
    "exchange_mean_s": "exchange",
    "segments_retransmitted": "resent",
    "rtt_mean_s": "RTT",
    "fast_retransmit_count": "fast rec.",
    "rto_count": "timeouts",
    "idle_total_s": "idle",
}
"""Names of quantities in the table of families."""


def print_comparison(found: Comparison) -> None:
    """Prints simulated and emulated means, and the first recovery that differs."""
    out, summary = console(), found.summary
    title = escape(summary["scenario"].get("title") or "A scenario without a title")
    kernel = f", Linux {summary['kernel']}" if summary["kernel"] else ""
    out.print(
        f"[bold]{title}[/bold] (seed {summary['seed']}: {summary['simulations']} simulations, "
        f"{summary['emulations']} emulations{kernel})"
    )
    if summary["perturbed"]:
        out.print(
            "Draws change nothing here: in simulations each packet is up to 0.1 ms late on each "
            "link, as in emulations."
        )
    _print_invalid(out, summary)
    if found.table.is_empty():
        out.print("There is nothing to compare.")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in (
        "Flow",
        "quantity",
        ">simulated",
        ">emulated",
        ">ratio",
        ">same draws",
        ">p (K–S)",
        "means",
    ):
        table.add_column(name.lstrip(">"), justify="right" if name[0] == ">" else "left")
    for row in found.table.iter_rows(named=True):
        shown = _of(row["quantity"])
        table.add_row(
            escape(row["flow"]),
            _words(row["quantity"]),
            _interval(row, "simulated", shown),
            _interval(row, "emulated", shown),
            _ratio(row),
            _ratio(row, "paired_"),
            f"{row['p_value']:.2g}",
            _agreement(row),
        )
    out.print(table)
    if "cannot tell" in found.table["agreement"].to_list():
        out.print(
            "Cannot tell: the interval of the difference holds zero, and half the emulated mean, "
            f"too. More than {summary['emulations']} emulations tell more (--emulations N)."
        )
    for difference in found.first_differences:
        out.print(f"First difference: {escape(str(difference))}.")
    if not found.first_differences:
        out.print("The recorded recoveries do not differ.")


def print_grid(found: Grid, rows: pl.DataFrame, written: Path) -> None:
    """Prints a row for each condition, and the number of conditions that agree with emulations."""
    out = console()
    quantity = str(rows["quantity"][0])
    shown = _of(quantity)
    table = Table(title=_words(quantity), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in (
        ">#", "family", "TCP", ">Mbit/s", ">RTT ms", ">queue", "about", ">simulated", ">emulated",
        ">same draws", "means",
    ):  # fmt: skip
        table.add_column(name.lstrip(">"), justify="right" if name[0] == ">" else "left")
    for row in rows.iter_rows(named=True):
        table.add_row(
            str(row["number"]),
            row["family"],
            row["tcp"],
            f"{row['rate_mbit_s']:g}",
            f"{row['rtt_ms']:g}",
            str(row["queue_packets"]),
            row["about"],
            _interval(row, "simulated", shown),
            _interval(row, "emulated", shown),
            _ratio(row, "paired_"),
            _agreement(row),
        )
    out.print(table)
    verdict = found.verdict(quantity)
    out.print(
        f"{verdict['agree']} of {verdict['compared']} conditions agree: the interval of the "
        f"difference holds zero ({verdict['agree_by_interval']}), the means differ by at most 3 %, "
        f"or runs with the same draws agree. With the same draws {verdict['paired_within']} are "
        f"within 2 %, {verdict['paired_off_by_more']} are off by more than 15 %"
        + (f", at most {verdict['paired_off_by_max']:.1%}." if verdict["compared"] else ".")
    )
    _print_families(out, found)
    for result in found.results:
        _print_invalid(out, result["summary"], f"Condition {result['condition']['number']}: ")
        if result["first_difference"]:
            number = result["condition"]["number"]
            out.print(f"First difference in condition {number}: {result['first_difference']}.")
    out.print(f"Written: {escape(str(written))}")


def _print_families(out: Screen, found: Grid) -> None:
    rows = found.by_family()
    table = Table(title="Agree, by family", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in rows.columns:
        words = SHORT.get(name, name)
        table.add_column(words, justify="left" if name == "family" else "right")
    for row in rows.iter_rows():
        table.add_row(*map(str, row))
    out.print(table)


def _print_invalid(out: Screen, summary: dict[str, Any], where: str = "") -> None:
    if summary["emulations_invalid"]:
        fault = summary["faults"][-1] if summary["faults"] else "no reason was given"
        out.print(
            f"[bold red]{where}{summary['emulations_invalid']} emulations are NOT VALID, however "
            f"often repeated, and left out:[/bold red] {escape(fault)}"
        )
    if summary["emulations_repeated"]:
        out.print(f"{where}{summary['emulations_repeated']} emulations were late and repeated.")


def _of(quantity: str) -> Any:  # noqa: ANN401
    """Formatter for the values of a quantity."""
    if quantity.endswith("_bit_s"):
        return rate
    return seconds if quantity.endswith("_s") else count


def _words(quantity: str) -> str:
    return quantity.removesuffix("_bit_s").removesuffix("_s").replace("_", " ")


def _interval(row: dict[str, Any], side: str, shown: Any) -> str:  # noqa: ANN401
    if row[f"{side}_low"] is None:
        return str(shown(row[side]))
    half = (row[f"{side}_high"] - row[f"{side}_low"]) / 2
    return f"{shown(row[side])} ± {shown(half)}"


def _ratio(row: dict[str, Any], prefix: str = "") -> str:
    ratio, low, high = (row[f"{prefix}ratio{end}"] for end in ("", "_low", "_high"))
    if ratio is None:
        return "–"
    return f"{ratio:.3f}" if low is None else f"{ratio:.3f} ({low:.3f}–{high:.3f})"


def _agreement(row: dict[str, Any]) -> str:
    if row["agreement"] is None:
        return "too few"
    words = {"interval": "agree", "3 %": "within 3 %", "pairs": "pairs agree"}
    words["cannot tell"] = "[yellow]cannot tell[/yellow]"
    return words.get(row["agreement"], "[red]differ[/red]")
