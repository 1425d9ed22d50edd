"""`retx tune`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from retx.cli import options
from retx.cli.opened import opened_files
from retx.cli.parameters import Option
from retx.cli.run import check_set, overrides_of, print_json
from retx.errors import UsageError
from retx.scenarios.places import check_places
from retx.terminal.quantities import rate, seconds
from retx.terminal.streams import echo, show_status

if TYPE_CHECKING:
    from retx.tuning.result import Tuning

Vary = Annotated[
    list[str],
    Option(
        "--vary",
        metavar="KEY=VALUES",
        completion="retx.cli.completion:settings",
        help='Values to try: LOW..HIGH, "5..100 ms:log", or A,B,C, or a list or range as in '
        "[sweep]. Repeatable.",
        show_default=False,
    ),
]
Maximise = Annotated[
    list[str] | None,
    Option(
        metavar="OBJECTIVE",
        help="Maximise: goodput, fairness, a column of flows, or FLOW.COLUMN. Repeatable.",
    ),
]
Minimise = Annotated[
    list[str] | None,
    Option(
        metavar="OBJECTIVE",
        help="Minimise delay (mean RTT), or an objective as for --maximise. Repeatable.",
    ),
]
Trials = Annotated[
    int,
    Option(metavar="N", min=1, help="Total number of trials, including those in --storage."),
]
Runs = Annotated[
    int, Option("--replications", metavar="N", min=1, help="Number of runs for each trial.")
]
Seed = Annotated[int, Option(metavar="N", help="Seed of the search.")]
Storage = Annotated[
    Path | None,
    Option(metavar="FILE", help="Store trials in this file (SQLite), and continue from it."),
]
Out = Annotated[
    Path | None, Option(metavar="FILE", help="Write the scenario with the best values.")
]
Landscape = Annotated[
    Path | None,
    Option(metavar="FILE", help="Draw the objective against each key (.png, .svg, .pdf)."),
]
Pareto = Annotated[
    Path | None, Option(metavar="FILE", help="Draw two objectives against each other.")
]


def command(
    scenario: options.Scenario,
    vary: Vary,
    maximise: Maximise = None,
    minimise: Minimise = None,
    trials: Trials = 50,
    replications: Runs = 5,
    seed: Seed = 1,
    settings: options.Settings = None,
    no_code: options.NoCode = False,
    files_anywhere: options.FilesAnywhere = False,
    storage: Storage = None,
    out: Out = None,
    landscape: Landscape = None,
    pareto: Pareto = None,
    as_json: options.AsJson = False,
) -> None:
    """Search the values of scenario keys that optimise an objective (needs retx[tune]).

    \b
    Examples:
      retx tune scenario.toml --vary link.radio.queue.packets=5..200 --maximise goodput
      retx tune scenario.toml --vary "tcp.mine.min_rto=50..2000 ms:log" \\
          --minimise download.response_time_s --storage tuning.db --landscape rto.png
      retx tune scenario.toml --vary tcp.mine.congestion_control=reno,cubic,bbr \\
          --maximise goodput --minimise delay --pareto front.png
    """
    from retx.tuning.search import tune
    from retx.tuning.space import parsed

    _check(pareto, landscape, [*(maximise or []), *(minimise or [])])
    varied = [parsed(word) for word in vary]
    keys, overrides = [key for key, _ in varied], overrides_of(settings or [])
    check_places(scenario, [storage, out, landscape, pareto], overrides=overrides)
    for key in keys:
        if keys.count(key) > 1:
            raise UsageError(f"--vary {key}: is given twice: leave out one")
    check_set(overrides, keys)
    with opened_files([landscape, pareto, out]) as files:
        found = tune(
            scenario,
            dict(varied),
            maximise=maximise or [],
            minimise=minimise or [],
            trials=trials,
            replications=replications,
            seed=seed,
            overrides=overrides,
            storage=storage,
            report=_report if sys.stderr.isatty() else None,
        )
        files.write(landscape, lambda path: found.landscape().save(path))
        files.write(pareto, lambda path: found.pareto().save(path))
        files.write(out, lambda path: path.write_text(found.scenario_toml(), encoding="utf-8"))
    _print(found, as_json)
    files.raise_faults()


def _check(pareto: Path | None, landscape: Path | None, objectives: list[str]) -> None:
    if pareto and len(objectives) < 2:
        raise UsageError("--pareto plots two objectives: name two")
    for option, path in (("--pareto", pareto), ("--landscape", landscape)):
        if path and path.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise UsageError(f"{option} {path}: the file must end in .png, .svg, .pdf")


def _report(done: int, of: int) -> None:
    end = "\n" if done == of else ""
    show_status(f"trial {done} of {of}", end)


def _shown(objective: str) -> Callable[[Any], str]:
    """Formatter for the values of an objective, with their unit."""
    if objective == "goodput" or objective.endswith("_bit_s"):
        return rate
    return seconds if objective == "delay" or objective.endswith("_s") else _value


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _print(found: Tuning, as_json: bool) -> None:
    if as_json:
        shown = {"best": found.best.to_dicts(), "trials": found.trials.to_dicts()}
        print_json(shown)
        return
    from retx.cli.console import console
    from retx.cli.tables import Table, plain, shortened

    without = found.trials.height - found.trials.drop_nulls(found.objectives[0].name).height
    title = "Best trial" if len(found.objectives) == 1 else "Trials that no other one beats"
    heads = [f"{key} ({unit})" if unit else key for key, unit in found.units.items()]
    names = [objective.name for objective in found.objectives]
    made = Table(
        f"{title}, of {found.trials.height}", "trial", *(f">{it}" for it in (*heads, *names))
    )
    shown_as: list[Callable[[Any], str]] = [
        str,
        *(_value for _ in heads),
        *(_shown(name) for name in names),
    ]

    def add(row: tuple[Any, ...]) -> None:
        cells = zip(shown_as, row, strict=True)
        made.add_row(*(plain(shown(value)) for shown, value in cells))

    console().print(shortened(made, found.best.rows(), add))
    if without:
        echo(f"{without} trials have no value: a flow had none, such as one without an end.")
