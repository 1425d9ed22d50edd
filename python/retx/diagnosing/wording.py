"""Diagnosis of a flow in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from retx.terminal.quantities import seconds

LEAST_SHARE = 0.005
PLACES = {
    "sender": "at the sender's end",
    "middle": "between the ends",
    "receiver": "at the receiver's end",
    "unknown": "at a place that it does not tell",
}
LIMITS = {
    "handshake": "by the handshake",
    "application": "by the application, which had nothing to send",
    "send_buffer": "by the send buffer or a clamp of the congestion window",
    "receive_window": "by the receiver's window",
    "bottleneck": "by the bottleneck, whose queue stayed filled",
    "slow_start": "by slow start",
    "window": "by windows reduced",
    "recovery": "by fast recovery",
    "timeout": "by silence before retransmission timeouts",
    "pacing": "by pacing",
    "nagle": "by Nagle's algorithm",
    "delayed_ack": "by acknowledgments that the receiver held back",
    "unknown": "by something that the capture does not tell",
}
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
    "early_ack": "its ACK came sooner than a round trip",
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
    return total + float(flow["limited_by"]["receive_window"]) + 1e-6 * len(flow["retransmissions"])


def shares(flow: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Names of the limits with their shares of the flow's lifetime, the largest share first."""
    found = []
    for key, value in flow["limited_by"].items():
        parts = value.items() if isinstance(value, Mapping) else [(None, value)]
        for cause, part in parts:
            words = LIMITS.get(key, key.replace("_", " "))
            found.append((f"{words} {CAUSES[cause]}" if cause else words, float(part)))
    life = flow["life_s"] or 1.0
    large = [(words, part / life) for words, part in found if part / life >= LEAST_SHARE]
    return sorted(large, key=lambda it: -it[1])


def largest(flow: Mapping[str, Any]) -> str:
    """Largest share of the lifetime and its limit, in short: `63% receive_window`."""
    sums = {
        key: sum(value.values()) if isinstance(value, Mapping) else value
        for key, value in flow["limited_by"].items()
    }
    key = max(sums, key=lambda name: sums[name])
    return f"{sums[key] / (flow['life_s'] or 1.0):.0%} {key}"


def what(retransmission: Mapping[str, Any]) -> str:
    """Kind of a retransmission; `timeout 2` is the second of successive timeouts."""
    kind = str(retransmission["kind"]).replace("_", " ")
    number = retransmission.get("number")
    return f"{kind} {number}" if number else kind


def reason(retransmission: Mapping[str, Any]) -> str:
    """Evidence that a retransmission was needed or needless, with the frame of the evidence."""
    proof = retransmission["proof"]
    words = EVIDENCE[proof["evidence"]]
    return f"{words} (frame {proof['packet']})" if "packet" in proof else words


def between(found: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about the path between two captures."""
    yield (
        f"Between {found['file']} and {found['other_file']} a round trip takes at least "
        f"{seconds(found['round_trip_min_s'])}."
    )
    for name, way in (("Towards the receiver", found["forward"]), ("Back", found["backward"])):
        text = f"{name} {way['lost']} of {way['sent']} packets were lost"
        if way["lost"]:
            text += (
                f" (the first is frame {way['lost_frames'][0]} where it was sent; "
                f"{way['loss_run_mean']:.3g} in a row on average, {way['loss_run_max']} at most)"
            )
        text += f", {way['reordered']} were overtaken"
        if way["reordered"]:
            text += f" (by up to {seconds(way['late_max_s'])})"
        yield (
            f"{text}; beyond the least delay they waited {seconds(way['queueing_median_s'])} in "
            f"the median, {seconds(way['queueing_max_s'])} at most."
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
    yield (
        f"{flow['bytes']} bytes in {seconds(flow['life_s'])}, {rate:.3g} Mbit/s; captured "
        f"{PLACES[flow['place']]}."
    )
    said = ", ".join(f"{share:.0%} {words}" for words, share in shares(flow)[:5])
    if said:
        yield f"It was limited {said}."
    resent = flow["retransmissions"]
    if resent:
        needless = [it for it in resent if it["needless"] == "yes"]
        text = f"{len(resent)} retransmissions, the first in frame {resent[0]['packet']}"
        if needless:
            text += (
                f"; {len(needless)} of them needless, as frame {needless[0]['packet']}: "
                f"{reason(needless[0])}"
            )
        yield text + "."
    if flow["timeouts"]:
        longest = max(flow["timeouts"], key=lambda it: it["waited_s"])
        yield (
            f"{len(flow['timeouts'])} timeouts; before frame {longest['packet']}, timeout "
            f"{longest['number']} in a row, it waited {seconds(longest['waited_s'])} (RTO by the "
            f"ACKs: {seconds(longest['rto_s'])}; {flow['timer']})."
        )
    if flow["stalls"]:
        worst = max(flow["stalls"], key=lambda it: it["duration_s"])
        yield (
            f"The longest silence, {seconds(worst['duration_s'])}, ends with frame "
            f"{worst['packet']}: {LIMITS[worst['cause']]}."
        )
    if "between" in flow:
        yield from between(flow["between"])
    if flow["reordered"]:
        yield f"{flow['reordered']} packets came late, and are no retransmissions."
    if said:
        yield f"The shares have a certainty of {flow['certainty']:.0%}."
