"""Estimates values of the report: measured, and computed from the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from retx.study import Estimate, Estimates, Measured, estimate, scaled

from .exchange import FIGURES, new_segments, situations
from .paper import from_the_paper

SERVER = "station.office.server."
IDLE_MAX = "flow.file.idle_max_s"
IDLE_TOTAL = "flow.file.idle_total_s"
KINDS = {
    "waiting": "policies",
    "fading": "policies_fading",
    "outages": "policies_outages",
    "pauses": "policies_pauses",
}
"""Kinds of channel, and the experiment of each."""
TESTS = ("2", "4")
POLICIES = ("keep", "reset", "linux", "linux_reno")


def values(measured: Measured) -> Estimates:
    """Everything that texts and claims name."""
    return _table_1(measured) | _exchange(measured) | policies(measured) | from_the_paper(measured)


def _table_1(measured: Measured) -> Estimates:
    found: Estimates = {}
    for case in (*"12345", "none"):
        for experiment in ("table_1", "fading", "outages"):
            if case not in measured.study.experiments[experiment].cases:
                continue
            for name in ("throughput", "busy_s", "idle_percent", "ip_loss"):
                found[f"{experiment}_{case}_{name}"] = measured.estimate(experiment, case, name)
    bursts = zip(
        measured.values("table_1", "2", SERVER + "channel_burst_max"),
        measured.values("table_1", "2", SERVER + "loss_burst_max"),
        strict=True,
    )
    beyond = zip(
        measured.values("table_1", "2", "ip_loss"),
        measured.values("table_1", "2", "fer"),
        strict=True,
    )
    return found | {
        "levels": _levels(measured),
        "idle_poor": _idle_poor(measured),
        "segments": measured.estimate("table_1", "2", "flow.file.segments_sent"),
        "good_over_clean": measured.ratio("table_1", "5", "none", "throughput"),
        "clean_throughput": measured.estimate("table_1", "none", "throughput"),
        "frames_per_packet": estimate([a / b if a and b else None for a, b in bursts]),
        "loss_over_independent": estimate(
            [a / (100 * b**4) if a and b else None for a, b in beyond]
        ),
        "spread": _spread(measured),
    }


def _levels(measured: Measured) -> Estimate | None:
    """The smaller ratio of neighbouring levels: medium over poor, or good over medium."""
    poor = max("24", key=lambda test: measured.mean("table_1", test, "throughput"))
    good = min("35", key=lambda test: measured.mean("table_1", test, "throughput"))
    pairs = (("1", poor), (good, "1"))
    ratios = [_quotient(measured, above, below) for above, below in pairs]
    return min((it for it in ratios if it), key=lambda it: it.mean, default=None)


def _quotient(measured: Measured, above: str, below: str) -> Estimate | None:
    """Mean throughput of one test over that of another; their draws are not the same channel."""
    both = zip(
        *(measured.values("table_1", it, "throughput") for it in (above, below)), strict=False
    )
    pairs = [(a, b) for a, b in both if a and b]
    mean = fmean(b for _, b in pairs)
    ratio = fmean(a for a, _ in pairs) / mean
    # Ratio of two means, to first order.
    return estimate([a / mean - ratio * (b / mean - 1) for a, b in pairs])


def _idle_poor(measured: Measured) -> Estimate | None:
    """Idle share of test 2's runs below 1 Mbit/s, in per cent."""
    pairs = zip(
        measured.values("table_1", "2", "throughput"),
        measured.values("table_1", "2", "idle_percent"),
        strict=True,
    )
    return estimate([idle for rate, idle in pairs if rate is not None and rate < 1])


def _spread(measured: Measured) -> float | None:
    """Ratio of the largest to the smallest throughput of 95 % of single runs on one channel."""
    found = measured.estimate("table_1", "2", "throughput")
    return found.single.high / found.single.low if found and found.single else None


def _exchange(measured: Measured) -> Estimates:
    keep, reset = (measured.run("table_2", case) for case in ("keep", "reset_on_ack"))
    found = situations(keep)
    series = measured.study.published.series
    wrong = sum(
        found[situation][name] != value
        for name in FIGURES
        for situation, value in series[f"table_2_{name}"].values.items()
    )
    return {
        "table_2_wrong": float(wrong),
        "silence_rto": max(keep.episodes["rto_s"].to_list()),
        "silence": measured.mean("table_2", "keep", IDLE_MAX),
        "silence_reset": max(reset.episodes["rto_s"].to_list()),
        "silence_new_data": measured.mean("table_2", "new_data", IDLE_MAX),
        "silence_without_nagle": measured.mean("table_2", "nagle", IDLE_MAX),
        "new_segments": float(new_segments(keep)),
    }


def policies(measured: Measured, kinds: Mapping[str, str] = KINDS) -> Estimates:
    """Throughput and idle time with each policy of the backoff."""
    found: Estimates = {}
    for kind, experiment in kinds.items():
        for test in TESTS:
            keep, end = f"{test} keep", f"_{kind}_{test}"
            reset, data = f"{test} reset", f"{test} keep data"
            for policy in POLICIES:
                case = f"{test} {policy}"
                found[f"throughput_{policy}{end}"] = measured.estimate(
                    experiment, case, "throughput"
                )
                found[f"idle_{policy}{end}"] = measured.estimate(experiment, case, IDLE_TOTAL)
            idle = measured.mean(experiment, keep, IDLE_TOTAL)
            acks = measured.difference(experiment, keep, data, IDLE_TOTAL)
            linux = f"{test} linux"
            found |= {
                f"gain{end}": measured.ratio(experiment, reset, keep, "throughput"),
                f"gain_data{end}": measured.ratio(
                    experiment, f"{test} reset data", data, "throughput"
                ),
                f"gain_linux{end}": measured.ratio(experiment, linux, keep, "throughput"),
                f"linux_over_reset{end}": measured.ratio(experiment, linux, reset, "throughput"),
                f"idle_max_less{end}": measured.difference(experiment, keep, reset, IDLE_MAX),
                f"idle_total_less{end}": measured.difference(experiment, keep, reset, IDLE_TOTAL),
                f"ack_share{end}": scaled(acks, 100 / idle),
                f"ack_loss{end}": measured.estimate(experiment, keep, "ack_loss"),
                f"idle_percent{end}": measured.estimate(experiment, keep, "idle_percent"),
            }
    return found
