"""`retx sweep`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retx.assignment import assignment
from retx.cli import completion, options
from retx.errors import UsageError
from retx.places import check_places
from retx.quantities import rate

if TYPE_CHECKING:
    from retx.sweeps.result import Sweep

METRIC = "goodput_bit_s"
Scenario = Annotated[
    Path | None, typer.Argument(help="A scenario file with a [sweep].", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep what is found there, and go on with what is there. Default: out/NAME-sweep.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Start anew: an earlier sweep gives way.")]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY=VALUES",
        autocompletion=completion.settings,
        help="Vary this instead of what [sweep] says: a list such as [1, 2], or a range such as "
        '{ from = 1e-4, to = 0.1, steps = 4, scale = "log" }. Repeatable.',
    ),
]
Replications = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Runs of each point, instead of [sweep]'s.")
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="Keep samples, segments, drops or episodes of every run, too. Repeatable.",
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=completion.metrics,
        help="What is shown at the end: a column of flows, flow.NAME.COLUMN or "
        "link.NAME.DIRECTION.COLUMN.",
    ),
]
Threads = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Use N cores instead of all.")
]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on the Dask cluster with this scheduler."),
]
Status = Annotated[
    Path | None,
    typer.Option("--status", metavar="DIR", help="Say what is in the directory of a sweep."),
]


def command(
    scenario: Scenario = None,
    out: Out = None,
    force: Force = False,
    vary: Vary = None,
    replications: Replications = None,
    settings: options.Settings = None,
    no_code: options.NoCode = False,
    files_anywhere: options.FilesAnywhere = False,
    seed: options.Seed = None,
    tables: Tables = None,
    metric: Metric = METRIC,
    threads: Threads = None,
    dask: Dask = None,
    status: Status = None,
) -> None:
    """Run a scenario at every point of a grid; one that was broken off goes on.

    \b
    Examples:
      retx sweep scenario.toml
      retx sweep scenario.toml --vary "link.air.delay=['5 ms', '50 ms']" --replications 30
      retx sweep scenario.toml --metric flow.download.response_time_s --out sweep
      retx sweep --status sweep
    """
    if status is not None:
        others: dict[str, object] = {"the scenario": scenario, "--out": out, "--force": force}
        others |= {"--vary": vary, "--replications": replications, "--set": settings}
        others |= {"--seed": seed, "--table": tables, "--threads": threads, "--dask": dask}
        others["--metric"] = metric != METRIC
        _check_alone(others)
        _print_status(status)
        return
    if scenario is None:
        raise UsageError("name a scenario, or --status DIR")
    from retx.cli.going_on import say_how_to_go_on
    from retx.cli.run import check_set, overrides_of
    from retx.sweeps.plan import Wanted, prepare
    from retx.sweeps.running import sweep_prepared

    grid, overrides = _grid(vary), overrides_of(settings or [])
    check_set(overrides, grid or {})
    directory = out or Path("out") / f"{scenario.stem}-sweep"
    check_places(scenario, directory=directory, overrides=overrides)
    wanted = Wanted(grid, replications, None, seed, overrides, tables or [])
    prepared = prepare(scenario, wanted)
    try:
        result = sweep_prepared(
            prepared, threads=threads, dask=dask, out=directory, force=force, metric=metric
        )
    except ValueError:
        raise  # what is wrong with the command will not go on
    except BaseException:
        say_how_to_go_on(directory)
        raise
    print_summary(result, metric)
    typer.echo(f"Tables: {directory} (Python: retx.load_sweep({str(directory)!r}))")


def _check_alone(others: dict[str, object]) -> None:
    """Refuses what `--status` would leave unread."""
    for name, given in others.items():
        # A seed of 0 is given.
        if given is not None and given is not False and given != []:
            raise UsageError(f"--status DIR stands alone: leave out {name}")


def _grid(vary: list[str] | None) -> dict[str, Any] | None:
    """What `--vary` options say, as a `[sweep]`."""
    if not vary:
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    grid: dict[str, Any] = {}
    for text in vary:
        found = assignment(text)
        if not found:
            raise UsageError(f"--vary {text}: write KEY=VALUES, such as seed=[1, 2]")
        key, values = found
        if key in grid:
            raise UsageError(f"--vary {text}: {key} varies already: write one list")
        try:
            grid[key] = tomllib.loads(f"values = {values}")["values"]
        except tomllib.TOMLDecodeError:
            raise UsageError(
                f"--vary {text}: {values!r} is no list: write the values in brackets, texts in "
                'quotes: [0.1, 0.2], ["reno", "cubic"], or a range'
            ) from None
    return grid


def print_summary(result: Sweep, metric: str) -> None:
    """A table of the metric at every point."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from retx.cli.console import console
    from retx.cli.tables import plain

    means = result.summary(metric)
    labels = [name for name in (*result.keys, "name", "direction") if name in means.columns]
    table = Table(
        title=f"{plain(metric)}: means with 95 % confidence intervals, {len(result)} runs",
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for label in labels:
        table.add_column(plain(label))
    for heading in ("mean", "low", "high", "runs"):
        table.add_column(heading, justify="right")
    for row in means.iter_rows(named=True):
        numbers = [_number(row[name], metric) for name in ("mean", "low", "high")]
        missing = f" ({row['missing']} without)" if row["missing"] else ""
        table.add_row(
            *(plain(str(row[label])) for label in labels), *numbers, f"{row['n']}{missing}"
        )
    console().print(table)


def _number(value: float | None, metric: str) -> str:
    if metric.endswith("_bit_s"):
        return rate(value)
    return "–" if value is None else f"{value:.5g}"


def _print_status(directory: Path) -> None:
    from retx.sweeps.status import sweep_status

    found = sweep_status(directory)
    plan = found.plan
    if found.running:
        state = "under way"
    elif found.damaged or found.runs < found.planned:
        state = "broken off: run it again with this directory to go on"
    else:
        state = "complete" if not plan.until else "complete, or its last looks are still to come"
    typer.echo(f"{directory}: {state}")
    upto = f" (up to {found.most} where intervals stay wide)" if plan.until else ""
    typer.echo(f"runs: {found.runs} of {found.planned}{upto}; points: {len(plan.keys)}")
    typer.echo(f"parts: {len(found.parts)}, {found.bytes / 1e6:.3g} MB; engine {plan.engine}")
    for fault in found.damaged:
        typer.echo(f"damaged: {fault}")
