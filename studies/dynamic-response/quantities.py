"""Numbers that each run is asked for."""

from __future__ import annotations

from math import isfinite
from typing import Any

import retx
from retx.study import RunTables

CAUSES = ("congestion", "wireless", "spurious")
KINDS = {"rto": "rto", "frr": "fast_retransmit"}
"""Recoveries as the paper abbreviates them: their names in the tables."""
SAMPLE = range(8, 19)
"""Retransmissions of a timeout's recovery that is like that of figure 7: 13 there."""
FIGURE_7 = 54.70
"""Time of the timeout in figures 7a and 7b, s."""
OF_ONE = ("rto", "frr", "rto_congestion", "frr_congestion", "frr_spurious")
"""Quantities that are also computed for the first connection alone."""

Row = dict[str, Any]
Numbers = dict[str, float | None]


def quantities(result: RunTables) -> Numbers:
    """Goodput, losses, recoveries by their cause, what they cost: of all TCP flows together."""
    flows = [row for row in result.flows.iter_rows(named=True) if row["tcp"] is not None]
    found = _goodputs(flows) | _recoveries(flows) | _losses(result)
    one = _recoveries(flows[:1])
    found |= {f"{name}_one": one[name] for name in OF_ONE}
    try:
        episodes = result.episodes
    except retx.NotRecordedError:
        return found
    return found | _windows(list(episodes.iter_rows(named=True)))


def _goodputs(flows: list[Row]) -> Numbers:
    """Goodputs in kbit/s, and Jain's index of the flows (equation 6)."""
    each = [row["goodput_bit_s"] / 1e3 for row in flows]
    found: Numbers = {
        "goodput": sum(each),
        "jain": _over(sum(each) ** 2, len(each) * sum(one * one for one in each)),
    }
    for group in ("one", "other"):
        own = [row["goodput_bit_s"] / 1e3 for row in flows if row["name"].startswith(group)]
        if own:
            found[f"goodput_{group}"] = sum(own) / len(own)
    if "goodput_other" in found:
        found["advantage"] = _over(found["goodput_other"], found["goodput_one"])
    return found


def _recoveries(flows: list[Row]) -> Numbers:
    counts = {
        (kind, cause): sum(row[f"episodes_{name}_{cause}"] for row in flows)
        for kind, name in KINDS.items()
        for cause in CAUSES
    }
    found: Numbers = {}
    for kind, name in KINDS.items():
        all_of_it = sum(counts[kind, cause] for cause in CAUSES)
        found[kind] = sum(row[f"{name}_count"] for row in flows)
        found[f"{kind}_each"] = _over(found[kind], len(flows))
        for cause in CAUSES:
            found[f"{kind}_{cause}"] = _over(counts[kind, cause], all_of_it)
    everything = sum(counts.values())
    congestion = sum(counts[kind, "congestion"] for kind in KINDS)
    found["irrelevant"] = _over(everything - congestion, everything)
    resent = sum(row["segments_retransmitted"] for row in flows)
    unnecessary = sum(row["retransmissions_unnecessary"] for row in flows)
    return found | {
        "resent": resent,
        "unnecessary": unnecessary,
        "unnecessary_share": _over(unnecessary, resent),
        "backoff": 2.0 ** max(row["max_backoff"] for row in flows),
        "idle_max": max(row["idle_max_s"] for row in flows),
        "idle": sum(row["idle_rto_s"] for row in flows) / len(flows),
    }


def _losses(result: RunTables) -> Numbers:
    """Losses on the wireless link towards the receiver, by reason."""
    for row in result.links.iter_rows(named=True):
        if row["name"] == "wireless" and row["direction"] == "forward":
            lost = row["drops_queue"] + row["drops_channel"]
            return {
                "lost_percent": _over(100 * lost, row["packets_in"]),
                "lost_wireless": _over(row["drops_channel"], lost),
            }
    return {}


def _windows(episodes: list[Row]) -> Numbers:
    """Figure 7: windows after losses, and how long it takes to send again."""
    timeouts = [row for row in episodes if row["kind"] == "rto"]
    fast = [
        row for row in episodes if row["kind"] == "fast_retransmit" and row["cwnd_before_bytes"]
    ]
    alike = [row for row in timeouts if row["retransmitted"] in SAMPLE and row["end_s"]]
    first = [row for row in timeouts if row["backoff"] == 0]
    shown = [row["retransmitted"] for row in timeouts if row["start_s"] >= FIGURE_7]
    return {
        "cwnd_after_rto": _mean([row["cwnd_after_bytes"] for row in timeouts]),
        "cwnd_after_frr": _mean([row["cwnd_after_bytes"] for row in fast]),
        "cwnd_kept_frr": _mean(
            [row["cwnd_after_bytes"] / row["cwnd_before_bytes"] for row in fast]
        ),
        "resent_of_an_rto": _mean([row["retransmitted"] for row in timeouts]),
        "resent_of_one_rto": _mean(shown[:1]),
        "recovery": _mean([row["end_s"] - row["start_s"] for row in alike]),
        "first_rto": _mean([row["rto_s"] for row in first]),
    }


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _over(above: float | None, below: float | None) -> float | None:
    if above is None or not below:
        return None
    share = above / below
    return share if isfinite(share) else None
