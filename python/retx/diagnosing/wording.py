"""Diagnosis of a flow in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from retx.analysis.limits import flat, per_cent
from retx.terminal.quantities import counted, seconds

LEAST_SHARE = 0.005
MOST_SHARES = 5
RTO_MAX_S = 120.0
"""Largest RTO of Linux; doubling alone would exceed it after a few timeouts."""
LONG_WAIT = 3.0
"""A wait is commented on from this multiple of the RTO on; a single missing retransmission triples
the wait (RFC 6298 §5.5).
"""
PLACES = {
    "sender": "at the sender's end",
    "middle": "between the ends",
    "receiver": "at the receiver's end",
    "unknown": "at an unknown place",
}
LIMITS = {
    "handshake": "by the handshake",
    "application": "by the application, which had nothing to send",
    "send_buffer": "by the send buffer or a clamp of the congestion window",
    "receive_window": "by the receiver's window",
    "bottleneck": "by the bottleneck, which the data in flight kept busy",
    "slow_start": "by slow start",
    "window": "by windows reduced",
    "recovery": "by fast recovery",
    "timeout": "by waiting for the retransmission timer",
    "pacing": "by pacing",
    "nagle": "by Nagle's algorithm",
    "delayed_ack": "by delayed ACKs",
    "unknown": "by causes that the capture does not show",
}
APART = {
    "keep_alive": "keep-alive",
    "window_probe": "window probe",
    "network_duplicate": "network duplicate",
}
"""Kinds that repeat data although nothing is retransmitted, with their names in sentences."""
CAUSES = {
    "congestion": "after congestion",
    "wireless": "after losses of the channel",
    "spurious": "after delays taken for losses",
    "unknown": "after losses of unknown cause",
}
EVIDENCE = {
    "none": "nothing says otherwise",
    "acknowledged_before": "its data had been acknowledged",
    "sacked_before": "its data had been selectively acknowledged",
    "dsack": "DSACK",
    "older_timestamp": "its ACK echoes an older timestamp",
    "own_timestamp": "its ACK echoes its own timestamp",
    "early_ack": "its ACK came before it can have arrived",
    "jump": "the ACK of data sent again before it covers it",
    "arrived_before": "its data had arrived",
    "late_original": "its original came later",
    "not_seen": "no earlier copy came by",
    "no_dsack": "no DSACK came",
    "arrived_there": "an earlier copy is in the other capture",
    "lost_between": "no earlier copy reached the other capture",
}


def lost(flow: Mapping[str, Any]) -> float:
    """Seconds that a flow lost through packet losses and silences; used for sorting."""
    total = 0.0
    for key in ("window", "recovery", "timeout"):
        total += sum(flow["limited_by"][key].values())
    return total + float(flow["limited_by"]["receive_window"]) + 1e-6 * len(resent(flow))


def resent(flow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Retransmissions of a flow, without keep-alives, window probes and duplicates."""
    return [it for it in flow["retransmissions"] if it["kind"] not in APART]


