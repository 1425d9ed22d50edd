"""All studies in quick form, as `retx study all --quick` runs them, and what each report owes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import FEWER, QuickReports
from repository import ROOT
from small_study import write_study

from retx.study import Plan, Report, Verdict, load, reproduce
from retx.study.index import NAME, check_index, write_index
from retx.study.set_up import at_set_up
from retx.study.shipped import names
from retx.study.verdicts import Judged

COMPUTED = ("arithmetic", "undecidable")
"""Rules that need no run: numbers of the paper's own, and what its text does not say."""
FOLDED = ("details", "svg", "style", "script")
"""Parts of a page that nobody reads before unfolding them, or that are no text."""
PAPERS = [name for name in names() if name != "atlas"]
"""Studies of one paper."""
MOST_UNFOLDED = 6000
MOST_OF_A_REASON = 60
"""Words of a report, and of a reason for what differs."""


def everything(report: Report) -> list[Judged]:
    return [*(line for lines in report.rows.values() for line in lines), *report.claims]


@pytest.mark.parametrize("name", names())
def test_every_verdict_has_its_figure_interval_and_command(
    quick_reports: QuickReports, name: str
) -> None:
    for line in everything(quick_reports[name]):
        where = f"{name}: {line.id}"
        assert line.claim.how, where
        if line.claim.rule == "undecidable":
            continue
        assert line.measured is not None, f"{where}: no run has a value"
        chance = line.measured.n > 1 and line.measured.interval is None
        assert not chance, f"{where}: {line.measured.n} runs and no interval"
        assert line.command or line.claim.rule in COMPUTED or line.measured.n == 1, (
            f"{where}: command"
        )


@pytest.mark.parametrize("name", names())
def test_whatever_does_not_agree_says_why(quick_reports: QuickReports, name: str) -> None:
    for line in everything(quick_reports[name]):
        if line.verdict not in (Verdict.AGREES, Verdict.UNSETTLED):
            assert line.because.strip(), f"{name}: {line.id} {line.verdict.value}, because …?"


@pytest.mark.parametrize("name", PAPERS)
def test_a_reason_is_short(quick_reports: QuickReports, name: str) -> None:
    for line in everything(quick_reports[name]):
        if line.verdict is Verdict.DIFFERS:
            count = len(re.sub(r"<[^>]+>", " ", line.because).split())
            assert count <= MOST_OF_A_REASON, f"{name}: {line.id}: {count} words"


class Unfolded(HTMLParser):
    """Words of a page that a reader sees without unfolding anything."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words = 0
        self.inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FOLDED:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in FOLDED:
            assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.words += len(data.split())


def test_words_in_folds_are_not_counted() -> None:
    page = "<style>a b</style><p>one <b>two</b></p><details>x<details>y</details>z</details>three"
    assert Unfolded(page).words == 3


@pytest.mark.parametrize("name", PAPERS)
def test_a_report_can_be_read(quick_reports: QuickReports, name: str) -> None:
    words = Unfolded(quick_reports[name].page.read_text(encoding="utf-8")).words
    assert words <= MOST_UNFOLDED, f"{name}: {words} words unfolded"


@pytest.mark.parametrize("name", names())
def test_the_summary_has_every_verdict(quick_reports: QuickReports, name: str) -> None:
    report = quick_reports[name]
    summary: dict[str, Any] = json.loads((report.folder / "summary.json").read_text())
    assert [line["id"] for line in summary["verdicts"]] == [line.id for line in everything(report)]
    assert (summary["study"], summary["form"]) == (name, "quick")


@pytest.mark.parametrize("name", PAPERS)
def test_the_readme_has_the_verdicts_of_the_quick_report(
    quick_reports: QuickReports, name: str, tmp_path: Path
) -> None:
    if name in FEWER:
        plan = Plan("quick", emulations=0)
        report = reproduce(at_set_up(load(name), None, plan, tmp_path), plan, tmp_path / name)
    else:
        report = quick_reports[name]
    kinds = (Verdict.AGREES, Verdict.UNSETTLED, Verdict.DIFFERS, Verdict.CONTRADICTS)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| \[`{name}`\].* \| ([\d /]+) \|$", readme, re.MULTILINE)
    assert rows == [" / ".join(str(report.tally[kind]) for kind in kinds)]


class Links(HTMLParser):
    """Collects the links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.to += [value or "" for key, value in attrs if tag == "a" and key == "href"]


def test_a_page_leads_to_all_reports(tmp_path: Path) -> None:
    reports = []
    for name in ("first", "second"):
        study = load(write_study(tmp_path / "studies" / name))
        reports.append(reproduce(study, Plan("quick"), tmp_path / name))
    page = write_index(tmp_path, reports)
    text = page.read_text(encoding="utf-8")
    assert Links(text).to == ["first/report.html", "second/report.html"]
    assert all((tmp_path / link).is_file() for link in Links(text).to)
    for report in reports:
        assert report.study.title in text
    # Written again it gives way.
    write_index(tmp_path, reports)


def test_a_page_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("<title>mine</title>")
    with pytest.raises(FileExistsError, match="retx did not write it"):
        check_index(tmp_path)
    assert (tmp_path / NAME).read_text() == "<title>mine</title>"
