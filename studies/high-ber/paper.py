"""Numbers computed from those of the paper."""

from __future__ import annotations

from retx.study import Measured, Named, exact

from .closed_forms import (
    MSS_BYTES,
    RWND_BYTES,
    binomial_two_sided,
    ethernet_limit,
    grown,
    per_exact,
    per_linear,
    round_up,
    segments,
    window_limit,
    window_time_s,
)


def from_the_paper(measured: Measured) -> Named:
    """Values computed from the paper's numbers."""
    series = measured.study.published.series
    number = {name: it.value for name, it in measured.study.published.numbers.items()}
    simulator, testbed = series["table_4"], series["table_8"].values
    start, least, most = (simulator.comparable(case) or 0.0 for case in ("0", "0.01", "0.1"))
    printed = simulator.values
    resent = series["table_5"].values
    extra = least - start
    return {
        "paper_slowdown": most / start,
        "paper_slowdown_printed": printed["0.1"] / printed["0"],
        "paper_slowdown_testbed": testbed["0.1"] / testbed["0"],
        "paper_extra_1": extra,
        "paper_extra_per_retransmission": extra / resent["0.01"],
        "paper_extra_testbed": testbed["0.01"] - testbed["0"],
        "paper_disagreement": most / testbed["0.1"],
        "paper_added_percent": 100 * (most / start - 1),
        "paper_difference_10": printed["0.1"] - printed["0"],
        "paper_percent_8": 100 * (testbed["0.01"] / testbed["0"] - 1),
        "paper_clean_from_table": printed["0"],
        "paper_naive_total": start + number["naive_added_s"],
        "paper_unexplained": extra - number["naive_added_s"],
        "paper_unexplained_printed": least - number["naive_total_s"],
        "paper_rate": number["frames"] / start,
        "paper_received_10": number["file_bytes"],
        "paper_resent_10": resent["0.1"],
        "paper_missing_segments": number["segments_lossless"] - number["segments_recovering"],
        "paper_round_s": (number["round_4_s"] - number["round_1_s"]) / 3,
        "step_6": grown(3 * MSS_BYTES, 6)[-1],
        "steps_to_window": float(
            next(step for step, cwnd in enumerate(grown(3 * MSS_BYTES, 30)) if cwnd >= RWND_BYTES)
        ),
        "segments": segments(),
        "ethernet_limit": ethernet_limit(),
        "window_limit": window_limit(),
        "window_time_s": window_time_s(),
        "table_1_worst": _table_1_worst(measured),
        "table_7_worst": _table_7_worst(measured),
        "per_exact_1250": per_exact(1e-4, 1250),
        "per_exact_1500": per_exact(1e-4, 1500),
        "per_ack": per_exact(1e-5, 40),
        "per_data": per_exact(1e-5, 1500),
        "chance_of_62": exact(binomial_two_sided(round_up(segments()), 0.01, int(resent["0.01"]))),
    }


def _table_1_worst(measured: Measured) -> float:
    """Largest relative deviation of table 1 from equation 3."""
    series = measured.study.published.series
    lengths = {"table_1_1250": 1250, "table_1_1500": 1500}
    return max(
        abs(value / per_linear(float(ber), length) - 1)
        for name, length in lengths.items()
        for ber, value in series[name].values.items()
    )


def _table_7_worst(measured: Measured) -> float:
    """Largest deviation of the calculated column of table 7 from n·p."""
    values = measured.study.published.series["table_7"].values
    return max(abs(value - segments() * float(p)) for p, value in values.items())
