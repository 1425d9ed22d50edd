"""Runs a study and writes its report."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import retx
from retx.plots.drawing import drawn
from retx.study.alike import row_estimate
from retx.study.chance import chance_of
from retx.study.claims import USES, Claim, Rows
from retx.study.data import StudyError, unknown
from retx.study.drawn_figures import drawn_figures
from retx.study.emulated import Emulator
from retx.study.estimates import Estimate
from retx.study.filled_tables import filled_tables
from retx.study.library import Study
from retx.study.measured import Measured, Plan
from retx.study.measures import Found
from retx.study.page import Writer
from retx.study.place import check_ours, report_directory
from retx.study.reasons import labels, of_case
from retx.study.rehearsal import check_names
from retx.study.rules import judge
from retx.study.runs import RUNS
from retx.study.tables import Table, comparison, write_csv
from retx.study.verdicts import Finding, Judged, Tally, Verdict, doubt


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


@dataclass(frozen=True)
class Begun:
    """Reproduction of a study whose emulations have begun."""

    study: Study
    measured: Measured
    folder: Path


def begin(study: Study, plan: Plan, folder: Path, emulator: Emulator) -> Begun:
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
    measured = Measured(study, plan)
    check_names(measured)
    measured.begin_emulations(emulator, folder / RUNS)
    return Begun(study, measured, folder)


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


def finish(begun: Begun) -> Report:
    """As `reproduce`, after `begin`."""
    measured, folder = begun.measured, begun.folder
    study, plan = begun.study, measured.plan
    measured.run_all(folder / RUNS)
    with report_directory(folder) as directory:
        values = measured.study.declared.computed(measured)
        tables = {it.id: it for it in filled_tables(measured, values)}
        figures = {it.id: it for it in drawn_figures(measured, values)}
        known = {name: it for name, it in values.items() if it is not None}
        writer = Writer(measured, known)
        rows, of_rows = _judge_rows(measured, writer)
        claims = [_judge(claim, measured, values, writer) for claim in study.claims]
        report = Report(study, plan, folder, of_rows | tables, rows, claims)
        page = writer.page(report, drawn(figures, plan.threads))
        _write(directory, report, page, measured)
    return report


def _judge_rows(
    measured: Measured, writer: Writer
) -> tuple[dict[str, list[Judged]], dict[str, Table]]:
    judged: dict[str, list[Judged]] = {}
    tables = {}
    for rows in measured.study.rows:
        series = measured.study.published.series[rows.published]
        here = f"{measured.study.folder / 'claims.toml'}: {rows.id}"
        lines = []
        for case in series.values:
            target = series.target(case)
            assert target is not None
            found = row_estimate(measured, rows, case)
            finding = judge(rows.criterion(target), found)
            because = writer.text(of_case(rows.because, case, ""), f"{here}.because.{case}")
            switched = of_case(rows.switched, case, [])
            own = _judged(measured, rows, finding, f"{rows.id} {case}", because, switched)
            lines.append(
                replace(
                    own,
                    source=series.source,
                    how=rows.quantity,
                    published=target.value,
                    unit=series.unit,
                    command=measured.command(rows.experiment, case),
                    case=measured.study.experiments[rows.experiment].cases[case].label,
                )
            )
        judged[rows.id] = lines
        tables[rows.id] = comparison(rows, lines, measured)
    return judged, tables


def _judge(claim: Claim, measured: Measured, values: dict[str, Found], writer: Writer) -> Judged:
    here = f"{measured.study.folder / 'claims.toml'}: {claim.id}"
    if claim.measured and claim.measured not in values:
        raise StudyError(f"{here}: measured: {unknown('value', claim.measured, values)}")
    criterion = measured.study.criterion(claim)
    try:
        finding = judge(criterion, values.get(claim.measured))
    except StudyError as error:
        raise StudyError(f"{here}: {error}") from None
    because = writer.text(claim.because, f"{here}.because")
    return replace(
        _judged(measured, claim, finding, claim.id, because, claim.switched),
        source=claim.source,
        how=claim.how,
        published=criterion.target.value if criterion.target else None,
        unit=finding.unit or claim.unit,
        remark=writer.text(claim.remark, f"{here}.remark"),
        rule=claim.rule,
        command=_command(claim, measured),
        ours=claim.ours,
    )


def _judged(
    measured: Measured,
    claim: Claim | Rows,
    finding: Finding,
    name: str,
    because: str,
    switched: list[str],
) -> Judged:
    """Parts of a verdict that claims and rows have in common."""
    unsettled = finding.verdict is Verdict.UNSETTLED
    return Judged(
        name,
        claim.statement,
        "",
        "",
        finding.verdict,
        None,
        finding.measured,
        why=claim.why,
        because=because,
        switched=labels(measured.study, switched),
        bounds=finding.bounds,
        doubt=doubt(finding.bounds, finding.measured) if unsettled else None,
        said=finding.said,
        miss=finding.miss,
        use=claim.use,
        shown=_shown(claim, finding),
        reach=_reach(measured.study, name, finding),
    )


def _reach(study: Study, claim: str, finding: Finding) -> str:
    """Sentence on whether a trial satisfied a claim that does not agree; empty if unknown."""
    if study.set_up_choice is None or finding.verdict not in (Verdict.UNSETTLED, Verdict.DIFFERS):
        return ""
    return study.set_up_choice.reach(claim)


def _shown(claim: Claim | Rows, finding: Finding) -> str:
    """Reason why a claim is shown but not counted."""
    if claim.part_of:
        return f"part of {claim.part_of}"
    arithmetic = isinstance(claim, Claim) and claim.rule == "arithmetic"
    if arithmetic and finding.verdict is Verdict.AGREES:
        return "consistent"
    return claim.counts


def _command(claim: Claim, measured: Measured) -> str:
    """Command that repeats the runs of a claim; empty without runs."""
    if not claim.experiment:
        return ""
    return measured.command(claim.experiment, claim.case, at=claim.at)


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
            use: Tally.of(line for line in everything if line.use == use).figures()
            for use in USES
            if use
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
                "said": line.said,
                "use": line.use,
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
