"""A study in quick form, and what judges it."""

from __future__ import annotations

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import QuickReports
from polars.testing import assert_frame_equal
from small_study import write_guide, write_study

from retx.cli.study import command
from retx.study import (
    Interval,
    Plan,
    Report,
    Verdict,
    estimate,
    exact,
    load,
    reproduce,
)
from retx.study.claims import of_case
from retx.study.data import StudyError
from retx.study.estimates import by_rank, paired_difference, paired_ratio
from retx.study.library import find
from retx.study.measured import Measured
from retx.study.shipped import names


@pytest.fixture(scope="module")
def report(quick_reports: QuickReports) -> Report:
    return quick_reports["high-ber"]


def table(report: Report, name: str) -> list[dict[str, str]]:
    with (report.folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_row_without_loss_is_exact(report: Report) -> None:
    """The server sends SYN/ACK, 6850 segments, FIN and an ACK, none of them twice."""
    time, resent, frames = (table(report, name)[0] for name in ("T4", "T5", "T6"))
    assert abs(float(time["measured_s"]) - 50.21) <= 0.3
    assert float(resent["measured_packets"]) == 0
    assert float(frames["measured_frames"]) == 6853
    # One run says all: nothing here is left to chance.
    assert (time["measured_s_n"], time["measured_s_low"], time["verdict"]) == ("1", "", "agrees")
    assert {time["verdict"], resent["verdict"], frames["verdict"]} == {"agrees"}


def test_rows_with_loss_have_intervals(report: Report) -> None:
    for name, key in (("T4", "measured_s"), ("T5", "measured_packets"), ("T6", "measured_frames")):
        rows = table(report, name)
        assert [row["case"] for row in rows] == ["0 %", "0.01 %", "0.1 %", "1 %", "10 %"]
        for row in rows[1:]:
            assert float(row[f"{key}_low"]) <= float(row[key]) <= float(row[f"{key}_high"])
            assert int(row[f"{key}_n"]) == report.study.experiments["drop"].replications["quick"]
        # Each tenfold loss makes it worse, far beyond what chance does.
        means = [float(row[key]) for row in rows[1:]]
        assert means == sorted(means)
        assert all(row["command"].startswith("retx run scenarios/") for row in rows)


def test_the_terms_add_up_to_the_download(report: Report) -> None:
    *terms, total = table(report, "terms")
    assert sum(float(term["switched_s"]) for term in terms) == pytest.approx(
        float(total["together_s"]), abs=1e-9
    )
    for term in terms:
        # Closed form and switch differ where delayed ACKs cost slow start a round of 44 ms.
        assert float(term["computed_s"]) == pytest.approx(float(term["switched_s"]), abs=0.045)
    assert float(total["together_s"]) == pytest.approx(50.16, abs=0.01)


def test_one_loss_is_followed_by_table_9(report: Report) -> None:
    rows = table(report, "T9")
    # Our windows are whole bytes: each step rounds.
    assert all(abs(float(row["measured_bytes"]) - float(row["formula_bytes"])) < 1 for row in rows)
    assert [row["step"] for row in rows if row["verdict"] != "agrees"] == ["6"]
    found = {claim.id: claim for claim in report.claims}
    assert found["three-mss"].measured == exact(4380)
    assert found["fast-retransmit"].verdict is Verdict.AGREES
    assert found["table-9-step-6"].verdict is Verdict.CONTRADICTS


def test_every_claim_has_a_verdict_and_says_why(report: Report) -> None:
    study = report.study
    assert [line.id for line in report.everything] == [claim.id for claim in study.claims]
    assert {claim.verdict for claim in report.claims} >= set(Verdict) - {Verdict.UNSETTLED}
    for claim in report.claims:
        assert claim.claim.how
        if claim.verdict not in (Verdict.AGREES, Verdict.UNSETTLED):
            assert claim.because, f"{claim.id} {claim.verdict.value}, because …?"
    summary = json.loads((report.folder / "summary.json").read_text())
    rows = sum(len(lines) for lines in report.rows.values())
    assert len(summary["verdicts"]) == rows + len(report.claims)
    assert (summary["seed"], summary["form"]) == (1, "quick")


def test_one_switch_at_a_time_shares_the_draws(report: Report) -> None:
    """Timer settings change no draw: so the paired interval is far narrower than each one's own."""
    row = next(row for row in table(report, "switches") if "granularity" in row["case"])
    paired = float(row["difference_s_high"]) - float(row["difference_s_low"])
    own = float(row["measured_s_high"]) - float(row["measured_s_low"])
    assert paired < own / 5


class Page(HTMLParser):
    """Collects the references and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.open: list[str] = []
        self.anchors: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        if tag == "img":
            self.images.append(given)
        if given.get("id"):
            assert given["id"] not in self.anchors, "an anchor stands once"
            self.anchors[given["id"]] = tag
        self.references += [value or "" for key, value in attrs if key in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone(report: Report) -> None:
    text = report.page.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    within = ("data:image/svg+xml;base64,", "data:image/png;base64,", "#")
    outside = [it for it in page.references if not it.startswith(within)]
    assert outside == [report.study.paper.url]
    assert not re.search(r"url\(|@import|<script|<link", text)
    # Eleven pictures, and the thumbnails of three of them.
    assert len(page.images) == 14
    assert all(image["alt"] for image in page.images)
    for name in ("timer_granularity", "initial_ssthresh", "drop_seq"):
        assert name in text, "the scenario stands in the report with every value"
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text).lower().split()


def test_the_contents_lead_to_every_part(report: Report) -> None:
    text = report.page.read_text(encoding="utf-8")
    page = Page(text)
    contents = text.partition('<nav aria-label="Contents">')[2].partition("</nav>")[0]
    listed = [it.removeprefix("#") for it in Page(contents).references]
    assert listed == [anchor for anchor, tag in page.anchors.items() if tag == "h2"]
    assert len(listed) == 14
    linked = {it.removeprefix("#") for it in page.references if it.startswith("#")}
    assert linked <= page.anchors.keys()


def test_commands_and_ranges_do_not_break_within(report: Report) -> None:
    text = report.page.read_text(encoding="utf-8")
    row = next(row for row in table(report, "T4") if row["case"] == "1 %")
    assert f'<span class="range">{float(row["single_s_low"]):.2f}' in text
    commands = re.findall(r"<code>(retx run .*?)</code>", text)
    assert any('<span class="option">--set</span> ' in command for command in commands)
    assert not any(re.search(r"(?<!>)--", command) for command in commands)


def test_the_same_seed_gives_the_same_numbers() -> None:
    study = load("high-ber")
    tables = []
    for threads in (1, 2):
        measured = Measured(
            study, Plan("quick", seed=5, replications=3, threads=threads, emulations=0)
        )
        measured.run_all()
        tables.append([measured.sweep(name).flows for name in study.experiments])
    for one, two in zip(*tables, strict=True):
        assert_frame_equal(one, two)


def test_an_earlier_report_gives_way_and_nothing_else(tmp_path: Path) -> None:
    study, plan = load(str(write_study(tmp_path / "small"))), Plan("quick", replications=2)
    target = tmp_path / "report"
    reproduce(study, plan, target)
    before = (target / "summary.json").read_text()
    reproduce(study, Plan("quick", seed=2, replications=2), target)
    assert (target / "summary.json").read_text() != before
    (target / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        reproduce(study, plan, target)
    assert (target / "notes.txt").read_text() == "mine"


def test_studies_are_found_by_name_and_by_folder(tmp_path: Path) -> None:
    assert "high-ber" in names()
    copy = tmp_path / "mine"
    shutil.copytree(find("high-ber"), copy)
    text = (copy / "study.toml").read_text()
    (copy / "study.toml").write_text(text.replace('"0.01 %"', '"<i>0.01 %"'))
    report = reproduce(
        load(str(copy)), Plan("quick", replications=2, emulations=0), tmp_path / "out"
    )
    assert report.study.name == "mine"
    page = report.page.read_text()
    assert "&lt;i&gt;0.01 %" in page
    assert "<i>" not in page


def test_the_study_of_the_guide_runs(tmp_path: Path) -> None:
    """docs/how-to/write-a-study.md, its files put together."""
    mine = write_guide(tmp_path / "mine")
    report = reproduce(
        load(str(mine)), Plan("quick", replications=4, emulations=0), tmp_path / "out"
    )
    assert report.rows["T4"][0].verdict is Verdict.AGREES
    assert report.claims[0].verdict is Verdict.AGREES
    assert report.page.read_text().count("<img") == 2


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("study.toml", 'title = "TCP', 'titel = "TCP', "titel: unknown key"),
        ("study.toml", 'label = "1 %"', 'lable = "1 %"', "lable: unknown key"),
        ("study.toml", '"download.toml"', '"upload.toml"', "no file upload.toml"),
        ("study.toml", 'reference    = "0"', 'reference    = "2"', "no case '2'"),
        ("study.toml", "{ quick = 2, full = 5 }", "{ quick = 1, full = 5 }", "at least 2"),
        ("study.toml", '"https://doi.org', '"javascript:alert(1)//doi.org', "write https://"),
        ("claims.toml", 'rule       = "number"', 'rule       = "near"', "no rule 'near'"),
        ("claims.toml", '"throughput"\nunit', '"thruput"\nunit', "has no 'thruput'"),
        ("claims.toml", '"share_10"', '"share_11"', "measured: no value 'share_11'; did you mean"),
        (
            "claims.toml",
            'case       = "0"',
            'case = "0"\nat = { p = 1 }',
            "'p' does not vary there (nothing does)",
        ),
        (
            "claims.toml",
            'measured   = "share_10"',
            'measured = "share_10"\nswitched = ["drop/9"]',
            "no run 'drop/9'",
        ),
        ("claims.toml", '"0.01" = """', '"0.01, 0.02" = """', "no case '0.02' in table_4"),
        ("published.toml", "[table_5]", "[table_5", "published.toml"),
    ],
)
def test_a_broken_study_is_told_where(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    copy = tmp_path / "mine"
    shutil.copytree(find("high-ber"), copy)
    text = (copy / file).read_text()
    assert old in text
    (copy / file).write_text(text.replace(old, new))
    with pytest.raises(StudyError, match=re.escape(message)):
        reproduce(load(str(copy)), Plan("quick", replications=2, emulations=0), tmp_path / "out")


def test_the_command_line(cli, tmp_path: Path) -> None:
    listed = cli("study", "--list")
    assert listed.returncode == 0
    assert [line.split(":")[0] for line in listed.stdout.splitlines()] == names()
    done = cli(
        "study",
        "high-ber",
        "--quick",
        "--replications",
        2,
        "--emulations",
        0,
        "--out",
        tmp_path / "r",
    )
    assert done.returncode == 0, done.stderr
    assert "Response time of the simulator" in done.stdout
    assert str(tmp_path / "r" / "report.html") in done.stdout
    assert (tmp_path / "r" / "report.html").is_file()


def test_all_runs_every_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two small ones in their place."""
    for name in ("one", "two"):
        write_study(tmp_path / "studies" / name)
    monkeypatch.setattr("retx.study.shipped.HOME", tmp_path / "studies")
    command("all", quick=True, replications=2, out=tmp_path / "out")
    for name in ("one", "two"):
        assert (tmp_path / "out" / name / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a study"),
        (("high-bear",), "did you mean 'high-ber'?"),
        (("high-ber", "--quick", "--full"), "exclude each other"),
        (("high-ber", "--replications", "1"), "replications"),
        (("high-ber", "--emulations", "1"), "--emulations 1: use 0 for none, or at least 2"),
    ],
)
def test_bad_input_is_reported(cli, arguments: tuple[str, ...], message: str) -> None:
    result = cli("study", *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_estimates_by_hand() -> None:
    # Mean 2, deviation 1, n = 3; t(0.975, 2) = 4.30265.
    found = estimate([1, 2, 3, None])
    assert found is not None
    assert found.interval is not None
    assert found.single is not None
    assert (found.mean, found.n, found.missing) == (2, 3, 1)
    assert found.interval.high == pytest.approx(2 + 4.30265 / 3**0.5, abs=1e-5)
    assert found.single.high == pytest.approx(2 + 4.30265 * (1 + 1 / 3) ** 0.5, abs=1e-5)
    assert estimate([None]) is None
    bounded = estimate([1, 2, 3], least=0)
    assert bounded is not None
    assert bounded.single == Interval(0, found.single.high)


def test_ranges_by_rank_hold_whatever_the_law() -> None:
    """One more of n + 1 runs is each of them with the same probability."""
    assert by_rank(range(39)) == Interval(0, 38)
    assert by_rank(range(78)) == Interval(0, 77)
    assert by_rank(range(79)) == Interval(1, 77)
    assert by_rank(range(199)) == Interval(4, 194)
    found = estimate([0, 0, 0, 60], least=0, ranked=True)
    assert found is not None
    assert found.single == Interval(0, 60)


def test_pairs_by_hand() -> None:
    difference = paired_difference([11, 22, 33], [10, 20, 30])
    assert difference is not None
    assert difference.mean == 2
    ratio = paired_ratio([2, 8], [1, 1])
    assert ratio is not None
    assert ratio.mean == pytest.approx(4)
    # A reference without chance stands beside every run.
    assert paired_difference([3, 5], [1]) == paired_difference([3, 5], [1, 1])
    assert paired_difference([3, None], [1, 1]).missing == 1


def test_a_reason_may_be_that_of_several_cases() -> None:
    given = {"1, 2": "errors", "3": "pauses", "3 7:3, faults": "faults", "*": "other"}
    cases = ["1", "2", "3", "3 7:3, faults", "4"]
    assert [of_case(given, case, "") for case in cases] == [
        "errors", "errors", "pauses", "faults", "other",
    ]  # fmt: skip
    assert of_case({"1": "errors"}, "2", "none") == "none"
