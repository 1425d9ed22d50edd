"""`retx compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from retx.cli import options
from retx.cli.emulate import Backend, Lateness
from retx.cli.parameters import Argument, Option
from retx.cli.run import overrides_of, print_json
from retx.errors import UsageError
from retx.errors.meant import choice
from retx.scenarios.places import check_places
from retx.terminal.streams import show_status

if TYPE_CHECKING:
    from retx.comparing.grid import Grid

QUANTITY = "response_time_s"

Scenario = Annotated[
    Path | None,
    Argument(help="A scenario file (TOML), or - for the standard input.", show_default=False),
]
Simulations = Annotated[int, Option(metavar="N", help="Number of simulations.")]
Emulations = Annotated[int, Option(metavar="N", help="Number of emulations.")]
Retries = Annotated[int, Option(metavar="N", help="Repeat an invalid emulation up to N times.")]
Jobs = Annotated[
    int | None,
    Option(metavar="N", help="Run N emulations at a time. Default: one per two cores."),
]
Conditions = Annotated[
    int | None,
    Option(
        "--grid",
        metavar="N",
        help="Compare under N conditions drawn from --seed, instead of a scenario; continues an "
        "interrupted grid. Needs --out.",
    ),
]
Families = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="With --grid: family of conditions, such as classic (random and bursty loss); "
        "default: all, in turn.",
    ),
]
SimulateAgain = Annotated[
    bool,
    Option(
        "--simulate-again",
        help="Compare the stored emulations of a grid in --out with new simulations, without "
        "emulating.",
    ),
]
Out = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="With --grid: directory for results, table.csv, table.parquet and a figure.",
    ),
]
Table = Annotated[Path | None, Option(metavar="FILE", help="Write the table (.csv or .parquet).")]
Confidence = Annotated[float, Option(metavar="SHARE", help="Confidence level of all intervals.")]
Quantity = Annotated[
    str | None,
    Option(
        metavar="NAME", help=f"With --grid: quantity that is shown and drawn. Default: {QUANTITY}."
    ),
]


def command(
    scenario: Scenario = None,
    simulations: Simulations = 100,
    emulations: Emulations = 10,
    retries: Retries = 2,
    jobs: Jobs = None,
    grid: Conditions = None,
    families: Families = None,
    again: SimulateAgain = False,
    out: Out = None,
    quantity: Quantity = None,
    table: Table = None,
    latex: options.Latex = None,
    settings: options.Settings = None,
    files_anywhere: options.FilesAnywhere = False,
    seed: options.Seed = None,
    backend: Backend = "tun",
    lateness_bound: Lateness = 0.001,
    confidence: Confidence = 0.95,
    as_json: options.AsJson = False,
) -> None:
    """Compare simulations of a scenario with emulations by this machine's kernel.

    \b
    Examples:
      retx compare scenario.toml --emulations 10
      retx compare scenario.toml --set flow.download.tcp=linux_reno --table compared.csv
      retx compare scenario.toml --latex compared.tex
      retx compare --grid 30 --seed 1 --out compared
      retx compare --simulate-again --out compared
    """
    if again:
        _simulate_again((scenario, grid), out, quantity, as_json)
        return
    from retx.running.emulation import check_linux

    check_linux()
    options.check_latex(latex)
    _check(scenario, grid, out, (settings, table, latex))
    _check_grid_only(quantity, families, grid)
    how: dict[str, Any] = {
        "simulations": simulations,
        "emulations": emulations,
        "retries": retries,
        "jobs": jobs,
        "backend": backend,
        "lateness_bound_s": lateness_bound,
        "confidence": confidence,
        "report": _Report() if sys.stderr.isatty() else None,
    }
    if grid is not None and out is not None:
        from retx.comparing.grid import compare_grid

        how |= {"seed": 1 if seed is None else seed, "families": families or "all"}
        found = compare_grid(grid, out=out, **how)
        _finish_grid(found, out, quantity or QUANTITY, as_json)
        return
    assert scenario is not None, "checked above"
    overrides = overrides_of(settings or [])
    check_places(scenario, [table, latex], overrides=overrides)
    from retx.comparing.comparison import compare

    compared = compare(scenario, seed=seed, overrides=overrides, **how)
    if table:
        _write_table(compared.table, table)
    if latex:
        options.write_latex(latex, compared.to_latex())
    if as_json:
        print_json(compared.summary)
    else:
        from retx.cli.comparison import print_comparison

        print_comparison(compared)


def _check(
    scenario: Path | None,
    grid: int | None,
    out: Path | None,
    of_one: tuple[list[str] | None, Path | None, Path | None],
) -> None:
    settings, table, latex = of_one
    if (scenario is None) == (grid is None):
        raise UsageError("name a scenario file (TOML), or use --grid N to draw conditions")
    if grid is None and out:
        raise UsageError("--out is for --grid; the table of one scenario goes to --table FILE")
    if grid is not None and out is None:
        raise UsageError("--grid stores its results in a directory: add --out DIR")
    if grid is not None and (settings or table or latex):
        raise UsageError("--set, --table and --latex are for a scenario; --grid draws its own")
    if table and table.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--table {table}: the file must end in .csv or .parquet")


def _simulate_again(
    others: tuple[Path | None, int | None], out: Path | None, quantity: str | None, as_json: bool
) -> None:
    if others != (None, None) or out is None:
        raise UsageError(
            "--simulate-again needs --out DIR, where a grid is, and nothing to emulate"
        )
    _check_quantity(quantity)
    from retx.comparing.grid import simulate_again

    found = simulate_again(out, _Report() if sys.stderr.isatty() else None)
    _finish_grid(found, out, quantity or QUANTITY, as_json)


def _check_grid_only(quantity: str | None, families: str | None, grid: int | None) -> None:
    if grid is None and quantity is not None:
        raise UsageError("--quantity is for --grid; the table of one scenario has every quantity")
    if grid is None and families is not None:
        raise UsageError("--families is for --grid, which draws conditions")
    _check_quantity(quantity)


def _check_quantity(quantity: str | None) -> None:
    """Checks that the requested quantity can be shown, before hours of emulation."""
    if quantity is None:
        return
    from retx.comparing.comparison import QUANTITIES

    if quantity not in QUANTITIES:
        raise UsageError(f"--quantity {quantity}: is not compared{choice(quantity, QUANTITIES)}")


def _finish_grid(found: Grid, out: Path, quantity: str, as_json: bool) -> None:
    from retx.files.directory import new_file

    for name in ("table.csv", "table.parquet"):
        _write_table(found.table, out / name)
    rows = found.of(quantity)
    with new_file(out / "agreement.png") as path:
        found.plot(quantity).save(path)
    if as_json:
        families = found.by_family().to_dicts()
        verdict = found.verdict(quantity)
        print_json({"verdict": verdict, "families": families, "table": found.table.to_dicts()})
    else:
        from retx.cli.comparison import print_grid

        print_grid(found, rows, out)


def _write_table(table: Any, target: Path) -> None:  # noqa: ANN401
    from retx.files.directory import new_file

    with new_file(target) as path:
        table.write_csv(path) if target.suffix == ".csv" else table.write_parquet(path)


class _Report:
    """Progress of a comparison, on a terminal."""

    def __init__(self) -> None:
        self._conditions = ""

    def __call__(self, what: str, done: int, of: int) -> None:
        if what == "condition":
            self._conditions = f"condition {done} of {of}, "
        text = (
            self._conditions if what == "condition" else f"{self._conditions}{what} {done} of {of}"
        )
        end = "\n" if done == of and (what == "condition" or not self._conditions) else ""
        show_status(text.rstrip(", "), end)
