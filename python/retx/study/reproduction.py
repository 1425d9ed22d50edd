"""Runs a study and writes its report."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import retx
from retx.plots.drawing import drawn
from retx.study.chance import chance_of
from retx.study.claims import USES, Claim, Row
from retx.study.data import located
from retx.study.drawn_figures import drawn_figures
from retx.study.emulated import Emulator
from retx.study.estimates import Estimate
from retx.study.filled_tables import filled_tables
from retx.study.judging import measured_value
from retx.study.library import Study
from retx.study.measured import Measured
from retx.study.page import Writer
from retx.study.place import check_ours, report_directory
from retx.study.places import Place
from retx.study.rehearsal import check_names
from retx.study.rules import judge
from retx.study.runs import Plan
from retx.study.tables import Table, comparison, write_csv
from retx.study.verdicts import Finding, Judged, Tally, Verdict


@dataclass(frozen=True)
class Report:
    """Written report."""

    study: Study
    plan: Plan
    folder: Path
    tables: dict[str, Table]
    rows: dict[str, list[Judged]]
    """Verdicts on rows, by the id of their claim."""
    claims: list[Judged]

    @property
    def everything(self) -> list[Judged]:
        """All verdicts, first on rows, then on claims."""
        return [*(line for lines in self.rows.values() for line in lines), *self.claims]

    @property
    def tally(self) -> Tally:
        """Numbers of verdicts."""
        return Tally.of(self.everything)

    @property
    def page(self) -> Path:
        """The HTML file."""
        return self.folder / "report.html"


def begin(study: Study, plan: Plan, folder: Path, emulator: Emulator) -> Measured:
    """Checks the directory of a report, and begins the emulations of a study.

    Args:
        study: The study to reproduce.
        plan: Extent of the runs.
        folder: Directory of the report.
        emulator: Makes the emulations, while other studies may be reproduced.

    Raises:
        OSError: The directory cannot be written, or holds something else.
        StudyError: A file of the study is wrong.
    """
    folder = folder.resolve()
    check_ours(folder)
    measured = Measured(study, plan, folder)
    check_names(measured)
    measured.begin_emulations(emulator)
    return measured


def reproduce(study: Study, plan: Plan, folder: Path) -> Report:
    """Runs every experiment and writes the report.

    Results of runs are stored next to it, in `runs`: an interrupted reproduction continues, and
    stored runs are not repeated if more replications are requested.

    Args:
        study: The study to reproduce.
        plan: Extent of the runs.
        folder: Directory of the report; an earlier report there is replaced at the end.

    Raises:
        OSError: The directory cannot be written, or holds something else.
        UsageError: The same study is under way there.
        StudyError: A file of the study is wrong.
    """
    with Emulator() as emulator:
        return finish(begin(study, plan, folder, emulator))


def finish(measured: Measured) -> Report:
    """As `reproduce`, after `begin`."""
    study, plan, folder = measured.study, measured.plan, measured.home
    assert folder, "`begin` has set it"
    measured.run_all()
    with report_directory(folder) as directory:
        tables = {it.id: it for it in filled_tables(measured)}
        figures = {it.id: it for it in drawn_figures(measured)}
        known = {name: it for name, it in measured.values.items() if it is not None}
        writer = Writer(measured, known)
        rows: dict[str, list[Judged]] = {it.id: [] for it in study.rows}
        claims: list[Judged] = []
        for claim in study.claims:
            lines = rows[claim.rows.id] if isinstance(claim, Row) else claims
            lines.append(_judged(claim, measured, writer))
        of_rows = {it.id: comparison(it, rows[it.id], measured) for it in study.rows}
        report = Report(study, plan, folder, of_rows | tables, rows, claims)
        page = writer.page(report, drawn(figures, plan.threads))
        _write(directory, report, page, measured)
    return report


def _judged(claim: Claim, measured: Measured, writer: Writer) -> Judged:
    """A claim with its verdict and the reasons for it."""
    study, criterion = measured.study, measured.study.criterion(claim)
    here = f"{study.folder / 'claims.toml'}: {claim.id}"
    with located(here):
        finding = judge(criterion, measured_value(measured, claim))
    row = isinstance(claim, Row)
    return Judged(
        claim,
        finding,
        criterion.target.value if criterion.target else None,
        because=writer.text(claim.because, f"{here}.because"),
        remark=writer.text(claim.remark, f"{here}.remark"),
        switched=_labels(study, claim.switched),
        command=_command(claim, measured),
        case=study.experiments[claim.experiment].cases[claim.case].label if row else "",
        reach=_reach(study, claim.id, finding),
    )


def _labels(study: Study, runs: list[str]) -> tuple[str, ...]:
    """Labels of runs for readers: title of each experiment, and labels of its cases."""
    cases: dict[str, list[str]] = {}
    for name, _, case in (run.partition("/") for run in runs):
        cases.setdefault(name, []).append(study.experiments[name].cases[case].label)
    return tuple(
        f"{study.experiments[name].title} ({' · '.join(found)})" for name, found in cases.items()
    )


def _reach(study: Study, claim: str, finding: Finding) -> dict[str, Any]:
    """Findings of the search on a claim that does not agree; empty if unknown."""
    if study.set_up_choice is None or finding.verdict not in (Verdict.UNSETTLED, Verdict.DIFFERS):
        return {}
    return study.set_up_choice.reach(claim)


def _command(claim: Claim, measured: Measured) -> str:
    """Command that repeats the runs of a claim; empty without runs."""
    if not claim.experiment:
        return ""
    return Place(measured, claim.experiment, claim.case, claim.at).command()


def _write(directory: Path, report: Report, page: str, measured: Measured) -> None:
    (directory / "report.html").write_text(page, encoding="utf-8")
    (directory / "tables").mkdir()
    for table in report.tables.values():
        write_csv(table, directory / "tables" / f"{table.id}.csv")
    (directory / "scenarios").mkdir()
    for name in report.study.scenarios():
        shutil.copyfile(report.study.folder / name, directory / "scenarios" / name)
    # The next report replaces only the files in this list.
    written = sorted(path.relative_to(directory).as_posix() for path in directory.glob("*/*"))
    content = _summary(report, measured) | {"files": written}
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    (directory / "summary.json").write_text(text + "\n", encoding="utf-8")


def _summary(report: Report, measured: Measured) -> dict[str, Any]:
    """The verdicts, for programs."""
    everything = report.everything
    return {
        "study": report.study.name,
        "version": retx.__version__,
        "form": report.plan.form,
        "seed": report.plan.seed,
        "tally": Tally.of(everything).figures(),
        "by_use": {
            use: Tally.of(line for line in everything if line.claim.use == use).figures()
            for use in USES
        },
        "chance": chance_of(everything),
        "verdicts": [
            {
                "id": line.id,
                "verdict": line.verdict.value,
                "published": line.published,
                "measured": _finite(line.measured.mean) if line.measured else None,
                "interval": _ends(line.measured),
                "runs": line.measured.n if line.measured else 0,
                "unit": line.unit,
                "said": line.finding.said,
                "use": line.claim.use,
                "shown_not_counted": line.shown,
                "settled": line.verdict is not Verdict.UNSETTLED,
                "runs_to_settle": line.doubt.runs if line.doubt else None,
                "command": line.command,
                "switched": list(line.switched),
            }
            for line in everything
        ],
    }


def _ends(found: Estimate | None) -> list[float | None] | None:
    if not found or not found.interval:
        return None
    return [_finite(found.interval.low), _finite(found.interval.high)]


def _finite(value: float) -> float | None:
    """A number that JSON can say."""
    return value if isfinite(value) else None
