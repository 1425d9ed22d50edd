"""Named values of the report: measured, and computed from the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from retx.study import Estimate, Interval, Measured, estimate, exact

from .exchange import FIGURES, new_segments, situations

Named = dict[str, Estimate | float | None]

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
MEBIBITS = 8 * 10_485_760 / 1e6
"""The file in Mbit."""


def values(measured: Measured) -> Named:
    """Everything that texts and claims name."""
    return _table_1(measured) | _exchange(measured) | _policies(measured) | _paper(measured)


def calibration(measured: Measured) -> Named:
    """The longest silence of test 2, a fact; the search uses only rows of table I."""
    silences = measured.values("table_1", "2", IDLE_MAX)
    return {"longest_silence_2": max(it for it in silences if it is not None)}


def held_out(measured: Measured) -> Named:
    """Values of claims on the proposal, with the channel of the base."""
    return _policies(measured, {"waiting": KINDS["waiting"]})


def scaled(value: Estimate | None, by: float) -> Estimate | None:
    """An estimate in another unit."""
    if value is None:
        return None
    interval = value.interval and _stretched(value.interval, by)
    return replace(
        value,
        mean=value.mean * by,
        interval=interval,
        single=value.single and _stretched(value.single, by),
    )


def _stretched(interval: Interval, by: float) -> Interval:
    low, high = sorted((interval.low * by, interval.high * by))
    return Interval(low, high)


def _table_1(measured: Measured) -> Named:
    found: Named = {}
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


def _exchange(measured: Measured) -> Named:
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


def _policies(measured: Measured, kinds: Mapping[str, str] = KINDS) -> Named:
    found: Named = {}
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


def _paper(measured: Measured) -> Named:
    """Values computed from the paper's numbers."""
    series = measured.study.published.series
    throughput, idle = (series[name].values for name in ("throughput", "idle_total"))
    took = {case: MEBIBITS / value for case, value in throughput.items()}
    lost, again = series["ip_loss"].values, series["retransmissions"].values
    return {
        "paper_rto_8": _rto_s(310, 580, 4, 4),
        "paper_rto_8_reset": _rto_s(310, 580, 4, 0),
        "paper_rto_1": _rto_s(30, 10, 8, 0),
        "paper_srtt_6": 30 + (3000 - 30) / 8,
        "paper_mdev_6": 10 + (3000 - 30 - 10) / 4,
        "paper_lost": exact(
            max(abs(lost[case] / 100 * 7500 / again[case] - 1) for case in ("1", "2", "4"))
        ),
        "paper_idle_2": 100 * idle["2"] / took["2"],
        "paper_idle_4": 100 * idle["4"] / took["4"],
        **{f"paper_busy_{case}": took[case] - idle[case] for case in took},
        "paper_busy_4_most": MEBIBITS / 0.495 - idle["4"],
        "paper_loss_over_independent": lost["2"] / 100 / series["fer"].values["2"] ** 4,
    }


def _rto_s(srtt: float, mdev: float, cwnd: int, backoff: int) -> float:
    """Equation 1, from milliseconds."""
    factor = 1 + 1 / 4 + 0.5 ** (cwnd - 1)
    return float((srtt + 4 * mdev) * factor * 2.0**backoff / 1e3)
