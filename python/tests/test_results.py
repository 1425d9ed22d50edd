"""The contract of results: every key and column is there, and the tables agree with each other."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import polars as pl
import pytest
from conftest import LOSSY, Cli

import retx
from retx.results.frames import frame_of_rows
from retx.results.result import rows_of

SCENARIOS = Path(__file__).parents[2] / "scenarios"

FLOW_KEYS = """name tcp start_s finish_s response_time_s bytes_delivered goodput_bit_s segments_sent
segments_retransmitted retransmissions_unnecessary fast_retransmit_count rto_count episodes inferred
max_backoff idle_total_s idle_max_s rtt_mean_s rtt_sd_s cwnd_mean_bytes frames_sent acks_sent"""
LINK_KEYS = """packets_in packets_delivered drops queue_mean_packets queue_max_packets
utilisation"""
COLUMNS = {
    "samples": """flow time_s cwnd_bytes ssthresh_bytes flight_size_bytes rwnd_bytes srtt_s rttvar_s
        rto_s backoff state ack_bytes""",
    "segments": """flow sent_s seq length_bytes packet_number retransmission cause fate arrived_s
        acked_s""",
    "acks": "flow sent_s ack window_bytes fate arrived_s",
    "drops": "time_s place reason flow packet_number retransmission",
    "episodes": """flow kind start_s end_s trigger_packet cause inferred_cause cwnd_before_bytes
        cwnd_after_bytes rto_s backoff retransmitted unnecessary""",
}


@pytest.fixture(scope="module")
def result() -> retx.Result:
    return retx.run(LOSSY)


def test_json_has_every_key(cli: Cli, lossy: Path) -> None:
    done = cli("run", lossy, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert {"scenario", "version", "seed", "flows", "links", "engine"} <= summary.keys()
    (flow,) = summary["flows"]
    assert set(FLOW_KEYS.split()) <= flow.keys()
    for kind in ("fast_retransmit", "rto"):
        assert flow["episodes"][kind].keys() == {"congestion", "wireless", "spurious"}
    assert [(link["name"], link["direction"]) for link in summary["links"]] == [
        ("cloud", "forward"),
        ("cloud", "reverse"),
    ]
    for link in summary["links"]:
        assert set(LINK_KEYS.split()) <= link.keys()
        assert link["drops"].keys() == {"queue", "channel", "retry_limit", "script"}
    assert summary["engine"].keys() == {"events", "simulated_s", "wall_s"}
    assert summary["engine"]["wall_s"] > 0


MIXED = """
title = "Ein „Titel“ \\u0001 \\t \\\\ \\u007f"
duration = "3 s"
warmup = "0.1 s"
[[link]]
name = "wan"
ends = ["a", "b"]
rate = "3 Mbit/s"
delay = "3 us"
channel = { model = "bernoulli", p = 1.5e-5 }
[[flow]]
name = "voice"
from = "a"
to = "b"
udp = { packet = 200, rate = "64 kbit/s" }
app = "cbr"
[[flow]]
name = "web"
from = "a"
to = "b"
tcp = "newreno"
app = { kind = "request_response", request = 100, response = 3000, think = "100 ms" }
[[flow]]
name = "download"
from = "a"
to = "b"
tcp = "newreno"
count = 30
app = { kind = "transfer", bytes = 3000 }
"""
"""Scenario with both transports, special texts and numbers, and more rows than are shown."""


def test_json_is_what_pythons_library_writes(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    done = cli("run", path, "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert "1.5e-05" in done.stdout
    # On a terminal a control character would be obeyed: it is escaped there.
    text = json.dumps(printed, indent=2, ensure_ascii=False).replace("\x7f", "\\u007f")
    assert done.stdout == text + "\n"
    kept = (tmp_path / "out" / "summary.json").read_text(encoding="utf-8")
    del printed["engine"]["wall_s"]
    assert kept == json.dumps(printed, indent=2, ensure_ascii=False) + "\n"


def test_an_outline_goes_through_the_rows_of_the_summary() -> None:
    result = retx.run(MIXED)
    outline = result.outline
    for table in ("flows", "links"):
        assert list(outline[table]) == list(outline[table]) == result.summary[table]
        assert len(outline[table]) == len(result.summary[table])
    lists = {key: result.scenario[key] for key in ("link", "flow")}
    assert lists.keys().isdisjoint(outline["scenario"])
    assert outline["scenario"] | lists == result.scenario == result.summary["scenario"]
    rest = result.summary.keys() - {"scenario", "flows", "links"}
    assert all(outline[key] == result.summary[key] for key in rest)


@pytest.mark.parametrize("name", ["mixed", "wifi-hidden", "last-hop-split"])
def test_tables_of_the_summary_have_its_rows(name: str) -> None:
    result = retx.run(MIXED if name == "mixed" else SCENARIOS / f"{name}.toml")
    for table in ("flows", "links", "wlans", "stations", "relays"):
        found = getattr(result, table)
        rows = frame_of_rows(rows_of(result.summary, table))
        assert found.columns == rows.columns
        assert found.equals(rows), table
        # A value that is absent in each row has no type in rows.
        typed = [column for column in rows.columns if rows[column].null_count() < len(rows)]
        assert found.select(typed).schema == rows.select(typed).schema


@pytest.mark.parametrize("table", COLUMNS)
def test_tables_have_the_columns_of_the_contract(result: retx.Result, table: str) -> None:
    columns = getattr(result, table).columns
    assert [name for name in columns if name in COLUMNS[table].split()] == COLUMNS[table].split()


def test_texts_are_enums_and_absent_values_nulls(result: retx.Result) -> None:
    segments = result.segments
    assert isinstance(segments.schema["fate"], pl.Enum)
    lost = segments.filter(pl.col("fate") == "channel")
    assert lost.height > 0
    assert lost["arrived_s"].null_count() == lost.height
    assert segments.filter(~pl.col("retransmission"))["cause"].null_count() > 0
    numbers = [name for name, dtype in segments.schema.items() if dtype.is_numeric()]
    assert not any(segments[name].cast(pl.Float64).is_nan().any() for name in numbers)


def test_tables_agree(result: retx.Result) -> None:
    (flow,) = result.flows.iter_rows(named=True)
    segments = result.segments.filter(pl.col("length_bytes") > 0)
    assert flow["bytes_delivered"] == 500_000
    assert flow["segments_sent"] == segments.height
    assert flow["segments_retransmitted"] == segments["retransmission"].sum() > 0
    episodes = result.episodes
    for kind in ("fast_retransmit", "rto"):
        assert flow[f"{kind}_count"] == episodes.filter(pl.col("kind") == kind).height
    forward = result.links.row(0, named=True)
    assert forward["drops_channel"] == result.drops.filter(pl.col("reason") == "channel").height
    assert flow["response_time_s"] == pytest.approx(flow["finish_s"] - flow["start_s"])
    assert episodes["retransmitted"].sum() == result.segments["retransmission"].sum()
    # The sender is sampled when an acknowledgment has come.
    acks = result.acks
    assert set(acks["arrived_s"].drop_nulls()) <= set(result.samples["time_s"])
    assert acks["ack"].max() == 500_002
    assert acks["ack"].is_sorted()


def test_path_text_dict_and_own_output_are_equal(lossy: Path, result: retx.Result) -> None:
    expected = result.summary | {"engine": None}
    tables = result.tables
    scenarios = [lossy, str(lossy), result.scenario, result.scenario_toml()]
    for scenario in scenarios:
        again = retx.run(scenario)
        assert again.summary | {"engine": None} == expected
        for name, table in again.tables.items():
            assert table.equals(tables[name]), name


def test_overrides_and_seed(result: retx.Result) -> None:
    roomy = {"link.cloud.forward.channel.p": 0, "link.cloud.queue.packets": 1000}
    clean = retx.run(LOSSY, overrides=roomy)
    assert clean.flows["segments_retransmitted"][0] == 0
    other = retx.run(LOSSY, seed=8)
    assert other.summary["seed"] == other.scenario["seed"] == 8
    assert not other.segments.equals(result.segments)
    table = {
        "flow.download.tcp": "tahoe",
        "link.cloud.reverse.channel": {"model": "periodic", "every": 9},
    }
    assert retx.run(LOSSY, overrides=table).flows["tcp"][0] == "tahoe"
    assert retx.resolve(LOSSY, overrides=table)["link"][0]["reverse"]["channel"]["every"] == 9


def test_what_was_not_recorded_says_how_to_record_it() -> None:
    bare = retx.run(LOSSY.replace('sample_interval = "every_ack"\n', ""), segments=False)
    assert set(bare.tables) == {"flows", "links", "drops", "episodes"}
    with pytest.raises(retx.NotRecordedError, match="segments=True"):
        bare.plot.sequence()
    with pytest.raises(retx.NotRecordedError, match="tables=True"):
        assert retx.run(LOSSY, tables=False).drops
    with pytest.raises(retx.NotRecordedError, match="sample_interval"):
        bare.plot.cwnd()


def test_errors_are_of_the_right_kind(tmp_path: Path) -> None:
    with pytest.raises(retx.ScenarioError, match="seed"):
        retx.run(LOSSY.replace("seed", "sead"))
    with pytest.raises(ValueError, match="duration"):
        retx.run({})
    with pytest.raises(FileNotFoundError):
        retx.run(tmp_path / "none.toml")
    with pytest.raises(TypeError, match="path, TOML text or a dict"):
        retx.run(3)
    with pytest.raises(retx.ScenarioError, match="set"):
        retx.run({"duration": {1}})
    with pytest.raises(ValueError, match="at least 1"):
        retx.replicate(LOSSY, 0)


def test_a_notebook_shows_a_result(result: retx.Result) -> None:
    html = result._repr_html_()
    assert "download" in html
    assert html.count("<tr>") == 2
    episodes = result.summary["flows"][0]["episodes"]
    causes = [f"{n} {cause}" for kind in episodes.values() for cause, n in kind.items() if n]
    assert causes
    assert all(cause in html for cause in causes), "true causes are what a result is about"
    spoiled = retx.run({**result.scenario, "title": "<script>alert(1)</script>"})
    assert "<script>" not in spoiled._repr_html_()


def test_plots_of_a_run(result: retx.Result) -> None:
    for figure in (
        result.plot.cwnd(),
        result.plot.sequence(),
        result.plot.rtt(span=(0, 1)),
        result.plot.ladder(),
    ):
        assert figure._repr_png_().startswith(b"\x89PNG")


EARLY = """
duration = "10 s"
warmup = "5 s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "2 Mbit/s"
delay = "20 ms"
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = "newreno"
app = { kind = "transfer", bytes = 100_000 }
[[flow]]
name = "u"
from = "a"
to = "b"
udp = { packet = 200, rate = "80 kbit/s", packets = 100 }
app = "cbr"
"""
"""Scenario whose flows end within 2 s."""


def test_a_queue_without_a_rate_warns() -> None:
    link = {"name": "idle", "ends": ["a", "b"], "delay": "1 ms"}
    own = {"link": [link | {"queue": {"discipline": "droptail", "packets": 5}}]}
    app = {"kind": "transfer", "bytes": 5_000}
    flow = {"name": "f", "from": "a", "to": "b", "tcp": "sack", "app": app}
    base = {"duration": "1 s", "flow": [flow]}
    with pytest.warns(retx.IdleQueueWarning, match="link.idle.queue never holds a packet"):
        retx.run(base | own)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        retx.run(base | {"link": [link]})
        retx.run(base | {"link": [own["link"][0] | {"rate": "1 Mbit/s"}]})


def test_a_run_that_is_over_within_its_warmup_warns(cli: Cli, tmp_path: Path) -> None:
    with pytest.warns(retx.NothingMeasuredWarning, match=r"over at 2\..* s, within .* of 5 s"):
        result = retx.run(EARLY)
    assert result.warning
    assert result.flows["goodput_bit_s"].to_list() == [None, None]
    assert result.links["utilisation"].to_list() == [None, None]
    assert result.links["queue_mean_packets"].to_list() == [None, None]
    assert result.links["packets_in"].to_list() == [0, 0]
    with pytest.warns(retx.NothingMeasuredWarning, match="3 of 3 runs"):
        runs = retx.replicate(EARLY, 3)
    assert runs.mean("goodput_bit_s")["mean"].to_list() == [None, None]
    path = tmp_path / "early.toml"
    path.write_text(EARLY)
    for options in ((), ("--json",), ("--replications", "2")):
        done = cli("run", path, *options)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("warning: the run was over at 2.")
        assert done.stderr.count("\n") == 1


def test_a_flow_that_is_over_before_the_warmup_has_no_goodput(
    recwarn: pytest.WarningsRecorder,
) -> None:
    result = retx.run(EARLY.replace('warmup = "5 s"', 'warmup = "1 s"'))
    early, late = result.flows["goodput_bit_s"].to_list()
    assert (early, late > 0) == (None, True)
    assert result.flows["response_time_s"].min() < 1
    assert result.links["utilisation"].min() >= 0
    assert (result.warning, len(recwarn)) == (None, 0)


def test_a_summary_made_in_pieces_is_that_of_the_engine() -> None:
    """Rows of both kinds, more than are made at once; keys in their order."""
    udp = '[[flow]]\nname = "call"\nfrom = "server"\nto = "client"\n'
    udp += 'udp = { rate = "100 kbit/s", packet = 200 }\napp = "cbr"\n'
    many = LOSSY.replace('tcp = "newreno"', 'tcp = "newreno"\ncount = 300')
    for scenario in (many, many + udp):
        result = retx.run(scenario, overrides={"duration": "2 s"}, tables=False)
        engine = json.loads(result._raw.summary())
        assert json.dumps(result.summary) == json.dumps(engine)


def test_the_table_of_segments_has_rows_for_syn_and_fin() -> None:
    """Rows without data are the SYN and the FIN, which the counters of the flow leave out."""
    result = retx.run(LOSSY, overrides={"link.cloud.forward.channel.p": 0})
    without_data = result.segments.filter(length_bytes=0)
    assert without_data["seq"].to_list() == [0, result.flows["bytes_delivered"].item() + 1]
    assert result.segments.height == result.flows["segments_sent"].item() + 2


LOST_TAIL = """\
duration = "30 s"

[[link]]
name = "path"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "20 ms"
forward.channel = { model = "script", drop_seq = [5793, 199_825] }

[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "linux"
app = { kind = "transfer", bytes = 200_000 }
"""
"""The fifth segment is lost, and the last one."""


def test_a_tail_loss_probe_belongs_to_no_recovery() -> None:
    """A probe once had the cause of an earlier recovery that had ended, and counted there."""
    result = retx.run(LOST_TAIL)
    resent = result.segments.filter(pl.col("retransmission")).select("seq", "cause")
    assert resent.rows() == [(5793, "fast_retransmit"), (199_825, None)]
    assert result.episodes["retransmitted"].to_list() == [1, 0]
