"""Names that results had before are still read, with one notice."""

import json
from pathlib import Path

import polars as pl
import pytest

import retx
from retx.comparing.grid import load_grid
from retx.errors import renamed
from retx.sweeps.precision import Metric

SCENARIO = """
duration = "1 min"
[[link]]
name = "wire"
ends = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
forward.channel = { model = "bernoulli", p = 0.02 }
[[flow]]
name = "frr"
from = "a"
to = "b"
tcp = "newreno"
app = { kind = "transfer", bytes = 200_000 }
"""


def old_files(directory: Path) -> None:
    """Turns what a run has stored into what the version before stored."""

    def old(name: str) -> str:
        return name.replace("fast_retransmit", "frr").replace("inferred", "said")

    for file in directory.glob("*.parquet"):
        table = pl.read_parquet(file)
        for name in ("kind", "cause"):
            if name in table.columns:
                table = table.with_columns(
                    pl.col(name).cast(pl.String).replace({"fast_retransmit": "frr"})
                )
        table.rename(old).write_parquet(file)
    file = directory / "summary.json"
    file.write_text(old(file.read_text()))


def test_a_result_of_before_is_read_under_names_of_today(tmp_path: Path) -> None:
    made = retx.run(SCENARIO)
    made.save(tmp_path / "run")
    old_files(tmp_path / "run")
    assert {"frr_count", "said_frr_congestion_wireless"} <= set(
        pl.read_parquet(tmp_path / "run/flows.parquet").columns
    )
    found = retx.load(tmp_path / "run")
    assert isinstance(found, retx.Result)
    assert found.flows.equals(made.flows)
    [count] = found.flows["fast_retransmit_count"]
    assert count > 0
    assert found.episodes["kind"].to_list().count("fast_retransmit") == count
    [flow] = found.summary["flows"]
    assert flow["episodes"]["fast_retransmit"]["wireless"] == count
    assert flow["inferred"]["fast_retransmit"]["congestion"]["wireless"] == count
    assert "inferred_cause" in found.episodes.columns
    assert flow["fast_retransmit_count"] == count


def test_an_old_name_of_a_metric_is_noticed_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renamed, "_noticed", set())
    for _ in range(2):
        assert Metric.read("flow.ftp.frr_count").column == "fast_retransmit_count"
    said = "warning: frr_count is called fast_retransmit_count now"
    assert capsys.readouterr().err.count(said) == 1


def test_an_old_key_of_links_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renamed, "_noticed", set())
    made = retx.run(SCENARIO)
    made.save(tmp_path)
    file = tmp_path / "summary.json"
    text = file.read_text()
    assert '"packets_in_transit"' in text
    file.write_text(text.replace("packets_in_transit", "packets_in_air"))
    found = retx.load(tmp_path)
    assert isinstance(found, retx.Result)
    assert found.summary["links"] == made.summary["links"]
    for before in ("", "link.wire.forward."):
        assert renamed.current(f"{before}packets_in_air") == f"{before}packets_in_transit"
        assert "packets_in_transit now" in capsys.readouterr().err


@pytest.mark.parametrize("notified", [True, False])
def test_an_old_attribute_of_a_loss_is_noticed_once(
    notified: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renamed, "_noticed", set())
    loss = retx.UnexplainedLoss(retx.Window(1000, 2000, 1000), notified=notified)
    for _ in range(2):
        assert getattr(loss, "noticed") is notified  # noqa: B009
    assert capsys.readouterr().err.count("warning: noticed is called notified now") == 1


def test_a_loss_cause_of_before_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renamed, "_noticed", set())
    (tmp_path / "cause.py").write_text(
        "class Cause:\n"
        "    def cause(self, loss):\n"
        "        return 'corruption' if loss.noticed else 'congestion'\n"
    )
    cause = {"name": "python", "file": f"{tmp_path}/cause.py", "class": "Cause"}
    found = retx.run(SCENARIO, overrides={"tcp.newreno.loss_cause": cause})
    assert found.episodes["inferred_cause"].unique().to_list() == ["congestion"]
    assert capsys.readouterr().err.count("noticed is called notified now") == 1


@pytest.mark.parametrize(
    "name",
    ["frr", "frr_each", "my_frr_count", "said_so", "episodes_rto_wireless", "my_packets_in_air"],
)
def test_other_names_stay(name: str) -> None:
    assert renamed.current(name) == name
    assert json.dumps(renamed.current_summary({"flows": [{name: 1}]})).count(name) == 1


def test_a_grid_and_a_comparison_of_before_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "condition-0000.json").write_text('{"parting": "f: recovery 2"}')
    assert load_grid(tmp_path).results == [{"first_difference": "f: recovery 2"}]
    monkeypatch.setattr(renamed, "_noticed", set())
    comparison = object.__new__(retx.Comparison)
    vars(comparison)["first_differences"] = ["one"]
    assert getattr(comparison, "partings") == ["one"]  # noqa: B009
    assert "partings is called first_differences now" in capsys.readouterr().err
