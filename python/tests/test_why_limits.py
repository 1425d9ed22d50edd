"""`retx why`: limits of a flow's own settings, of policers, delays and queues of one direction."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import retx
from retx.analysis.limits import KEYS, flat, shares
from retx.cli import init
from retx.cli.entry import command_line
from retx.explaining.evidence import evidence, standing_queue
from retx.explaining.phrases import phrase
from retx.explaining.proposals import proposals
from retx.explaining.situation import Situation
from retx.explaining.wording import factor
from retx.scenarios.parsed import scenario_toml
from retx.scenarios.path import path_of
from retx.terminal.quantities import seconds

QUEUE = {"discipline": "droptail", "packets": 100}


def scenario(tcp: str | dict[str, Any] = "linux", **changes: Any) -> dict[str, Any]:
    """One link and one bulk flow; `flow` changes the flow, other keys the link or the scenario."""
    flow = {"name": "f", "from": "server", "to": "client", "app": "bulk", **changes.pop("flow", {})}
    made: dict[str, Any] = {"duration": changes.pop("duration", "5 s")}
    made["warmup"] = changes.pop("warmup", "0 s")
    if isinstance(tcp, dict):
        made["tcp"] = {"t": tcp}
    link = {"name": "net", "ends": ["server", "client"], "rate": "10 Mbit/s", "delay": "20 ms"}
    made["link"] = [{**link, "queue": QUEUE, **changes}]
    made["flow"] = [{**flow, "tcp": tcp if isinstance(tcp, str) else "t"}]
    return made


def situation(made: dict[str, Any], share: dict[str, float] | None = None) -> Situation:
    """The flow `f` after a run; with these shares if any."""
    result = retx.run(made, tables=False, segments=False)
    flow = next(it for it in result.scenario["flow"] if it["name"] == "f")
    row = next(it for it in result.summary["flows"] if it["name"] == "f")
    measured = shares(flat(row["limited_by"]))
    return Situation(result.scenario, flow, share or measured, result.summary)


def tried(here: Situation) -> dict[str, Any]:
    """Changes by remedy, of every limit."""
    everything = Situation(
        here.scenario, here.flow, dict.fromkeys(KEYS, 1 / len(KEYS)), here.summary
    )
    return {trial.name: trial for trial in proposals(everything)[0]}


def bounds(answer: retx.Answer) -> dict[str, Any]:
    return {row["name"]: row for row in answer.content["bounds"]}


def test_a_clamp_of_the_window_is_named_and_taken_away() -> None:
    made = scenario({"like": "linux", "max_cwnd": "20 mss"}, rate="100 Mbit/s", delay="50 ms")
    answer = retx.why(made, replications=1)
    assert answer.content["fix"] == "no_clamp"
    assert "limited by the clamp of its congestion window: max_cwnd lets it" in answer.summary
    row = next(row for row in answer.remedies if row["name"] == "no_clamp")
    assert all(step in answer.summary for step in row["apply"])
    assert f"Price: {row['price']['note']}" in answer.summary
    assert "by the clamp of its congestion window" in str(answer)
    assert "by slow start" not in str(answer)


def test_a_clamp_that_the_path_does_not_fill_is_not_named() -> None:
    here = situation(scenario({"like": "linux", "max_cwnd": "2000 mss"}))
    assert phrase(here, "slow_start") == "by slow start"


def test_a_first_ssthresh_is_named_and_taken_away() -> None:
    tcp = {"like": "newreno", "initial_ssthresh": "4 mss", "receive_buffer": 4_000_000}
    made = scenario(tcp, rate="20 Mbit/s", delay="100 ms", queue={**QUEUE, "packets": 1000})
    answer = retx.why({**made, "duration": "20 s"}, replications=1)
    row = next(row for row in answer.remedies if row["name"] == "no_ssthresh")
    assert row["gain"] > 3
    assert "tcp_no_ssthresh_metrics_save" in row["apply"][0]
    changes = tried(situation(made))
    assert changes["no_ssthresh"].ease < changes["bbr"].ease
    assert "a first slow start threshold that is too low" in answer.summary
    assert "doubles" not in answer.summary


def test_a_policer_is_the_limit_and_named() -> None:
    policer = {"model": "policer", "rate": "5 Mbit/s", "bucket_bytes": 30000}
    made = scenario(rate="50 Mbit/s", forward={"channel": policer}, duration="20 s")
    answer = retx.why(made, replications=1)
    assert bounds(answer)["link"]["goodput_bit_s"] == pytest.approx(5e6 * 1448 / 1500)
    assert bounds(answer)["link"]["gain"] < 1.1
    assert "after drops of a policer" in answer.summary
    assert "the policer of net lets 5 Mbit/s pass" in answer.summary
    assert "queue" not in answer.summary.partition("Fix")[0].partition("No remedy")[0]
    assert "More takes a higher rate of the policer of net." in answer.summary
    shaper = tried(situation(made))["shaper"]
    assert shaper.overrides["link.net.forward.rate"] == "4.75 Mbit/s"


def test_a_bound_without_the_delays_of_the_channel() -> None:
    spikes = {"model": "random_delay", "share": 0.002, "law": "constant", "delay": "1 s"}
    answer = retx.why(scenario(forward={"channel": spikes}, duration="20 s"), replications=1)
    bound = bounds(answer)["no_channel_delays"]
    assert bound["text"] == "channels without delays, all else unchanged"
    assert bound["gain"] > 1.3
    plain = retx.run(scenario(duration="20 s"), tables=False, segments=False)
    assert bound["goodput_bit_s"] == pytest.approx(plain.summary["flows"][0]["goodput_bit_s"])
    assert "limited by packets that the channel delays" in answer.summary
    assert "limited by the link's rate" not in answer.summary


def test_the_bound_under_a_schedule_is_its_mean() -> None:
    schedule = [{"at": "2 s", "rate": "1 Mbit/s"}, {"at": "4 s", "rate": "10 Mbit/s"}]
    made = scenario(schedule=schedule, duration="6 s", warmup="1 s")
    here = situation(made)
    whole = 1448 / 1538
    assert here.link_limit_bit_s == pytest.approx((10 + 2 * 1 + 2 * 10) / 5 * 1e6 * whole)
    hop = path_of(here.scenario, here.flow).bottleneck
    assert hop.mean_rate_bit_s(2.0, 4.0) == pytest.approx(1e6)


def test_the_direction_of_a_queue_of_acknowledgments() -> None:
    made = scenario(rate="20 Mbit/s", reverse={"rate": "50 kbit/s"}, duration="20 s")
    here = situation(made)
    changes = tried(here)
    for name in ("queue_size", "fq_codel", "ecn"):
        assert "net from client to server" in changes[name].text
        assert any("at client, where DEV is the interface to server" in it for it in
                   changes[name].apply)  # fmt: skip
    named = "by the rate of net from client to server, which its acknowledgments pass"
    assert phrase(here, "bottleneck") == named
    said = evidence(here, "bottleneck")
    assert "wait before net from client to server" in said
    assert "from" not in tried(situation(scenario()))["queue_size"].text


def test_the_rate_of_a_program_is_shared_among_its_connections() -> None:
    made = scenario(flow={"read_rate": "2 Mbit/s"})
    parallel = [
        trial.overrides["flow.f.read_rate"]
        for trial in proposals(situation(made, {"receive_window": 1.0}))[0]
        if trial.name == "parallel"
    ]
    assert parallel == ["1000000 bit/s", "500000 bit/s"]


def test_delayed_acknowledgments_are_no_queue() -> None:
    tcp = {"like": "newreno", "nagle": True, "delayed_ack": {"segments": 2, "timeout": "200 ms"}}
    app = {"kind": "request_response", "request": 100, "response": 2000}
    answer = retx.why(scenario(tcp, flow={"app": app}, delay="5 ms"), replications=1)
    assert "queue" not in answer.summary
    assert "limited by delayed acknowledgments" in answer.summary
    assert "Nagle's algorithm holds" in answer.summary


def test_run_names_the_slow_link_of_acknowledgments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.toml"
    named = "which its acknowledgments pass"
    for reverse in ({"rate": "50 kbit/s"}, {}):
        made = scenario(rate="20 Mbit/s", reverse=reverse, duration="20 s")
        file.write_text(scenario_toml(made))
        command_line(["run"])(["run", str(file)], standalone_mode=False)
        assert (named in capsys.readouterr().out) == bool(reverse)


def test_a_filled_queue_is_still_a_standing_one() -> None:
    here = situation(scenario(queue={**QUEUE, "packets": 400}))
    assert here.has_standing_queue
    assert "the queue before net" in standing_queue(here)


def test_a_dead_path_is_said_without_a_factor() -> None:
    outage = {"model": "outage", "times": [["0 s", "5 s"]]}
    answer = retx.why(scenario(forward={"channel": outage}), replications=1)
    assert "each SYN or each answer to it was lost" in answer.summary
    assert "Nothing arrives" in answer.summary
    assert bounds(answer)["no_channel_losses"]["gain"] is None
    assert factor(9.4e15) == "from 0"
    assert "×" not in answer.summary


def test_a_flow_before_the_warm_up_and_one_without_data() -> None:
    transfer = {"app": {"kind": "transfer", "bytes": 10000}}
    early = retx.why(scenario(flow=transfer, warmup="4 s"), replications=1)
    assert "Nothing of it was measured: it had ended after" in early.summary
    assert "within the warm-up of 4 s" in early.summary
    empty = retx.why(scenario(flow={"app": {"kind": "transfer", "bytes": 0}}), replications=1)
    assert empty.summary.endswith("It has 0 bytes to send: there is nothing to make faster.")


def test_a_single_run_is_counted_in_the_singular(cli, tmp_path: Path) -> None:
    file = tmp_path / "early.toml"
    file.write_text(
        'duration = "5 s"\nwarmup = "4 s"\n'
        '[[link]]\nname = "net"\nends = ["a", "b"]\nrate = "10 Mbit/s"\ndelay = "20 ms"\n'
        '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\ntcp = "linux"\n'
        'app = { kind = "transfer", bytes = 10000 }\n'
    )
    assert re.search(r"^1 run in ", cli("why", str(file)).stdout, re.MULTILINE)


def test_a_largest_timeout_below_the_round_trip_is_raised() -> None:
    made = scenario({"like": "newreno", "max_rto": "1 s"}, delay="600 ms", duration="20 s")
    answer = retx.why(made, replications=1)
    row = next(row for row in answer.remedies if row["name"] == "max_rto")
    assert row["change"] == {"tcp.t.max_rto": "60 s"}
    assert row["gain"] > 2
    assert "max_rto ends the timer after 1 s" in answer.summary
    first = tried(situation(made))["initial_rto"]
    assert first.overrides == {"tcp.t.initial_rto": "3000 ms"}


def test_files_over_one_connection() -> None:
    app = {"kind": "ftp", "files": 10, "bytes": 30000, "pause": "0 s"}
    answer = retx.why(scenario(flow={"app": app}, rate="20 Mbit/s"), replications=1)
    assert answer.content["fix"] == "one_connection"
    assert "each file has a connection of its own" in answer.summary
    assert answer.remedies[0]["gain"] > 3
    paused = scenario(flow={"app": {**app, "pause": "1 s"}})
    assert "one_connection" not in tried(situation(paused))


def test_printed_rates_are_in_the_ratio_of_the_gain() -> None:
    channel = {"model": "bernoulli", "p": 0.05}
    answer = retx.why(scenario(forward={"channel": channel}), replications=4)
    for row in answer.remedies:
        ratio = row["goodput_bit_s"] / row["without"]["goodput_bit_s"]
        assert ratio == pytest.approx(row["gain"])
        assert row["without"]["goodput_bit_s"] == pytest.approx(answer.content["goodput_bit_s"])


def trace(**values: list[Any]) -> dict[str, Any]:
    """Table of two seconds that repeats: one value in the first, the other in the second."""
    points = [{"at": f"{at} s", **{key: it[at] for key, it in values.items()}} for at in (0, 1)]
    return {"model": "trace", "every": "2 s", "points": points}


def test_bounds_of_a_trace_are_its_mean_rate_and_leave_out_its_losses_and_delays() -> None:
    table = trace(rate=["2 Mbit/s", "10 Mbit/s"], loss=[0.02, 0.0], delay=["0 s", "30 ms"])
    made = scenario("linux", forward={"channel": table})
    del made["link"][0]["rate"]
    answer = retx.why(made, replications=1)
    found = bounds(answer)
    # Over five seconds the first value holds for three; 1448 of 1538 bytes are payload.
    assert found["link"]["goodput_bit_s"] == pytest.approx(5.2e6 * 1448 / 1538)
    for name, key, none in (("losses", "loss", 0), ("delays", "delay", "0 s")):
        without = {**table, "points": [{**point, key: none} for point in table["points"]]}
        made["link"][0]["forward"] = {"channel": without}
        run = retx.run(made, tables=False, segments=False)
        bound = found[f"no_channel_{name}"]
        own = run.summary["flows"][0]["goodput_bit_s"]
        assert bound["goodput_bit_s"] == pytest.approx(own)
        assert bound["goodput_bit_s"] > answer.content["goodput_bit_s"]


def test_the_picture_has_the_words_and_the_bounds_of_the_text() -> None:
    late = {"model": "random_delay", "share": 0.001, "law": "constant", "delay": "1 s"}
    made = scenario(
        {"like": "linux", "max_cwnd": "20 mss"}, rate="100 Mbit/s", forward={"channel": late}
    )
    figure = retx.why(made, replications=1).plot
    written = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    written |= {
        text.get_text()
        for part in figure.subfigs
        for legend in part.legends
        for text in legend.get_texts()
    }
    assert any("by the clamp of its congestion window" in text for text in written), written
    assert not any("slow start" in text for text in written), written
    assert {"the link's limit", "without channel delays"} <= written


def test_draws_within_a_budget_that_suffices_end_the_search() -> None:
    answer = retx.why(scenario(duration="1 s"), replications=1, budget="100 s")
    assert answer.content["stopped"]["rule"] == "replications"


def test_acknowledgments_behind_an_upload_are_named_with_what_the_path_takes() -> None:
    made = scenario(duration="10 s", reverse={"rate": "1 Mbit/s"})
    upload = {"name": "up", "from": "client", "to": "server", "app": "bulk", "tcp": "linux"}
    made["flow"].append(upload)
    answer = retx.why(made, replications=1)
    assert "Its acknowledgments wait in the queue before net from client to server" in (
        answer.summary
    )
    assert answer.content["fix"] in ("fq_codel", "codel", "pie", "ecn", "queue_size")


def test_a_moderate_queue_of_the_other_direction_is_the_one_that_is_named() -> None:
    app = {"kind": "request_response", "request": 100, "response": 500, "think": "200 ms"}
    lossy = {"channel": {"model": "bernoulli", "p": 0.005}}
    made = scenario(flow={"app": app}, rate="5 Mbit/s", reverse=lossy, duration="30 s")
    upload = {"name": "up", "from": "client", "to": "server", "app": "bulk", "tcp": "linux"}
    made["flow"].append(upload)
    here = situation(made)
    for row in here.summary["links"]:
        row["queue_mean_packets"] *= 0.7
    assert here.has_standing_queue
    assert here.queue_wait_s(here.queue_hop) < here.path.rtt_s / 2
    assert "before net from client to server" in standing_queue(here)
    assert standing_queue(here).endswith("and up fills it.")


def test_nagles_algorithm_is_tried_for_requests_with_spurious_timeouts() -> None:
    requests = {"app": {"kind": "request_response", "request": 100, "response": 2000}}
    tcp = {"like": "newreno", "nagle": True}
    for flow, is_tried in ((requests, True), ({}, False)):
        here = situation(scenario(tcp, flow=flow), {"timeout.spurious": 1.0})
        assert ("no_delay" in {trial.name for trial in proposals(here)[0]}) == is_tried


DEAF = {"model": "outage", "times": [{"start": "5 s", "duration": "3 h"}]}


@pytest.mark.parametrize(
    ("channel", "key", "app"),
    [
        (DEAF, "timeout.wireless", "bulk"),
        (DEAF, "timeout.wireless", {"kind": "transfer", "bytes": 9_000_000}),
        ({"model": "bernoulli", "p": 1}, "handshake", "bulk"),
    ],
)
def test_a_flow_that_tcp_gave_up_is_not_limited_by_its_application(
    channel: dict[str, Any], key: str, app: Any, tmp_path: Path, cli: Cli
) -> None:
    made = scenario(duration="2 h", forward={"channel": channel}, flow={"app": app})
    here = situation(made)
    assert here.shares[key] > 0.99
    assert here.shares["application"] == 0
    failed = here.failed_at_s
    assert failed is not None
    assert 100 < failed < 1200
    path = tmp_path / "deaf.toml"
    path.write_text(scenario_toml(made), encoding="utf-8")
    said = " ".join(cli("run", str(path)).stdout.split())
    assert re.search(r"f: limited \S+ % by .*\. It failed at \d+(\.\d)? s: TCP gave up", said), said
    assert f"It failed at {seconds(failed)}" in retx.why(made, replications=1).summary


def test_an_earlier_failure_is_no_gain() -> None:
    """A shorter maximum timeout only ends the connection sooner: it is no fix, and nor is BBR."""
    app = {"kind": "transfer", "bytes": 90_000_000}
    made = scenario(duration="2 h", forward={"channel": DEAF}, flow={"app": app})
    answer = retx.why(made, replications=1)
    rows = {row["name"]: row for row in answer.remedies}
    assert rows["max_rto"]["failures"] == rows["bbr"]["failures"] == 1
    assert rows["max_rto"]["gain"] == pytest.approx(1, abs=0.1)
    assert answer.content["fix"] is None
    # Both connections deliver the data of the first five seconds.
    assert answer.content["goodput_bit_s"] == pytest.approx(10e6 * 5 / 7200, rel=0.2)
    assert "the mean until the end of the scenario, at 2 h" in answer.summary
    assert answer.summary.endswith("TCP gives up with every remedy that was tried, too.")


def test_a_remedy_with_which_tcp_gives_up_is_no_fix() -> None:
    """An outage of a minute that a maximum timeout of 2 s does not survive."""
    outage = {"model": "outage", "times": [{"start": "2 s", "duration": "60 s"}]}
    app = {"kind": "transfer", "bytes": 10_000_000}
    made = scenario(duration="1 h", forward={"channel": outage}, flow={"app": app})
    answer = retx.why(made, replications=1)
    rows = {row["name"]: row for row in answer.remedies}
    assert rows["max_rto"]["failures"] == 1
    assert rows["max_rto"]["gain"] < 0.1
    assert rows["arq"]["failures"] == 0
    assert answer.content["fix"] != "max_rto"


@pytest.mark.parametrize(
    ("start", "few", "remedy", "sysctl"),
    [
        ("2 s", {"max_retransmissions": 5}, "max_retransmissions", "net.ipv4.tcp_retries2=15"),
        ("0 s", {}, "max_syn_retransmissions", "net.ipv4.tcp_syn_retries=12"),
    ],
)
def test_a_connection_that_tcp_gives_up_too_soon_is_kept(
    start: str, few: dict[str, int], remedy: str, sysctl: str
) -> None:
    outage = {"model": "outage", "times": [{"start": start, "duration": "200 s"}]}
    app = {"kind": "transfer", "bytes": 10_000_000}
    made = scenario(duration="1 h", forward={"channel": outage}, flow={"app": app})
    made["tcp"] = {"own": {"like": "linux", **few}}
    made["flow"][0]["tcp"] = "own"
    answer = retx.why(made, replications=1)
    assert answer.content["fix"] == remedy
    assert sysctl in answer.summary
    # A connection that is not given up needs no more retransmissions.
    made["tcp"]["own"] = {"like": "linux", "max_retransmissions": 60, "max_syn_retransmissions": 60}
    names = {row["name"] for row in retx.why(made, replications=1).remedies}
    assert remedy not in names


@pytest.mark.parametrize(
    ("deaf", "start", "instruction"),
    [
        ("forward", "0 s", "accepts connections: sysctl -w net.ipv4.tcp_synack_retries=15"),
        ("reverse", "30 ms", "which sends the requests: sysctl -w net.ipv4.tcp_retries2=15"),
    ],
)
def test_a_side_that_gives_up_before_it_sends_data_is_found(
    deaf: str, start: str, instruction: str
) -> None:
    """A lost SYN/ACK ends the server, and a lost request the client; no timer of data runs."""
    outage = {"model": "outage", "times": [{"start": start, "duration": "90 s"}]}
    app = {"kind": "request_response", "request": 300, "response": 100_000, "exchanges": 3}
    made = scenario(duration="10 min", flow={"app": app}, **{deaf: {"channel": outage}})
    made["tcp"] = {"own": {"like": "linux", "max_retransmissions": 3}}
    made["flow"][0]["tcp"] = "own"
    answer = retx.why(made, replications=1)
    assert answer.content["fix"] == "max_retransmissions"
    assert instruction in answer.summary
    assert "instead of no response (one draw)" in answer.summary


def test_a_flow_that_ends_or_lasts_has_not_failed() -> None:
    assert situation(scenario(duration="2 s", warmup="1 s")).failed_at_s is None
    short = {"app": {"kind": "transfer", "bytes": 1000}}
    assert situation(scenario(duration="2 s", flow=short)).failed_at_s is None
    late = scenario(duration="2 s", flow={"start": "1 s"})
    assert situation(late).failed_at_s is None
    late["flow"].append({**late["flow"][0], "name": "g", **short})
    assert situation({**late, "duration": "9 s"}).failed_at_s is None


def test_without_a_connection_no_losses_are_invented() -> None:
    slow = evidence(situation(scenario(delay="100 s", duration="60 s")), "handshake")
    assert slow == "no connection came about, as the run ended at 60 s, before a SYN was answered"
    slower = evidence(situation(scenario(delay="1 h", duration="3 h")), "handshake")
    assert slower.startswith("no connection came about, as TCP gave up at 1")
    deaf = scenario(duration="60 s", forward={"channel": {"model": "bernoulli", "p": 1}})
    assert evidence(situation(deaf), "handshake").endswith("each answer to it was lost")


def test_a_link_is_busy_for_the_life_of_a_late_flow() -> None:
    here = situation(scenario(duration="6 s", flow={"start": "3 s"}))
    assert here.shares["bottleneck"] > 0.9
    assert here.busy is not None
    assert here.busy < 0.55
    assert phrase(here, "bottleneck") == "by the link's rate"
    assert re.match(
        r"net is busy \S+ % of the run, of which the flow lasts 50 %", evidence(here, "bottleneck")
    )


def test_the_gain_of_an_active_queue_by_its_limit_alone_is_shown() -> None:
    """CoDel has a limit of 1,000 packets; part of its gain over a short queue is due to it."""
    made = scenario(duration="20 s", queue={"discipline": "droptail", "packets": 5})
    answer = retx.why(made, replications=2)
    rows = {row["name"]: row for row in answer.remedies}
    found = rows["pie"]["limit_alone"]
    assert (found["packets"], found["draws"]) == (1000, 2)
    key = next(iter(rows["pie"]["change"]))
    runs = [
        [retx.run(made, replication=draw, overrides=change).flows.row(0, named=True)
         for change in ({}, {key: {"discipline": "droptail", "packets": 1000}})]
        for draw in range(2)
    ]  # fmt: skip
    ratios = [after["goodput_bit_s"] / before["goodput_bit_s"] for before, after in runs]
    assert found["gain"] == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    delays = [after["rtt_mean_s"] - before["rtt_mean_s"] for before, after in runs]
    assert found["price"]["rtt_s"] == pytest.approx(sum(delays) / 2)
    assert rows["queue_size"]["limit_alone"] is None
    # Over a queue that is as long, all of the gain is due to the discipline.
    made = scenario(duration="20 s", queue={"discipline": "droptail", "packets": 20_000})
    for row in retx.why(made, replications=1).remedies:
        assert row["limit_alone"] is None


def test_an_advice_whose_gain_is_that_of_its_limit_says_so(tmp_path: Path) -> None:
    """Forty servers answer at once into a queue of 100 packets, and CoDel has a limit of 1,000."""
    path = tmp_path / "incast.toml"
    init.command(path, "datacentre")
    answer = retx.why(path)
    assert answer.content["fix"] == "codel"
    text = r"Its longer limit alone gains about as much: a drop-tail queue of 1\s000 packets"
    assert re.search(text, answer.summary)
