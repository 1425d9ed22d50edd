"""`retx sweep`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from retx.cli import options
from retx.cli.csv_files import Csv
from retx.cli.drawing import in_width
from retx.cli.parameters import Argument, Option
from retx.cli.sweep_output import SweepOutput, of_sweep
from retx.errors import UsageError
from retx.files.standard_input import is_standard_input
from retx.scenarios.places import check_places
from retx.sweeps.figures import METRIC
from retx.terminal.streams import echo

if TYPE_CHECKING:
    from retx.sweeps.plan import Plan

Scenario = Annotated[
    Path | None,
    Argument(
        help="A scenario file with a [sweep], or - for the standard input.", show_default=False
    ),
]
Out = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="Directory for results; interrupted sweeps continue. Default: out/NAME-sweep, or "
        "out/NAME-sweep-2 and so on beside other sweeps.",
    ),
]
Force = Annotated[bool, Option("--force", help="Start anew and replace an earlier sweep.")]
Vary = Annotated[
    list[str] | None,
    Option(
        "--vary",
        metavar="KEY=VALUES",
        completion="retx.cli.completion:settings",
        help="Vary this key instead of those in [sweep]: A,B,C, or LOW..HIGH[:log]:STEPS, such as "
        '"5..100 ms:log:4", or a list or range as in [sweep]. Repeatable.',
    ),
]
Replications = Annotated[
    int | None,
    Option(metavar="N", min=1, help="Number of runs of each point, instead of that in [sweep]."),
]
Tables = Annotated[
    list[str] | None,
    Option(
        "--table",
        metavar="NAME",
        help="Also store samples, segments, drops or episodes of every run. Repeatable.",
    ),
]
Metric = Annotated[
    str,
    Option(
        metavar="NAME",
        completion="retx.cli.completion:metrics",
        help="Metric that is shown at the end: a column of flows, flow.NAME.COLUMN or "
        "link.NAME.DIRECTION.COLUMN.",
    ),
]
Plots = Annotated[
    list[str] | None,
    Option(
        "--plot",
        metavar="KIND[=FILE]",
        completion="retx.cli.completion:kinds_of_plots_of_sweeps",
        help="Draw --metric as metric, heat_map, contour, cdf or paired; FILE ends in .png, .svg, "
        ".pdf, or .csv or .parquet for the data. `retx plot DIR` has more choices. Repeatable.",
    ),
]
Pair = Annotated[
    str | None,
    Option(
        "--paired",
        metavar="[KEY=]A,B",
        help="Compare two values of a key, such as cubic,bbr, in runs with the same draws.",
    ),
]
Threads = Annotated[int | None, Option(metavar="N", min=1, help="Use N cores instead of all.")]
Dask = Annotated[
    str | None,
    Option(metavar="ADDRESS", help="Run on the Dask cluster with this scheduler."),
]
Status = Annotated[
    Path | None,
    Option("--status", metavar="DIR", help="Show the state of the sweep in a directory."),
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
    as_json: options.AsJson = False,
    csv: Csv = None,
    latex: options.Latex = None,
    plots: Plots = None,
    width: options.Width = None,
    pair: Pair = None,
    status: Status = None,
) -> None:
    """Run a scenario at every point of a grid; an interrupted sweep is continued.

    \b
    Examples:
      retx sweep scenario.toml
      retx sweep scenario.toml --vary "link.air.delay=5 ms,50 ms" --replications 30
      retx sweep scenario.toml --vary link.air.forward.channel.p=1e-4..0.1:log:4 --plot metric
      retx sweep scenario.toml --vary flow.download.tcp=cubic,bbr --paired cubic,bbr --csv tables
      retx sweep scenario.toml --metric flow.download.response_time_s --out sweep
      retx sweep --status sweep
    """
    if status is not None:
        others: dict[str, object] = {"the scenario": scenario, "--out": out, "--force": force}
        others |= {"--vary": vary, "--replications": replications, "--set": settings}
        others |= {"--seed": seed, "--table": tables, "--threads": threads, "--dask": dask}
        others |= {
            "--json": as_json,
            "--csv": csv,
            "--latex": latex,
            "--plot": plots,
            "--paired": pair,
            "--width": width,
        }
        others["--metric"] = metric != METRIC
        _check_alone(others)
        _print_status(status)
        return
    if scenario is None:
        raise UsageError("name a scenario, or --status DIR")
    from retx.cli.resuming import print_resume_hint
    from retx.cli.run import check_set, overrides_of
    from retx.scenarios.varied import read_grid_options
    from retx.sweeps.plan import Wanted, prepare
    from retx.sweeps.running import sweep_prepared

    grid, overrides = read_grid_options(vary or []), overrides_of(settings or [])
    check_set(overrides, grid or {})
    stem = "stdin" if is_standard_input(scenario) else scenario.stem
    figures = in_width([of_sweep(word, "--plot ") for word in plots or []], width)
    if width and not figures:
        raise UsageError("--width sets the width of a figure: add --plot KIND")
    shown = SweepOutput(metric, as_json, csv, figures, pair, latex)
    place = out or Path("out") / f"{stem}-sweep"
    check_places(scenario, shown.files, place, overrides)
    wanted = Wanted(grid, replications, None, seed, overrides, tables or [])
    prepared = prepare(scenario, wanted)
    directory = place if out or force else _next_to(place, prepared.plan)
    shown.check(prepared.plan)
    try:
        result = sweep_prepared(
            prepared, threads=threads, dask=dask, out=directory, force=force, metric=metric,
            tabulate=True,
        )  # fmt: skip
    except ValueError:
        raise  # what is wrong with the command will not go on
    except BaseException:
        print_resume_hint(directory)
        raise
    shown.show(result, directory)


def _next_to(place: Path, plan: Plan) -> Path:
    """Default directory of a sweep; numbered if another sweep is there, which is kept."""
    from retx.sweeps.store import holds_another

    directory, number = place, 1
    while holds_another(directory, plan):
        number += 1
        directory = place.with_name(f"{place.name}-{number}")
    if number > 1:
        print(
            f"{place} holds another sweep, which is kept: this one goes to {directory} "
            "(--out names a directory, --force replaces the other sweep)",
            file=sys.stderr,
        )
    return directory


def _check_alone(others: dict[str, object]) -> None:
    """Refuses options that have no effect with `--status`."""
    for name, given in others.items():
        # The test must not treat a seed of 0 as missing.
        if given is not None and given is not False and given != []:
            raise UsageError(f"--status DIR takes no other options: leave out {name}")


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
    echo(f"{directory}: {state}")
    upto = f" (up to {found.most} where intervals stay wide)" if plan.until else ""
    echo(f"runs: {found.runs} of {found.planned}{upto}; points: {len(plan.keys)}")
    echo(f"parts: {len(found.parts)}, {found.bytes / 1e6:.3g} MB; engine {plan.engine}")
    if not found.tabulated and state == "complete":
        echo("tables: none; `retx sweep` with this directory writes them")
    for fault in found.damaged:
        echo(f"damaged: {fault}")
