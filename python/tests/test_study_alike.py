"""Rows that are compared only with runs like the paper's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from small_study import write_study

from retx.study.claims import Published, Rows, Series
from retx.study.data import StudyError
from retx.study.estimates import paired_difference
from retx.study.judging import alike, row_estimate
from retx.study.library import load
from retx.study.measured import Measured, Plan

BURSTS = [8.0, 10.0, 12.6, None, 12.5]
"""Longest burst of each run: within 25 % of 10, but for the third and the fourth."""
SILENCES = [1.0, 2.0, 50.0, 60.0, 3.0]


def _rows(name: str, **more: Any) -> Rows:
    return Rows(name, name, name, "table", name, 0, "", **more)


def _measured(rows: list[Rows]) -> Measured:
    series = {
        name: Series(name, "table", "", {"a": value})
        for name, value in (("burst", 10.0), ("silence", 2.0))
    }
    values = {"burst": BURSTS, "silence": SILENCES}
    study = SimpleNamespace(
        rows=rows,
        published=Published(series, {}),
        experiments={"table": SimpleNamespace(ranked=True)},
    )
    runs = SimpleNamespace(
        whole=SimpleNamespace(point=lambda *_: None), values=lambda _, quantity: values[quantity]
    )
    return cast("Measured", SimpleNamespace(study=study, runs=runs))


def test_runs_unlike_the_paper_s_are_left_out() -> None:
    bursts, silences = _rows("burst", counts="fitted"), _rows("silence", given=["burst"])
    measured = _measured([bursts, silences])
    assert alike(measured, silences, "a") == [True, True, False, False, True]
    found = row_estimate(measured, silences, "a")
    assert found is not None
    assert (found.n, found.mean) == (3, 2.0)


def test_without_a_condition_all_runs_count() -> None:
    found = row_estimate(_measured([_rows("silence")]), _rows("silence"), "a")
    assert found is not None
    assert found.n == len(SILENCES)


def test_a_case_may_have_a_number_of_runs_of_its_own(tmp_path: Path) -> None:
    home = write_study(tmp_path / "small")
    file = home / "study.toml"
    text = file.read_text(encoding="utf-8")
    own = '{ name = "reno", label = "Reno", replications = { quick = 9, full = 9 } }'
    file.write_text(text.replace('{ name = "reno", label = "Reno" }', own), encoding="utf-8")
    plain = load(str(home)).experiments["plain"]
    plan = Plan("quick")
    assert [plan.replications_of(plain, case) for case in plain.cases] == [9, 6, 1]
    file.write_text(text.replace('label = "Reno" }', 'label = "", replications = { full = 9 } }'))
    with pytest.raises(StudyError, match="replications: needs quick and full"):
        load(str(home))


def test_runs_without_a_partner_are_not_compared() -> None:
    found = paired_difference([3.0, 5.0, 100.0], [1.0, 2.0])
    assert found is not None
    assert (found.n, found.mean) == (2, 2.5)
