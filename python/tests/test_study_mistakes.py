"""Mistakes in the files of a study, which are reported with file and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_study import write_guide

from retx import UserCodeError
from retx.errors import UsageError
from retx.study import Measured, Plan, load
from retx.study.data import StudyError
from retx.study.rehearsal import check_names
from retx.study.reproduction import reproduce


def changed(home: Path, file: str, old: str, new: str) -> Path:
    folder = write_guide(home)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    return folder


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("study.toml", "{ quick = 30, full = 300 }", "30", "replications: expected a table"),
        ("study.toml", "quick = 30", 'quick = "30"', "quick: expected a whole number"),
        ("study.toml", 'name  = "0.01"', "name = 0.01", "case[1].name: expected a text"),
        ("study.toml", "response_time_s", "response_time", "drop.quantity: drop/0: no quantity"),
        ("study.toml", "flow.download", "flow.downlod", "did you mean 'flow.download.response"),
        ("published.toml", "[number]", "number = 5\n[x]", "published.toml"),
        ("published.toml", "values = {", "number = 5\nvalues = {", "number: unknown key"),
        ("claims.toml", "0.3", '"30 %"', "rows[0].tolerance: expected a number; found '30 %'"),
        ("claims.toml", "0.3", "-0.3", "T4: tolerance: -0.3 is negative"),
        ("claims.toml", "0.3", "30", "T4: tolerance: 30 is more than 25 % of the published"),
        ("claims.toml", '"harmful"', '"T4"', "the id 'T4' is there twice"),
        ("claims.toml", '"at_least"', '"undecidable"', "rule 'undecidable' needs `because`"),
        ("claims.toml", '"at_least"', '"at_lest"', "no rule 'at_lest'; did you mean 'at_least'?"),
        ("claims.toml", '"at_least"', '"curve"', "harmful: measured: rule 'curve' needs a `curve`"),
        ("claims.toml", '"slowdown_1"', '"slowdown_2"', "did you mean 'slowdown_1'?"),
        ("claims.toml", "v.timeouts_1", "v.timeout_1", "T4 0.01.because: v: no name 'timeout_1'"),
        ("claims.toml", "| estimate", "| estimat", "T4 0.01.because: No filter named 'estimat'"),
        ("claims.toml", "estimate }}", "estimate", "T4 0.01.because: expected token"),
        ("claims.toml", '= "drop"\ncase', '= "drp"\ncase', "harmful: no experiment 'drp'"),
        ("values.toml", '"drop/{loss}" }', '"drop/{los}" }', "no item 'los'; did you mean 'loss'?"),
        ("values.toml", '"drop/{loss}" }', '"drop/0.3" }', "'drop/0.3': no case '0.3'"),
        ("values.toml", '["drop/{loss}", "drop/0"]', '"drop/0"', "ratio: expected a list"),
        ("values.toml", "rto_count", "rtos", "timeouts_1: drop/0.01: no quantity"),
        ("tables.toml", '"drop"', '"drp"', "effects: no experiment 'drp'"),
        ("tables.toml", "cases of drop", "cases of dropp", "did you mean 'drop'?"),
        ("tables.toml", '"{case}"', '"{cas}"', "timeouts: '{cas}': no item 'cas'"),
        ("tables.toml", '"timeouts"', '"T4"', "the id 'T4' is there twice"),
        ("tables.toml", 'key = "rto"', 'key = "time"', "a key 'time' is there twice"),
        ("quantities.toml", "else  = 0", 'else = "zero"', "lost.else: expected a number"),
        ("figures.toml", '"drop/{x}"', '"drop/{y}"', "times: 'drop/{y}': no item 'y'"),
        ("figures.toml", '"1" = "0.01"', '"1" = "0.1"', "times: 'drop/0.1': no case '0.1'"),
        ("figures.toml", 'look = "paper"', 'look = "papers"', "no look 'papers'; did you mean"),
        ("figures.toml", "y = { mean", "z = { mean", "draw[0].z: unknown key"),
        ("figures.toml", "y = { mean", "y = { men", "draw[0].y: exactly one of"),
        (
            "figures.toml",
            '"figures.window"',
            '"figures.windows"',
            "cwnd: python: no function",
        ),
        ("figures.toml", '"figures.window"', '"window"', "'window': write FILE.FUNCTION"),
        (
            "figures.toml",
            'alt     = "The w',
            'panel = [{ draw = [] }]\nalt = "The w',
            "`python`",
        ),
        ("body.html", "tables.T4", "tables.T5", "body.html:4: tables: no name 'T5'"),
        ("body.html", "show_claims(", "show_clams(", "body.html:8: no name 'show_clams'"),
        ("body.html", "{% endblock %}", "", "body.html:8: Unexpected end of template"),
    ],
)
def test_a_mistake_is_reported_before_any_run(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    folder = changed(tmp_path / "mine", file, old, new)
    with pytest.raises(UsageError, match=re.escape(said)) as error:
        study = load(str(folder))
        check_names(Measured(study, Plan("quick")))
    assert str(error.value).startswith(f"{folder}/{file}:")


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("SUM(drops_chanel)", 'unable to find column "drops_chanel"'),
        ("drops_channel", "one number is needed for all rows"),
    ],
)
def test_a_wrong_quantity_is_reported_before_any_run(
    tmp_path: Path, expression: str, said: str
) -> None:
    folder = changed(
        tmp_path / "mine", "quantities.toml", "SUM(drops_channel) / SUM(packets_in)", expression
    )
    values = (folder / "values.toml").read_text()
    (folder / "values.toml").write_text(values.replace("flow.download.rto_count", "lost"))
    study = load(str(folder))
    with pytest.raises(StudyError, match=f"quantities.toml: lost: .*{said}"):
        check_names(Measured(study, Plan("quick")))


@pytest.mark.parametrize(
    ("file", "old", "new", "kind", "said"),
    [
        ("figures.py", "    drawn,", "   drawn", UserCodeError, "cannot be loaded: Syntax"),
        (
            "figures.py",
            '"time_s"',
            '"time"',
            UserCodeError,
            "window: ColumnNotFoundError",
        ),
        ("figures.py", "drop/0.01", "drop/0.1", StudyError, "no case '0.1'; did you mean '0.01'"),
        ("body.html", "figures.cwnd", "figures.cwd", StudyError, "body.html:6: figures: no name"),
    ],
)
def test_a_mistake_of_the_author_is_no_fault_of_retx(
    tmp_path: Path, file: str, old: str, new: str, kind: type[Exception], said: str
) -> None:
    folder = changed(tmp_path / "mine", file, old, new)
    plan = Plan("quick", replications=2, threads=1)
    with pytest.raises(kind, match=re.escape(said)) as error:
        reproduce(load(str(folder)), plan, tmp_path / "out")
    cause = error.value.__cause__
    if kind is UserCodeError and not isinstance(cause, SyntaxError):
        assert cause is not None
        assert cause.__traceback__ is not None
        assert cause.__traceback__.tb_frame.f_code.co_filename == str(folder / "figures.py")
