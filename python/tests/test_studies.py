"""All studies in quick form, as `retx study all --quick` runs them, and what each report owes."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from retx.study import Plan, Report, Verdict, load, reproduce
from retx.study.index import NAME, check_index, write_index
from retx.study.library import names
from retx.study.verdicts import Judged

COMPUTED = ("arithmetic", "undecided")
"""Rules that need no run: numbers of the paper's own, and what its text does not say."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def reports(home: Path) -> dict[str, Report]:
    """Made once; emulations need real time and an idle machine, and have tests of their own."""
    plan = Plan("quick", emulations=0)
    return {name: reproduce(load(name), plan, home / name) for name in names()}


def everything(report: Report) -> list[Judged]:
    return [*(line for lines in report.rows.values() for line in lines), *report.claims]


@pytest.mark.parametrize("name", names())
def test_every_verdict_has_its_figure_interval_and_command(
    reports: dict[str, Report], name: str
) -> None:
    for line in everything(reports[name]):
        where = f"{name}: {line.id}"
        assert line.how, where
        if line.rule == "undecided":
            continue
        assert line.measured is not None, f"{where}: no run has a value"
        chance = line.measured.n > 1 and line.measured.interval is None
        assert not chance, f"{where}: {line.measured.n} runs and no interval"
        assert line.command or line.rule in COMPUTED or line.measured.n == 1, f"{where}: command"


@pytest.mark.parametrize("name", names())
def test_whatever_does_not_agree_says_why(reports: dict[str, Report], name: str) -> None:
    for line in everything(reports[name]):
        if line.verdict is not Verdict.AGREES:
            assert line.because.strip(), f"{name}: {line.id} {line.verdict.value}, because …?"


@pytest.mark.parametrize("name", names())
def test_the_summary_has_every_verdict(reports: dict[str, Report], name: str) -> None:
    report = reports[name]
    summary: dict[str, Any] = json.loads((report.folder / "summary.json").read_text())
    assert [line["id"] for line in summary["verdicts"]] == [line.id for line in everything(report)]
    assert (summary["study"], summary["form"]) == (name, "quick")


class Links(HTMLParser):
    """Where a page leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.to += [value or "" for key, value in attrs if tag == "a" and key == "href"]


def test_a_page_leads_to_all_reports(reports: dict[str, Report], home: Path) -> None:
    page = write_index(home, list(reports.values()))
    text = page.read_text(encoding="utf-8")
    assert Links(text).to == [f"{name}/report.html" for name in reports]
    assert all((home / link).is_file() for link in Links(text).to)
    for report in reports.values():
        assert report.study.title in text
    # Written again it gives way.
    write_index(home, list(reports.values()))


def test_a_page_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("<title>mine</title>")
    with pytest.raises(FileExistsError, match="retx did not write it"):
        check_index(tmp_path)
    assert (tmp_path / NAME).read_text() == "<title>mine</title>"
