"""`make bench-peers`: retx, ns-2, ns-3 and htsim on the same scenarios."""

from __future__ import annotations

import datetime
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from peers import report
from peers.comparing import COUNTED, Plan, compare, count_instructions
from peers.htsim import Htsim
from peers.limits import bare_event_loop, columns
from peers.measuring import PeerError
from peers.rules import rules
from peers.scenarios import Scenario, named
from peers.simulators import Ns2, Ns3, Retx, Simulator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "speed.md"
EXTRAS = ("rules", "instructions", "bare-loop", "columns")

Names = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="NAME",
        help="Scenarios whose names begin so, or what else is measured: "
        f"{', '.join(EXTRAS)}. Repeatable.",
    ),
]
Repeat = Annotated[int, typer.Option(min=1, help="Runs of each scenario by each simulator.")]
Peers = Annotated[
    str | None,
    typer.Option(help="Which simulators, separated by commas.", show_default="all that there are"),
]
Prefix = Annotated[
    Path | None,
    typer.Option(
        "--ns3-prefix",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="An ns-3 of your own, where `cmake --install` has put it: compared as ns3-native.",
    ),
]
Checkout = Annotated[
    Path | None,
    typer.Option(
        "--htsim",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="A checkout of csg-htsim in which its library is built: compared as htsim.",
    ),
]
Limit = Annotated[float, typer.Option(min=1, help="CPU seconds that a peer has for a run.")]
Command = Annotated[Path, typer.Option("--retx", help="The command retx.")]
Folder = Annotated[Path, typer.Option(help="Where the results go.")]
Docs = Annotated[bool, typer.Option("--docs", help=f"Put the tables into docs/{PAGE.name}, too.")]
Render = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", exists=True, dir_okay=False, help="Measure nothing; show these results."
    ),
]


def main(
    only: Names = None,
    repeat: Repeat = 5,
    peers: Peers = None,
    ns3_prefix: Prefix = None,
    htsim: Checkout = None,
    limit: Limit = 300.0,
    command: Command = Path(sys.executable).parent / "retx",
    out: Folder = ROOT / "bench" / "results",
    docs: Docs = False,
    render: Render = None,
) -> None:
    """Run retx and its peers on the same scenarios in turn, and compare their costs."""
    console = Console()
    if render is None:
        scenarios, extras = chosen(only or [])
        there_are = known(command, ns3_prefix, htsim)
        names = peers.split(",") if peers else list(there_are)
        simulators, versions = ready(names, there_are, console)
        if not simulators:
            raise typer.Exit(1)
        with tempfile.TemporaryDirectory() as folder:
            plan = Plan(simulators, repeat, limit, Path(folder))
            result = head(plan, versions)
            file = report.new_file(out, result["date"])
            for part in measure(plan, scenarios, extras, console):
                # Measured figures are kept even if a later part fails.
                result |= part
                report.write(result, file)
        console.print(f"Results: {file}")
    else:
        result = json.loads(render.read_text(encoding="utf-8"))
    report.show(result, console)
    if docs:
        report.put_into(PAGE, report.markdown(result))


def known(command: Path, ns3_prefix: Path | None, htsim: Path | None) -> dict[str, Simulator]:
    """All simulators, in the order of the tables."""
    folder = ROOT / "target" / "peers"
    every: list[Simulator] = [Ns2("ns2", lean=False), Ns2("ns2-lean", lean=True), Ns3(folder)]
    if ns3_prefix is not None:
        every.append(Ns3(folder, ns3_prefix))
    if htsim is not None:
        every.append(Htsim(folder, htsim))
    return {each.name: each for each in [*every, Retx(command)]}


def ready(
    names: list[str], known: dict[str, Simulator], console: Console
) -> tuple[list[Simulator], dict[str, str]]:
    """The available simulators and their versions; prints why the others are not available."""
    if unknown := [name for name in names if name not in known]:
        raise typer.BadParameter(f"{unknown[0]}: there are {', '.join(known)}")
    versions, simulators = {}, []
    for name in names:
        try:
            versions[name] = known[name].prepare()
        except PeerError as failure:
            console.print(f"Left out {name}: {failure}")
        else:
            simulators.append(known[name])
    return simulators, versions


def head(plan: Plan, versions: dict[str, str]) -> dict[str, Any]:
    """Header of the results: date, machine, versions and limits of the measurement."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": report.machine(),
        "versions": versions,
        "repeat": plan.repeat,
        "limit_s": plan.limit_s,
    }


def chosen(only: list[str]) -> tuple[list[Scenario], list[str]]:
    """The scenarios, and the additional measurements."""
    extras = [name for name in EXTRAS if not only or name in only]
    names = [name for name in only if name not in EXTRAS]
    if only and not names:
        return [], extras
    try:
        return named(names), extras
    except LookupError as error:
        raise typer.BadParameter(str(error)) from error


def measure(
    plan: Plan, scenarios: list[Scenario], extras: list[str], console: Console
) -> Iterator[dict[str, Any]]:
    """Makes all requested measurements, one after the other.

    Impossible ones are reported and skipped.
    """

    def say(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True)

    compared: list[dict[str, Any]] = []
    yield {"scenarios": compared}
    for scenario in scenarios:
        compared.append(compare(plan, scenario, say))
        yield {"scenarios": compared}
    if "instructions" in extras:
        for key, name in COUNTED.items():
            yield {key: count_instructions(plan, name, say)}
    others: dict[str, tuple[str, Callable[[], object]]] = {
        "rules": ("rules", lambda: rules(plan)),
        "bare-loop": ("bare_event_loop", bare_event_loop),
        "columns": ("columns", columns),
    }
    for name, (key, other) in others.items():
        if name in extras:
            try:
                yield {key: other()}
            except PeerError as failure:
                say(f"{name}: {failure}")


if __name__ == "__main__":
    typer.run(main)
