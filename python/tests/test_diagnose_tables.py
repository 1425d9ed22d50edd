"""Tables and figures of a flow in a capture, compared with those of the run that made it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli
from matplotlib.text import Text

import retx
from retx.diagnosing.tables import OF_ALL, PLOTS, SCHEMAS, table_of_all
from retx.diagnosing.wording import shares
from retx.fitting.captures.capture import fit_capture
from retx.results import NotRecordedError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[retx.Result, Path]:
    """A download over a link that loses packets, and its capture at the sender."""
    path = tmp_path_factory.mktemp("tables") / "sender.pcapng"
    channel = {"model": "bernoulli", "p": 0.02}
    ends = {"name": "net", "ends": ["server", "client"], "rate": "5 Mbit/s", "delay": "20 ms"}
    flow = {"name": "download", "from": "server", "to": "client", "tcp": "tcp"}
    scenario = {
        "duration": "60 s",
        "sample_interval": "every_ack",
        "tcp": {"tcp": {"like": "linux"}},
        "link": [ends | {"forward": {"channel": channel}}],
        "flow": [flow | {"app": {"kind": "transfer", "bytes": 1_000_000}}],
    }
    return retx.run(scenario, seed=3, pcap=path, pcap_at=["net@server"]), path


def test_segments_and_fates_are_those_of_the_run(run: tuple[retx.Result, Path]) -> None:
    result, path = run
    made, found = result.segments, retx.diagnose(path).tables().segments
    made = made.filter(pl.col("length_bytes") > 0)
    for column in ("seq", "length_bytes", "retransmission"):
        assert found[column].to_list() == made[column].to_list(), column
    start_s = made["sent_s"][0] - found["sent_s"][0]
    assert found["sent_s"].to_list() == pytest.approx(
        (made["sent_s"] - start_s).to_list(), abs=1e-6
    )
    lost = (made["fate"].cast(pl.String) == "channel").to_list()
    assert sum(lost) > 5
    assert (found["fate"] == "lost").to_list() == lost


def test_samples_are_those_of_the_run(run: tuple[retx.Result, Path]) -> None:
    result, path = run
    found = retx.diagnose(path).tables().samples
    first = [it.unique("ack_bytes", keep="first") for it in (result.samples, found)]
    both = first[0].join(first[1], on="ack_bytes", suffix="_found").drop_nulls("srtt_s")
    assert both.height > 250
    # In a recovery the capture has fewer RTT samples than the sender, which uses timestamps.
    ratio = both["srtt_s_found"] / both["srtt_s"]
    assert (ratio - 1).abs().median() < 0.05
    same = both["flight_size_bytes_found"] == both["flight_size_bytes"]
    assert same.sum() > 0.5 * both.height
    assert found["cwnd_bytes"].null_count() == found.height


@pytest.mark.parametrize("kind", PLOTS)
def test_figures(kind: str, run: tuple[retx.Result, Path]) -> None:
    figure = getattr(retx.diagnose(run[1]).tables().plot, kind)()
    assert figure.axes


def test_limits_have_the_words_of_the_diagnosis(run: tuple[retx.Result, Path]) -> None:
    diagnosis = retx.diagnose(run[1])
    figure = diagnosis.tables().plot.why()
    shown = [it.get_text() for it in figure.findobj(Text) if " % " in it.get_text()]
    phrases = [phrase for phrase, _ in shares(diagnosis.flows[0])]
    assert shown
    assert all(any(text.endswith(it) for it in phrases) for text in shown)


def test_what_a_capture_does_not_show(
    run: tuple[retx.Result, Path], cli: Cli, tmp_path: Path
) -> None:
    tables = retx.diagnose(run[1]).tables()
    with pytest.raises(NotRecordedError, match="does not show"):
        tables.plot.queue()
    done = cli("diagnose", str(run[1]), "--plot", "queue")
    assert done.returncode == 2
    assert "a capture does not show it; choose one of cwnd, sequence" in done.stderr
    unknown = cli("diagnose", str(run[1]), "--plot", "foo=a.png").stderr
    assert f"no plot 'foo'; choose one of {', '.join(PLOTS)}\n" in unknown
    assert not list(tmp_path.rglob("*.png"))


def test_a_capture_without_tcp_says_so(cli: Cli, tmp_path: Path) -> None:
    link = {"name": "net", "ends": ["a", "b"], "rate": "5 Mbit/s", "delay": "9 ms"}
    flow = {"name": "call", "from": "a", "to": "b", "app": "cbr"}
    udp = {"packet": 200, "rate": "80 kbit/s"}
    scenario = {"duration": "1 s", "link": [link], "flow": [flow | {"udp": udp}]}
    retx.run(scenario, pcap=tmp_path / "call.pcap", pcap_at="net@a")
    assert cli("diagnose", tmp_path / "call.pcap").stdout.endswith(" frames, no TCP flow\n")
    done = cli("diagnose", tmp_path / "call.pcap", "--flow", 1)
    assert (done.returncode, "flow 1: the capture has no TCP flow\n" in done.stderr) == (2, True)


def test_tables_have_all_flows(cli: Cli, tmp_path: Path) -> None:
    link = {"name": "net", "ends": ["server", "client"], "rate": "5 Mbit/s", "delay": "9 ms"}
    flow = {"from": "server", "to": "client", "tcp": "linux", "app": "bulk"}
    flows = [flow | {"name": "first"}, flow | {"name": "second"}]
    scenario = {"duration": "1 s", "link": [link], "flow": flows}
    retx.run(scenario, pcap=tmp_path / "two.pcap", pcap_at="net@server")
    done = cli("diagnose", tmp_path / "two.pcap", "--flow", 2, "--out", tmp_path / "out", "--json")
    assert [it["number"] for it in json.loads(done.stdout)["flows"]] == [2]
    assert pl.read_parquet(tmp_path / "out" / "flows.parquet")["number"].to_list() == [1, 2]
    assert pl.read_parquet(tmp_path / "out" / "segments.parquet")["flow"].n_unique() == 1


def test_objects_are_shown_in_a_line(run: tuple[retx.Result, Path]) -> None:
    path = run[1]
    assert repr(retx.diagnose(path)) == f"<retx.Diagnosis: {path}, 1 flow(s)>"
    assert repr(fit_capture(path)) == f"<retx.CaptureFit: flow 1 of {path}>"
    assert repr(retx.Grid([])) == "<retx.Grid: 0 condition(s)>"


@pytest.mark.parametrize("name", OF_ALL)
def test_columns_depend_on_no_data(name: str, run: tuple[retx.Result, Path]) -> None:
    full, empty = table_of_all([*retx.diagnose(run[1]).flows], name), table_of_all([], name)
    assert full.height or name in ("timeouts", "stalls", "patterns")
    assert full.schema == empty.schema == SCHEMAS[name]


def test_directory_of_tables(run: tuple[retx.Result, Path], cli: Cli, tmp_path: Path) -> None:
    out, picture = tmp_path / "out", tmp_path / "a.png"
    cli("diagnose", str(run[1]), "--out", str(out), "--flow", "1", "--plot", f"sequence={picture}")
    assert picture.stat().st_size > 1_000
    episodes = pl.read_parquet(out / "episodes.parquet")
    assert episodes.height == len(retx.diagnose(run[1]).flows[0]["episodes"])
    (row,) = pl.read_parquet(out / "flows.parquet").to_dicts()
    limits = [value for key, value in row.items() if key.startswith("limited_")]
    assert sum(limits) == pytest.approx(row["life_s"])
    assert pl.read_parquet(out / "segments.parquet").height > 700
    names = {path.stem for path in out.iterdir()}
    assert names == {*OF_ALL, "samples", "segments", "acks", "diagnosis"}
    done = cli("diagnose", str(run[1]), "--out", str(out))
    assert done.returncode == 2
    assert done.stderr.endswith("exists and is not empty: name another directory\n")
