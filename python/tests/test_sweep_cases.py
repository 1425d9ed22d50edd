"""Named points of a sweep, and quantities that a function derives from each run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sweeping import SCENARIO, Timid, hashes

import retx
from retx.sweeps.derive import Derive, _by_run, _files
from retx.sweeps.figures import pair_of

CASES = {
    "plain": {},
    "veno": {"flow.download.tcp": "veno"},
    "far": {"flow.download.tcp": "veno", "link.cloud.delay": "50 ms"},
}
GRID = {"link.cloud.forward.channel.p": [0, 0.05]}


def test_each_case_is_a_point_with_its_own_settings() -> None:
    sweep = retx.sweep(SCENARIO, GRID, 3, cases=CASES)
    assert sweep.keys == ("case", "link.cloud.forward.channel.p")
    assert sweep.grid["case"].to_list() == ["plain", "plain", "veno", "veno", "far", "far"]
    settings = {"link.cloud.forward.channel.p": 0.05} | CASES["far"]
    alone = retx.replicate(SCENARIO, 3, overrides=settings)
    there = sweep.flows.filter(case="far").tail(3)
    assert there["goodput_bit_s"].to_list() == alone.flows["goodput_bit_s"].to_list()
    assert len(sweep.paired("far", "plain", "goodput_bit_s")) == 2
    only = retx.sweep(SCENARIO, {}, 2, cases=CASES)
    assert only.keys == ("case",)
    assert len(only) == 6


def test_cases_may_differ_in_what_the_application_is() -> None:
    """Only one of them counts exchanges; whichever comes first."""
    asked = {"kind": "request_response", "request": 100, "response": 5000, "exchanges": 3}
    cases = {"file": {}, "asked": {"flow.download.app": asked}}
    for order in (cases, dict(reversed(cases.items()))):
        flows = retx.sweep(SCENARIO, {}, 2, cases=order).flows
        assert flows.filter(case="asked")["exchanges_count"].to_list() == [3, 3]
        assert flows.filter(case="file")["exchanges_count"].to_list() == [None, None]


def test_cases_may_hold_classes_and_numbers_of_numpy() -> None:
    import numpy as np

    own = SCENARIO + '[tcp.own]\nlike = "reno"\n'
    cases = {
        "mine": {"flow.download.tcp": "own", "tcp.own.congestion_control": Timid},
        "lossy": {"link.cloud.forward.channel.p": np.float64(0.1)},
    }
    sweep = retx.sweep(own, {}, 2, cases=cases)
    mine, lossy = (sweep.flows.filter(case=name)["goodput_bit_s"].mean() for name in cases)
    assert mine != lossy


def test_cases_survive_in_a_directory(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep = retx.sweep(SCENARIO, GRID, 2, cases=CASES, out=out)
    assert_frame_equal(retx.load_sweep(out).flows, sweep.flows)
    # One more is added to those that are there.
    more = CASES | {"cubic": {"flow.download.tcp": "cubic"}}
    assert len(retx.sweep(SCENARIO, GRID, 2, cases=more, out=out)) == 16
    retx.sweep(SCENARIO, GRID, 2, cases=more, out=tmp_path / "anew")
    assert hashes(out) == hashes(tmp_path / "anew")


IN_FILE = """
[sweep]
replications = 3
"link.cloud.forward.channel.p" = [0, 0.05]

[[sweep.case]]
name = "plain"

