"""Explanations of the rows that differ: runs with one change, compared with the original runs."""

from __future__ import annotations

from retx.study import Estimates, Measured, Verdict
from retx.study.claims import Rows
from retx.study.rules import judge

from .paper import MEBIBITS
from .values import IDLE_MAX, IDLE_TOTAL, TESTS

CHANNELS = {
    "table_1": "bursts that wait",
    "fading": "fading",
    "outages": "short outages",
    "rare": "bad periods of 10 s",
}
"""Experiments with all columns of table I, and the kind of channel of each."""
QUANTITIES = {
    "throughput": "throughput",
    "busy_s": "busy_s",
    "idle_percent": "idle_percent",
    "ip_loss": "ip_loss",
    "rtx_max": "retransmissions_max",
    "rtt": "rtt",
    "rtt_sd": "rtt_sd",
    "idle_max": IDLE_MAX,
    "idle_total": IDLE_TOTAL,
}


def switch_values(measured: Measured) -> Estimates:
    """Estimates values."""
    return _channels(measured) | _good(measured) | _pays(measured) | _paper(measured)


def _channels(measured: Measured) -> Estimates:
    found: Estimates = {}
    for experiment in CHANNELS:
        for test in cases_of(measured, experiment):
            for name, quantity in QUANTITIES.items():
                found[f"{experiment}_{test}_{name}"] = measured.estimate(experiment, test, quantity)
            agree = [verdict(measured, rows, experiment, test, test) for rows in rows_of(measured)]
            found[f"within_{experiment}_{test}"] = float(len(agree) - agree.count(Verdict.DIFFERS))
    return found


def _good(measured: Measured) -> Estimates:
    found: Estimates = {
        f"growth_{test}_{name}": measured.estimate("growth", test, QUANTITIES[name])
        for test in "14"
        for name in ("rtt", "idle_total")
    }
    resent = measured.estimate("good", "5 stalls exponential", "flow.file.segments_retransmitted")
    found["good_5_stalls_exponential_resent"] = resent
    return found | {
        f"good_{case.replace(' ', '_')}_{name}": measured.estimate("good", case, quantity)
        for case in measured.study.experiments["good"].cases
        for name, quantity in QUANTITIES.items()
        if name != "rtx_max"
    }


def _pays(measured: Measured) -> Estimates:
    return {
        f"pays_{test}_{name}": measured.ratio(
            "pays", f"{test} {name} reset", f"{test} {name} keep", "throughput"
        )
        for test in TESTS
        for name in ("bad", "share", "long")
    }


def _paper(measured: Measured) -> Estimates:
    """Segments in flight while the paper's transfers were not idle; frames of one segment."""
    series = measured.study.published.series
    found: Estimates = {}
    for test in "35":
        took = MEBIBITS / series["throughput"].values[test]
        busy = took - series["idle_total"].values[test]
        rtt_s = series["rtt_mean"].values[test] / 1e3
        found[f"paper_flight_{test}"] = MEBIBITS / busy * rtt_s * 1e6 / 8 / 1448
    attempts = measured.study.published.numbers["attempts"].value
    for test in "124":
        found[f"paper_frames_{test}"] = attempts * series["retransmissions_max"].values[test]
    return found


def cases_of(measured: Measured, experiment: str) -> list[str]:
    """Cases of an experiment that are tests of table I."""
    return [case for case in measured.study.experiments[experiment].cases if case in "12345"]


def rows_of(measured: Measured) -> list[Rows]:
    """Rows of table I."""
    return measured.study.rows


def verdict(measured: Measured, rows: Rows, experiment: str, case: str, test: str) -> Verdict:
    """Verdict on a row of table I, judged by the runs of another case."""
    target = measured.study.published.series[rows.published].target(test)
    assert target is not None
    found = measured.estimate(experiment, case, rows.quantity)
    return judge(rows.criterion(target), found).verdict
