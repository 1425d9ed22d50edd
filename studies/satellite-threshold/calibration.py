"""Values of the claims on figures 3, 5 and 7, and of held-out ones, from single points."""

from __future__ import annotations

from collections.abc import Mapping

from retx.study import Estimates, Measured, Values

from .runs import (
    BER,
    COUNT,
    COUNTS,
    RATES,
    TCP,
    THRESHOLD,
    Place,
    of_means,
    power,
    ratio,
    ratio_of_sums,
)  # fmt: skip
from .values import curve_values, least, orders

READING = "fast"
"""Case of the experiment `judged`."""


class Points:
    """Total throughput of all connections of an experiment, point by point."""

    def __init__(self, measured: Measured, name: str) -> None:
        self.measured, self.name = measured, name
        self.keys = list(measured.study.experiments[name].grid)

    def values(self, case: str, column: str, *at: Place) -> Values:
        """The throughput of each run, kbit/s."""
        assert column == "throughput"
        point = dict(zip(self.keys, at, strict=True))
        series = [
            self.measured.values(self.name, case, f"flow.{flow}.goodput_bit_s", at=point)
            for flow in _flows(int(at[0]))
        ]
        return [sum(one or 0.0 for one in run) / 1e3 for run in zip(*series, strict=True)]


def calibration(measured: Measured) -> Estimates:
    """Gains, levels and orders for one, two and three connections."""
    judged = Points(measured, "judged")
    found: Estimates = {}
    for count in COUNTS:
        found |= curve_values(judged, READING, count) | orders(judged, READING, count)
    return found | least(found, (READING,))


def held_out(measured: Measured) -> Estimates:
    """Values of claims on figures 8 and 9, on the cost of corruption, and on Westwood."""
    found: Estimates = {"wired_change": _wired(measured)}
    for ber in RATES:
        low, high = (
            _kbit(measured, "short_judged", READING, {BER: ber, THRESHOLD: threshold})
            for threshold in ("60 ms", "100 ms")
        )
        found[f"short_gain_10_{power(ber)}_fast"] = ratio(high, low)
        at: dict[str, Place] = {COUNT: 1, BER: ber}
        rule = _kbit(measured, "judged", READING, at | {THRESHOLD: "550 ms"})
        none = _kbit(measured, "plain", "none", at)
        clean = _kbit(measured, "plain", "none", {COUNT: 1, BER: 0.0})
        found |= shares(power(ber), rule, none, clean)
    pairs = []
    for ber in RATES:
        place: dict[str, Place] = {TCP: "westwood", BER: ber}
        rule, none = (_kbit(measured, "tcps", case, place) for case in ("fast", "none"))
        pairs.append((rule, none))
    return found | {"westwood_all_fast": ratio_of_sums(pairs)}


def shares(power_of_ten: int, rule: Values, none: Values, clean: Values) -> Estimates:
    """Throughput with the rule over that without errors, and the regained share of the loss."""
    alike = min(map(len, (rule, none, clean)))
    rule, none = rule[:alike], none[:alike]
    undisturbed = [clean[0]] * alike
    return {
        f"share_1_{power_of_ten}_fast": ratio(rule, undisturbed),
        f"regained_1_{power_of_ten}_fast": of_means(
            lambda a, b, c: (a - b) / (c - b) if c != b else 0.0, rule, none, undisturbed
        ),
    }


def _wired(measured: Measured) -> float:
    """Largest relative change of the throughput by a threshold, without errors."""
    found = []
    for count in COUNTS:
        by_ticks = {
            ticks: sum(
                measured.mean(
                    "wired",
                    "text",
                    f"flow.{flow}.goodput_bit_s",
                    at={COUNT: count, THRESHOLD: f"{ticks}0 ms"},
                )
                for flow in _flows(count)
            )
            for ticks in range(51, 61)
        }
        found += [abs(it / by_ticks[51] - 1) for it in by_ticks.values()]
    return max(found)


def _kbit(measured: Measured, experiment: str, case: str, at: Mapping[str, Place]) -> Values:
    """Throughput of a single connection, run by run."""
    series = measured.values(experiment, case, "flow.ftp.goodput_bit_s", at=at)
    return [one and one / 1e3 for one in series]


def _flows(count: int) -> list[str]:
    return ["ftp"] if count == 1 else [f"ftp.{each}" for each in range(count)]
