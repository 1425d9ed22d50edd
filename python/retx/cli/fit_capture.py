"""`retx fit` of captures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.cli.run import print_json
from retx.errors import UsageError
from retx.terminal.streams import echo

if TYPE_CHECKING:
    from retx.fitting.captures.capture import CaptureFit
    from retx.fitting.captures.check import Check, Figure


def fit_captures(
    files: tuple[Path, ...],
    flow: int | None,
    out: Path | None,
    *,
    replay: bool,
    with_check: bool,
    as_json: bool,
) -> None:
    """Fits a path to a flow of one or two captures, and prints or writes the result."""
    from retx.fitting.captures.capture import fit_capture
    from retx.fitting.captures.check import check
    from retx.fitting.captures.reproduction import reproduction

    if replay and out is None and not with_check:
        raise UsageError("--replay changes the scenario: add -o S.toml, or --check")
    found = fit_capture(*files, flow=flow)
    again = reproduction(found, replay=replay)
    checked = check(found, replay=replay) if with_check else None
    if out is not None:
        found.save(out, replay=replay)
    if as_json:
        content = {**found.content, "reproduction": None if again is None else asdict(again)}
        print_json(content if checked is None else {**content, "check": checked.content})
        return
    _print(found)
    if checked is not None:
        _print_check(checked)
    if again is not None and again.warning:
        echo(f"\nwarning: {again.warning}", err=True)
    if out is not None:
        echo(f"\nWritten: {out}. Run it: retx run {out}")


def _print(fit: CaptureFit) -> None:
    from retx.cli.console import console
    from retx.cli.tables import Table, plain
    from retx.fitting.captures.wording import rows, sentences

    out = console()
    for sentence in sentences(fit):
        out.print(plain(sentence))
    shown = Table("", "", ">value", ">95 % interval", "evidence")
    for row in rows(fit):
        shown.add_row(*(plain(cell) for cell in row))
    out.print(shown)


def _print_check(found: Check) -> None:
    from retx.cli.console import console
    from retx.cli.tables import Table, plain

    out = console()
    shown = Table(
        f"\n{found.simulations} simulations beside the capture",
        "Figure", ">captured", ">95 % prediction interval", "",
    )  # fmt: skip
    for figure in found.figures:
        low, high = figure.interval
        value, *ends = (_shown(figure, it) for it in (figure.captured, low, high))
        word = "inside" if figure.is_inside else "outside"
        shown.add_row(figure.name, value, f"{ends[0]} to {ends[1]}", word)
    out.print(shown)
    for reason in found.reasons:
        out.print(plain(f"{reason[:1].upper()}{reason[1:]}."))


def _shown(figure: Figure, value: float) -> str:
    from retx.terminal.quantities import count, rate, seconds

    shown: Mapping[str, Any] = {"bit/s": rate, "s": seconds, "": count}
    text: str = shown[figure.unit](value)
    return text
