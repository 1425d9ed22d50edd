"""`retx why`: delays and instructions for split flows, goodput of staggered flows, ECN, ease."""

from __future__ import annotations

from typing import Any

import pytest

import retx
from retx.analysis.limits import flat, shares
from retx.analysis.ranking import easiest_gain
from retx.explaining.evidence import evidence
from retx.explaining.measured import measured
from retx.explaining.proposals import proposals
from retx.explaining.situation import Situation
from retx.explaining.trial import Trial

PROXY = {"name": "pep", "node": "router", "kind": "split", "buffer": 100_000}


def scenario(tcp: Any = "linux", *, app: Any = None, **changes: Any) -> dict[str, Any]:
    """A download over a fast and a slow link, whose queue holds a second of data."""
    queue = {"discipline": "droptail", "packets": 1000}
    wan = {"name": "wan", "ends": ["server", "router"], "rate": "1 Gbit/s", "delay": "2 ms"}
    air = {"name": "air", "ends": ["router", "client"], "rate": "10 Mbit/s", "delay": "20 ms"}
    flow = {"name": "f", "from": "server", "to": "client", "tcp": "t"}
    return {
        "duration": "20 s",
        "tcp": {"t": {"like": "linux"} if tcp == "linux" else tcp},
        "link": [wan, {**air, "queue": queue, **changes.pop("air", {})}],
        "flow": [{**flow, "app": app or {"kind": "transfer", "bytes": 4_000_000}}],
        **changes,
    }


def summary(made: dict[str, Any]) -> dict[str, Any]:
    return retx.run(made, tables=False, segments=False).summary


def situation(made: dict[str, Any]) -> Situation:
    found = summary(made)
    limits = shares(flat(found["flows"][0]["limited_by"]))
    return Situation(found["scenario"], found["scenario"]["flow"][0], limits, found)


def test_the_round_trip_of_a_split_flow_is_that_of_its_whole_path() -> None:
    """Data that wait in the proxy, or in the queue behind it, arrive no earlier."""
    found = summary(scenario(relay=[PROXY]))
    own, leg = found["flows"]
    trip_s = measured(found, found["scenario"]["flow"][0]).rtt_s
    assert own["rtt_mean_s"] < 0.01
    # 100 kB in the proxy take 80 ms at 10 Mbit/s.
    assert trip_s == pytest.approx(own["rtt_mean_s"] + leg["rtt_mean_s"] + 0.08, abs=0.02)


def test_a_proxy_is_no_advice_against_a_long_queue() -> None:
    answer = retx.why(scenario(), replications=1)
    split = next(row for row in answer.remedies if row["name"] == "split")
    assert split["price"]["rtt_s"] > 0
    assert "What can be had is delay" in answer.summary
    assert "a proxy at router" not in answer.summary


def test_retransmissions_behind_a_proxy_are_evidence() -> None:
    made = scenario(relay=[PROXY], air={"forward": {"channel": {"model": "bernoulli", "p": 0.02}}})
    found = situation(made)
    (leg,) = found.summary["flows"][1:]
    number = leg["episodes"]["fast_retransmit"]["wireless"]
    assert number > 10
    assert f"{number} fast retransmits by losses" in evidence(found, "window.wireless")


def bbr_with(relay: dict[str, Any], **changes: Any) -> Trial:
    """The trial of BBR for a lossy download with this relay."""
    lossy = {"forward": {"channel": {"model": "bernoulli", "p": 0.02}}}
    trials, _ = proposals(situation(scenario(relay=[relay], air=lossy, **changes)))
    return next(trial for trial in trials if trial.name == "bbr")


@pytest.mark.parametrize(("tcp", "keys"), [(None, {"t"}), ("reno", {"t", "reno"})])
def test_a_proxy_sends_with_the_changed_tcp_too(tcp: str | None, keys: set[str]) -> None:
    """The connection behind the proxy is the one that the losses slow down."""
    bbr = bbr_with(PROXY if tcp is None else {**PROXY, "tcp": tcp})
    assert bbr.overrides == {f"tcp.{key}.congestion_control": "bbr" for key in keys}
    assert bbr.apply[0].startswith("at the sender and at the proxy at router: modprobe tcp_bbr")


def test_a_snoop_agent_and_a_proxy_with_the_tcp_of_another_flow_stay_as_they_are() -> None:
    snoop = {"name": "agent", "node": "router", "kind": "snoop", "link": "air"}
    flow = {"name": "g", "from": "server", "to": "client", "tcp": "reno", "app": "bulk"}
    made = scenario(relay=[{**PROXY, "tcp": "reno", "flows": ["f"]}])
    shared = situation({**made, "flow": [*made["flow"], flow]})
    assert shared.proxies == []
    assert bbr_with(snoop).apply[0].startswith("at the sender: modprobe tcp_bbr")


def test_flows_that_start_one_after_the_other_get_no_more_than_the_link_carries() -> None:
    made = scenario(app="bulk", duration="2 s")
    made["flow"][0] |= {"count": 10, "stagger": "100 ms"}
    found = summary(made)
    delivered = 8 * sum(row["bytes_delivered"] for row in found["flows"])
    goodput = measured(found, found["scenario"]["flow"][0]).goodput_bit_s
    assert goodput == pytest.approx(delivered / 2.0)
    assert sum(row["goodput_bit_s"] for row in found["flows"]) > 1.1 * goodput


def test_reductions_by_ecn_are_counted() -> None:
    made = scenario({"like": "linux", "ecn": True}, air={"queue": "fq_codel"})
    found = situation(made)
    number = found.summary["flows"][0]["ecn_reductions"]
    assert number > 1
    assert evidence(found, "window.congestion") == f"{number} reductions after ECN marks"


def test_an_easier_remedy_reaches_half_of_the_best_improvement() -> None:
    gains = {"buffer": 1.08, "pacing": 1.03, "cubic": 1.05}

    def easiest(*names: str) -> str | None:
        return easiest_gain(names, gains.__getitem__, ["pacing", "cubic", "buffer"].index)

    assert easiest("buffer", "pacing") == "buffer"
    assert easiest("buffer", "cubic", "pacing") == "cubic"
    assert easiest() is None
    gains |= {"buffer": 0.9, "pacing": 0.89}
    assert easiest("buffer", "pacing") == "pacing"
