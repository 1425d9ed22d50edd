"""Runs a study and writes its report."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import retx
from retx.study.chance import chance_of
from retx.study.data import StudyError
from retx.study.estimates import Estimate, exact
from retx.study.figures import Figure
from retx.study.library import Claim, Study
from retx.study.measured import Measured, Plan
from retx.study.page import Writer
from retx.study.place import check_ours, report_directory
from retx.study.runs import RUNS
from retx.study.switched import labels, of_case
from retx.study.tables import Table, comparison, write_csv
from retx.study.verdicts import Judged, bounds_of, doubt, judge, judge_row


@dataclass(frozen=True)
class Report:
    """A report, written."""

    study: Study
    plan: Plan
    folder: Path
    tables: dict[str, Table]
    rows: dict[str, list[Judged]]
    """Verdicts on rows, by the id of the claim of several rows."""
    claims: list[Judged]

    @property
    def page(self) -> Path:
        """The HTML file."""
        return self.folder / "report.html"


@dataclass(frozen=True)
class Computed:
    """Values, tables and figures that the study's own functions compute from the runs."""

    values: dict[str, Estimate]
    tables: dict[str, Table]
    figures: dict[str, Figure]


def reproduce(study: Study, plan: Plan, folder: Path) -> Report:
    """Runs every experiment and writes the report.

    What is found is kept beside it, in `runs`: broken off, the same goes on where it was, and with
    more replications those that are there are not run again.

    Args:
        study: What to reproduce.
        plan: How thoroughly.
        folder: Becomes the report's directory; an earlier report there gives way at the end.

    Raises:
        OSError: The directory cannot be written, or holds something else.
        UsageError: The same study is under way there.
        StudyError: A file of the study is wrong.
    """
    module = _module(study)
    folder = folder.resolve()
    check_ours(folder)
    measured = Measured(study, plan, derive=getattr(module, "quantities", None))
    measured.run_all(folder / RUNS)
    with report_directory(folder) as directory:
        computed = _compute(module, measured)
        writer = Writer(measured, computed.values)
        rows, tables = _judge_rows(measured, writer)
        tables |= computed.tables
        claims = [_judge(claim, measured, computed.values, writer) for claim in study.claims]
        report = Report(study, plan, folder, tables, rows, claims)
        page = writer.page(report, computed.figures)
        _write(directory, report, page, measured)
    return report


def _module(study: Study) -> ModuleType:
    """The study's figures.py, as a package, so that it can import files beside it."""
    path = study.folder / "figures.py"
    if not path.is_file():
        raise StudyError(f"{path}: a study needs this file")
    name = f"retx_study_{study.name.replace('-', '_')}"
    spec = spec_from_file_location(name, path, submodule_search_locations=[str(study.folder)])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]  # of another folder of the same name
    sys.modules[name] = module
    # The folder may be read-only, and is no place for caches.
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    for function in ("values", "tables", "figures"):
        if not callable(getattr(module, function, None)):
            raise StudyError(f"{path}: needs a function `{function}(measured)`")
    return module


def _compute(module: ModuleType, measured: Measured) -> Computed:
    values = {
        name: value if isinstance(value, Estimate) else exact(value)
        for name, value in module.values(measured).items()
        if value is not None
    }
    return Computed(
        values,
        {table.id: table for table in module.tables(measured)},
        {figure.id: figure for figure in module.figures(measured)},
    )


def _judge_rows(
    measured: Measured, writer: Writer
) -> tuple[dict[str, list[Judged]], dict[str, Table]]:
    judged: dict[str, list[Judged]] = {}
    tables = {}
    for rows in measured.study.rows:
        series = measured.study.published.series[rows.published]
        lines = []
        for case in series.values:
            published = series.comparable(case)
            assert published is not None
            found = measured.estimate(rows.experiment, case, rows.quantity)
            lines.append(
                Judged(
                    id=f"{rows.id} {case}",
                    statement=rows.statement,
                    source=series.source,
                    how=rows.quantity,
                    verdict=judge_row(rows, published, found),
                    published=published,
                    measured=found,
                    unit=series.unit,
                    why=rows.why,
                    because=writer.text(of_case(rows.because, case, "")),
                    switched=labels(measured.study, of_case(rows.switched, case, [])),
                    command=measured.command(rows.experiment, case),
                    case=measured.study.experiments[rows.experiment].cases[case].label,
                )
            )
        judged[rows.id] = lines
        tables[rows.id] = comparison(rows, lines, measured)
    return judged, tables


def _judge(claim: Claim, measured: Measured, values: dict[str, Estimate], writer: Writer) -> Judged:
    if claim.measured and claim.measured not in values:
        raise StudyError(
            f"claims.toml: {claim.id}: figures.py computes no value {claim.measured!r}"
        )
    found = values.get(claim.measured)
    published = measured.study.published_number(claim)
    return Judged(
        id=claim.id,
        statement=claim.statement,
        source=claim.source,
        how=claim.how,
        verdict=judge(claim, published, found),
        published=published,
        measured=found,
        unit=claim.unit,
        why=claim.why,
        because=writer.text(claim.because),
        switched=labels(measured.study, claim.switched),
        remark=writer.text(claim.remark),
        rule=claim.rule,
        command=_command(claim, measured),
        bounds=bounds_of(claim, published),
        doubt=doubt(bounds_of(claim, published), found),
    )


def _command(claim: Claim, measured: Measured) -> str:
    """Command that runs a claim again; empty where nothing was run."""
    if not claim.experiment:
        return ""
    varied = measured.sweep(claim.experiment).keys
    for key in claim.at:
        if key not in varied:
            raise StudyError(
                f"claims.toml: {claim.id}: at: {key!r} does not vary in {claim.experiment} "
                f"({', '.join(varied)} do)"
            )
    return measured.command(claim.experiment, claim.case, at=claim.at)


def _write(directory: Path, report: Report, page: str, measured: Measured) -> None:
    (directory / "report.html").write_text(page, encoding="utf-8")
    (directory / "tables").mkdir()
    for table in report.tables.values():
        write_csv(table, directory / "tables" / f"{table.id}.csv")
    (directory / "scenarios").mkdir()
    for name in report.study.scenarios():
        shutil.copyfile(report.study.folder / name, directory / "scenarios" / name)
    text = json.dumps(_summary(report, measured), indent=2, ensure_ascii=False, allow_nan=False)
    (directory / "summary.json").write_text(text + "\n", encoding="utf-8")


def _summary(report: Report, measured: Measured) -> dict[str, Any]:
    """The verdicts, for programs."""
    everything = [*(line for lines in report.rows.values() for line in lines), *report.claims]
    return {
        "study": report.study.name,
        "version": retx.__version__,
        "form": report.plan.form,
        "seed": report.plan.seed,
        "chance": chance_of(everything),
        "verdicts": [
            {
                "id": line.id,
                "verdict": line.verdict.value,
                "published": line.published,
                "measured": line.measured.mean if line.measured else None,
                "interval": _ends(line.measured),
                "runs": line.measured.n if line.measured else 0,
                "settled": line.doubt is None,
                "runs_to_settle": line.doubt.runs if line.doubt else None,
                "command": line.command,
                "switched": list(line.switched),
            }
            for line in everything
        ],
    }


def _ends(found: Estimate | None) -> list[float] | None:
    return [found.interval.low, found.interval.high] if found and found.interval else None