def needless(flow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Retransmissions that were certainly needless."""
    return [it for it in resent(flow) if it["needless"] == "yes"]


def shares(flow: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Names of the limits with their shares of the flow's lifetime, the largest share first."""
    words, life = phrases(flow), flow["life_s"] or 1.0
    found = [(words[key], part / life) for key, part in flat(flow["limited_by"]).items()]
    large = [(phrase, share) for phrase, share in found if share >= LEAST_SHARE]
    return sorted(large, key=lambda it: -it[1])


def phrases(flow: Mapping[str, Any]) -> dict[str, str]:
    """Phrase for each key of the flow's limits, such as `window.unknown`."""
    found = {}
    for key in flat(flow["limited_by"]):
        kind, _, cause = key.partition(".")
        words = LIMITS.get(kind, kind.replace("_", " "))
        found[key] = f"{words} {CAUSES[cause]}" if cause else words
    return found


def listed(flow: Mapping[str, Any], most: int | None = None) -> list[tuple[str, float]]:
    """The largest shares, at most `most`, and the sum of all others if it is not negligible."""
    found = shares(flow)[:most]
    rest = 1.0 - sum(share for _, share in found)
    return [*found, ("by others", rest)] if found and rest >= LEAST_SHARE else found


def largest(flow: Mapping[str, Any]) -> str:
    """Largest share of the lifetime and its limit, in short: `63% receive window`."""
    if not flow["life_s"]:
        return "–"
    sums = {
        key: sum(value.values()) if isinstance(value, Mapping) else value
        for key, value in flow["limited_by"].items()
    }
    key = max(sums, key=lambda name: sums[name])
    return f"{per_cent(sums[key] / flow['life_s'])} {key.replace('_', ' ')}"


def sent_by(flow: Mapping[str, Any], retransmission: Mapping[str, Any]) -> str:
    """Side that sent a retransmission: the `sender` or the `receiver` of the flow's data."""
    return "sender" if flow["name"].startswith(f"{retransmission['from']} > ") else "receiver"


def rto(timeout: Mapping[str, Any]) -> str:
    """Retransmission timeout before a timeout, as the ACKs and the doublings give it."""
    found = timeout["rto_s"]
    return seconds(found if found is None else min(found, RTO_MAX_S))


def episode_kind(episode: Mapping[str, Any]) -> str:
    """Kind of an episode: `fast retransmit` or `timeout`."""
    kind = str(episode["kind"])
    return "timeout" if kind == "rto" else kind.replace("_", " ")


def what(retransmission: Mapping[str, Any]) -> str:
    """Kind of a retransmission; `timeout 2` is the second of successive timeouts."""
    kind = str(retransmission["kind"]).replace("_", " ")
    number = retransmission.get("number")
    return f"{kind} {number}" if number else kind


def reason(retransmission: Mapping[str, Any]) -> str:
    """Evidence that a retransmission was needed or needless, with the frame of the evidence."""
    proof = retransmission["proof"]
    words = EVIDENCE[proof["evidence"]]
    if not retransmission["length_bytes"]:
        words = words.replace("its data", "it")
    return f"{words} (frame {proof['packet']})" if "packet" in proof else words


def between(found: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about the path between two captures."""
    yield (
        f"Between {found['file']} and {found['other_file']} a round trip takes at least "
        f"{seconds(found['round_trip_min_s'])}."
    )
    for name, passed in (
        ("Towards the receiver", found["forward"]),
        ("On the reverse path", found["backward"]),
    ):
        text = f"{name} {passed['lost']} of {passed['sent']} packets were lost"
        if passed["lost"]:
            text += (
                f" (the first is frame {passed['lost_frames'][0]} where it was sent; "
                f"{passed['loss_run_mean']:.3g} in a row on average, "
                f"{passed['loss_run_max']} at most)"
            )
        text += f", {passed['reordered']} were reordered"
        if passed["reordered"]:
            text += f" (late by up to {seconds(passed['late_max_s'])})"
        yield (
            f"{text}; above the least delay, the queueing delay was "
            f"{seconds(passed['queueing_median_s'])} in the median, "
            f"{seconds(passed['queueing_max_s'])} at most."
        )
    skew = found["skew_ppm"]
    yield (
        f"The clock of {found['other_file']} is ahead by {found['offset_s'] * 1e3:.3f} ms, with an "
        f"error of up to {found['offset_error_s'] * 1e3:.3f} ms"
        + (f", and gains {skew:.2f} millionths." if skew is not None else ".")
    )


def paragraph(flow: Mapping[str, Any]) -> Iterator[str]:
    """Paragraph that can be forwarded, for example to a network operator."""
    rate = flow["goodput_bit_s"] / 1e6
    acknowledged = flow["acknowledged_bytes"]
    part = "" if acknowledged == flow["bytes"] else f"{acknowledged} acknowledged of "
    passed = f"in {seconds(flow['life_s'])}, {rate:.3g} Mbit/s" if flow["life_s"] else "at one time"
    yield f"{part}{flow['bytes']} bytes {passed}; captured {PLACES[flow['place']]}."
    said = ", ".join(f"{per_cent(share)} {words}" for words, share in listed(flow, MOST_SHARES))
    if said:
        yield f"It was limited {said}."
    yield from _resent(flow)
    if flow["timeouts"]:
        yield timeouts(flow)
    if flow["stalls"]:
        worst = max(flow["stalls"], key=lambda it: it["duration_s"])
        yield (
            f"The longest silence, {seconds(worst['duration_s'])}, ends with frame "
            f"{worst['packet']}: {LIMITS[worst['cause']]}."
        )
    if flow["ends_in_mid_write"] and flow["place"] != "sender":
        yield (
            "The data end although the sender had more (no PSH and no end of the connection): the "
            "capture was stopped, or nothing passed any more. The time afterwards is not part of "
            "the shares."
        )
    if "between" in flow:
        yield from between(flow["between"])
    if flow["reordered"]:
        late = counted(flow["reordered"], "packet")
        yield f"{late} {'was' if flow['reordered'] == 1 else 'were'} reordered, not retransmitted."
    if said:
        because = ""
        if flow["acks_wait"]:
            because = (
                ", because acknowledgments wait in a queue on their way to the sender: it is not "
                "known well which data keep the bottleneck busy"
            )
        yield f"The shares have a certainty of {per_cent(flow['certainty'])}{because}."


def _resent(flow: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about retransmissions, and about other packets that repeat data."""
    found, wasted = resent(flow), needless(flow)
    if found:
        first = f"{'in' if len(found) == 1 else 'the first in'} frame {found[0]['packet']}"
        text = f"{counted(len(found), 'retransmission')}, {first}"
        if len(found) == len(wasted) == 1:
            text += f"; needless: {reason(wasted[0])}"
        elif len(wasted) == 1:
            text += f"; one of them needless, frame {wasted[0]['packet']}: {reason(wasted[0])}"
        elif wasted:
            many = "all" if len(found) == len(wasted) else f"{len(wasted)} of them"
            text += f"; {many} needless, such as frame {wasted[0]['packet']}: {reason(wasted[0])}"
        yield f"{text}."
    for kind, noun in APART.items():
        others = [it for it in flow["retransmissions"] if it["kind"] == kind]
        if others:
            where = "in" if len(others) == 1 else "the first in"
            yield f"{counted(len(others), noun)}, {where} frame {others[0]['packet']}."


def timeouts(flow: Mapping[str, Any]) -> str:
    """Number of timeouts, and the longest wait for one."""
    longest = max(flow["timeouts"], key=lambda it: it["waited_s"])
    number = longest["number"]
    series = f", timeout {number} of a series" if number > 1 else ""
    text = (
        f"{counted(len(flow['timeouts']), 'timeout')}; the longest wait, "
        f"{seconds(longest['waited_s'])}, ends with frame {longest['packet']}{series} "
        f"(RTO by the ACKs: {rto(longest)}; {flow['timer']})."
    )
    times = longest["waited_s"] / min(longest["rto_s"] or RTO_MAX_S, RTO_MAX_S)
    if times >= LONG_WAIT:
        text += (
            f" This wait is {times:.0f} times the RTO: earlier retransmissions are missing from "
            "the capture, or the sender's timer is longer than the ACKs suggest."
        )
    return text