[[sweep.case]]
name = "far"
replications = 1
set = { "flow.download.tcp" = "veno", "link.cloud.delay" = "50 ms" }
"""


def test_cases_stand_in_the_file(tmp_path: Path) -> None:
    sweep = retx.sweep(SCENARIO + IN_FILE, out=tmp_path / "out")
    assert len(sweep) == 2 * 3 + 2 * 1
    given = retx.sweep(SCENARIO, GRID, 3, cases={name: CASES[name] for name in ("plain", "far")})
    same = given.flows.filter((pl.col("case") == "plain") | (pl.col("replication") == 0))
    assert_frame_equal(sweep.flows, same)
    status = retx.sweep_status(tmp_path / "out")
    assert (status.runs, status.planned) == (8, 8)
    # The file as resolved, run again, is the same sweep; other cases take the place of its own.
    text = (tmp_path / "out" / "scenario.toml").read_text()
    assert_frame_equal(retx.sweep(text).flows, sweep.flows)
    assert retx.sweep(text, cases={"one": {}}).grid["case"].to_list() == ["one", "one"]
    assert len(retx.run(text).flows) == 1


def test_a_case_has_its_own_number_of_runs_beside_until() -> None:
    until = {"metric": "goodput_bit_s", "relative_half_width": 0.001, "max_replications": 12}
    text = SCENARIO + IN_FILE.replace("[0, 0.05]", "[0.05]")
    runs = retx.sweep(text, until=until).runs
    counts = dict(runs.group_by(pl.col("case").cast(pl.String)).len().iter_rows())
    assert counts == {"plain": 12, "far": 1}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "far"', 'nam = "far"', "unknown key; did you mean"),
        ('name = "far"', 'name = "plain"', "is the name of two cases"),
        ("replications = 1", "replications = 0", "expected a whole number from 1"),
        ('"link.cloud.delay" = "50', 'link.cloud.delay = "50', "write the whole key in quotes"),
        ('"link.cloud.delay"', '"link.cloud.forward.channel.p"', "varies besides"),
        ('"link.cloud.delay"', '"sweep.replications"', "does not vary itself"),
    ],
)
def test_a_wrong_case_in_the_file_is_reported_with_its_line(
    old: str, new: str, message: str
) -> None:
    assert IN_FILE.count(old) == 1
    with pytest.raises(retx.ScenarioError, match=rf"scenario:\d+: sweep.case.*{message}"):
        retx.run(SCENARIO + IN_FILE.replace(old, new))


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ({"a": {"link.cloud.forward.channel.p": 0.1}}, "varies, and case 'a' sets it"),
        ({"a": {"link.clod.delay": "5 ms"}}, "link.clod.delay"),
        ({"a": {"flow.download.tcp": "venno"}}, "veno"),
    ],
)
def test_a_wrong_case_is_reported(cases: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(retx.ScenarioError, match=message):
        retx.sweep(SCENARIO, GRID, 2, cases=cases)


def resent(run: retx.RunTables) -> dict[str, float | None]:
    return {
        "resent": int(run.segments["retransmission"].sum()),
        "capacity": float(run.scenario["link"][0]["rate"].split()[0]),
        "none": None,
    }


def test_quantities_are_derived_from_each_run() -> None:
    sweep = retx.sweep(SCENARIO, GRID, 5, derive=resent, derive_from=["segments"])
    derived = sweep.derived
    assert derived.columns == [*sweep.keys, "replication", "resent", "capacity", "none"]
    assert derived["resent"].to_list() == sweep.flows["segments_retransmitted"].to_list()
    assert derived["none"].null_count() == len(derived) == 10
    assert derived["capacity"].to_list() == [10.0] * 10
    with pytest.raises(LookupError, match="segments were not kept"):
        _ = sweep.segments
    both = retx.sweep(
        SCENARIO, GRID, 5, derive=resent, derive_from=["segments"], tables=["segments"]
    )
    assert_frame_equal(both.derived, derived)
    assert int(both.segments["retransmission"].sum()) == int(derived["resent"].sum())


def test_mixed_rows_of_runs_are_refused() -> None:
    table = pl.DataFrame({"point": [0, 0, 0], "replication": [0, 1, 0], "x": [1, 2, 3]})
    assert _by_run(table[:2])[0, 1]["x"].to_list() == [2]
    with pytest.raises(RuntimeError, match="not next to each other"):
        _by_run(table)


def other(run: retx.RunTables) -> dict[str, float]:
    return {"flows": len(run.flows)}


def test_derived_quantities_are_kept_and_others_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = retx.sweep(SCENARIO, GRID, 2, derive=resent, derive_from=["segments"], out=out)
    assert_frame_equal(retx.load_sweep(out).derived, first.derived)
    with pytest.raises(ValueError, match="derives other quantities"):
        retx.sweep(SCENARIO, GRID, 2, out=out)


def test_a_failing_function_names_the_run() -> None:
    def wrong(run: retx.RunTables) -> dict[str, float]:
        return {"x": "much"}  # type: ignore[dict-item]

    with pytest.raises(retx.UserCodeError, match=r"wrong: .*p = 0.*, replication \d: TypeError"):
        retx.sweep(SCENARIO, GRID, 2, derive=wrong)

    def unread(run: retx.RunTables) -> dict[str, float]:
        return {"x": len(run.segments)}

    with pytest.raises(retx.UserCodeError, match="segments were not requested"):
        retx.sweep(SCENARIO, GRID, 2, derive=unread)


def test_a_function_typed_at_a_prompt_is_known_by_what_it_does() -> None:
    def typed(text: str) -> str:
        names: dict[str, object] = {}
        exec(f"def typed(run):\n    return {text}", names)
        return Derive(names["typed"]).digest

    assert typed("{'a': 1}") == typed("{'a':  1}")
    assert typed("{'a': 1}") != typed("{'a': 2}")
    assert typed("{'a': max(x for x in (1, 2))}") != typed("{'a': max(x for x in (1, 3))}")
    with pytest.raises(ValueError, match="not a function written in Python"):
        _ = Derive(len).digest


def test_code_is_known_by_its_file_and_those_it_imports(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from .b import x\nfrom . import c\nimport os\n")
    (tmp_path / "b.py").write_text("from .d import y\nfrom .a import z\n")
    for name in ("c", "d", "e"):
        (tmp_path / f"{name}.py").write_text("")
    assert [path.name for path in _files(tmp_path / "a.py")] == ["a.py", "b.py", "c.py", "d.py"]


def test_a_class_is_compared_by_its_name_in_figures(tmp_path: Path) -> None:
    code = "import retx\nclass Slow(retx.CongestionControl):\n"
    for heading in ("ack(self, window, ack", "loss(self, window, loss"):
        code += f"    def on_{heading}): pass\n"
    code += "    def on_timeout(self, window, loss, repeated): pass\n"
    (tmp_path / "slow.py").write_text(code)
    own = SCENARIO.replace('"reno"', '"own"') + '[tcp.own]\nlike = "reno"\n'
    (tmp_path / "s.toml").write_text(own)
    slow = {"name": "python", "file": "slow.py", "class": "Slow"}
    key = "tcp.own.congestion_control"
    sweep = retx.sweep(tmp_path / "s.toml", {key: [slow, "cubic"]}, 1)
    found, (first, second) = pair_of(sweep, "Slow,cubic")
    assert (found, second) == (key, "cubic")
    assert "slow.py" in first
