"""Emulations of a study's experiments: the kernel's own TCP next to the simulations.

Emulations require real time and a kernel that permits them. They begin with a study's simulations,
and their results are stored next to the report, in one file per point. A run whose packets left too
late is repeated, and left out if it fails again. If emulation is impossible and no results are
stored, the report says why. Lateness does not show how long hosts waited for a busy machine, so the
report also states the load of the machine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx._native import Control, EmulationRefusedError
from retx.comparing.emulations import Emulated, emulate_each
from retx.comparing.emulations import Plan as Emulating
from retx.files.directory import new_file
from retx.files.regular import read_regular
from retx.running.progress import Background, all_done
from retx.scenarios.parsed import parsed_scenario
from retx.study.data import StudyError
from retx.terminal.streams import show_status

if TYPE_CHECKING:
    from retx.study.measured import Measured

EMULATIONS = "emulations"
"""Name of the directory next to the report."""
LEFT_OUT = "left out by --emulations 0"
AT_ONCE = 4
"""Number of points emulated simultaneously. This is possible because the flows of studies are slow
and late runs are repeated."""
IDLE_LOAD = 1.0
"""Load per core, including that of the emulation, up to which no process waits long."""


@dataclass(frozen=True)
class Emulations:
    """Results of the emulations of a point."""

    summaries: list[dict[str, Any]] = field(default_factory=list)
    """Summaries of the valid emulations: flows, links and `emulation`."""
    left_out: int = 0
    """Number of emulations that were not valid at any attempt."""
    repeated: int = 0
    refused: str = ""
    """Reason why there are no emulations."""

    def values(self, quantity: str) -> list[float | None]:
        """A quantity of a flow in each emulation: `flow.NAME.COLUMN`.

        Raises:
            StudyError: Emulations have no such quantity.
        """
        kind, _, rest = quantity.partition(".")
        name, _, column = rest.rpartition(".")
        if kind != "flow":
            raise StudyError(
                f"{quantity}: emulations have only quantities of the form flow.NAME.COLUMN"
            )
        found = []
        for summary in self.summaries:
            rows = [flow for flow in summary["flows"] if flow["name"] == name]
            if not rows or column not in rows[0]:
                raise StudyError(f"no quantity {quantity!r} of an emulation")
            found.append(rows[0][column])
        return found


Outcome = dict[tuple[str, str], Emulations]
"""Emulations by experiment and case."""


class Emulator:
    """Emulates points of studies in the background; a context manager.

    The emulated links have real-time priority and wait most of the time, so that simulations can
    run meanwhile. If the `with` block ends by an exception, all emulations are cancelled.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._tasks: list[Background[Outcome]] = []

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        self._pool.shutdown()

    def begin(self, measured: Measured) -> Callable[[], Outcome]:
        """Begins the missing emulations of a study. Returns a function that waits for them.

        That function raises:
            OSError: The results cannot be stored.
            StudyError: One of the experiments cannot be run by a kernel.
        """
        # Keys are found here, because code of a study is loaded by one thread only. They depend on
        # everything that the results depend on, except the machine.
        cases = {
            (name, case): measured.whole.point(name, case, None).key
            for name, experiment in measured.study.experiments.items()
            if measured.plan.emulations_of(experiment)
            for case in experiment.cases
        }

        out = measured.directory(EMULATIONS)

        def work(control: Control) -> Outcome:
            def one(where: tuple[str, str]) -> Emulations:
                kept = out / f"{cases[where]}.json" if out else None
                return _case(measured, *where, kept, control)

            return dict(zip(cases, all_done(self._pool, one, list(cases)), strict=True))

        task = Background(work)
        self._tasks.append(task)
        task.start()

        def result() -> Outcome:
            _say(f"{len(cases)} emulations, at most {AT_ONCE} at once")
            try:
                return task.result()
            finally:
                _say("")

        return result


def _case(
    measured: Measured, experiment: str, case: str, kept: Path | None, control: Control
) -> Emulations:
    what, seed = measured.study.experiments[experiment], measured.plan.seed
    count = measured.plan.emulations_of(what)
    runs = _read(kept)[:count]
    missing = count - len(runs)
    if missing:
        scenario, code = parsed_scenario(
            measured.study.folder / what.scenario, seed, what.overrides(case)
        )
        plan = Emulating(missing, jobs=missing, first=len(runs))
        try:
            runs += [_kept(one) for one in emulate_each(control, scenario, code, plan)]
        except EmulationRefusedError as error:
            return Emulations(refused=str(error))
        _keep(kept, {"experiment": experiment, "case": case, "runs": runs})
    return Emulations(
        [run["summary"] for run in runs if run["summary"]],
        left_out=sum(run["summary"] is None for run in runs),
        repeated=sum(bool(run["faults"]) for run in runs),
    )


def _kept(one: Emulated) -> dict[str, Any]:
    if one.result is None:
        return {"summary": None, "faults": one.faults}
    summary = one.result.summary
    kept = {name: summary[name] for name in ("flows", "links", "emulation")}
    kept["machine"] = {"load": os.getloadavg()[0], "cores": os.cpu_count() or 1}
    return {"summary": kept, "faults": one.faults}


def _read(kept: Path | None) -> list[dict[str, Any]]:
    """Runs stored by an earlier call."""
    if kept is None or not kept.is_file():
        return []
    try:
        runs: list[dict[str, Any]] = json.loads(read_regular(kept))["runs"]
    except (ValueError, KeyError, TypeError) as error:
        raise StudyError(
            f"{kept}: not a file that a study has written ({error}): delete it"
        ) from None
    return runs


def _keep(kept: Path | None, what: dict[str, Any]) -> None:
    if kept is None:
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    with new_file(kept) as file:
        file.write_text(json.dumps(what) + "\n", encoding="utf-8")


def account(found: Mapping[str, Emulations]) -> str:
    """Note for a table: how the emulations of an experiment, given by case, were made."""
    refusals = dict.fromkeys(one.refused for one in found.values() if one.refused)
    not_done = [f"Not emulated here: {why}." for why in refusals]
    return " ".join([*_done(list(found.values())), *not_done])


def _done(found: list[Emulations]) -> Iterator[str]:
    summaries = [summary for one in found for summary in one.summaries]
    if not summaries and not any(one.left_out for one in found):
        return
    accounts = [summary["emulation"] for summary in summaries]
    kernels = " and ".join(sorted({account["kernel"] for account in accounts}))
    late = max((account["lateness"]["p99_s"] or 0 for account in accounts), default=0)
    yield (
        f"Emulated: {len(summaries)} runs with Linux {kernels}; at the worst, one packet in a "
        f"hundred left {1000 * late:.2g} ms late."
    )
    loads = [summary["machine"]["load"] / summary["machine"]["cores"] for summary in summaries]
    if max(loads, default=0) > IDLE_LOAD:
        yield (
            f"The machine was busy, with up to {max(loads):.1f} processes for each core: hosts "
            "that wait for a core make transfers longer."
        )
    if repeated := sum(one.repeated for one in found):
        yield f"Late, and repeated with the same draws: {repeated}."
    if left_out := sum(one.left_out for one in found):
        yield f"Late each time, and left out: {left_out}."


def _say(what: str) -> None:
    """Prints progress to a terminal."""
    if sys.stderr.isatty():
        show_status(what)
