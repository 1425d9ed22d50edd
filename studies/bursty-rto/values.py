"""Named values that values.toml does not compute."""

from __future__ import annotations

from statistics import fmean

from retx.study import Estimate, Measured, Named, Verdict, estimate, exact, scaled
from retx.study.claims import Rows
from retx.study.estimates import bounded
from retx.study.rules import judge

from . import exchange

IDLE_MAX = "flow.file.idle_max_s"
IDLE_TOTAL = "flow.file.idle_total_s"


def values(measured: Measured) -> Named:
    """Values of table II, of single runs, of judged rows, and of the paper's own numbers."""
    judged: Named = {
        f"within_{experiment}_{test}": within(measured, experiment, test)
        for experiment in ("table_1", "fading")
        for test in "12345"
    }
    paper = exchange.values(measured) | _paper(measured)
    return paper | _table_1(measured) | judged | held_out(measured)


def calibration(measured: Measured) -> Named:
    """The longest silence of test 2, a fact; the search uses only rows of table I."""
    silences = measured.values("table_1", "2", IDLE_MAX)
    return {"longest_silence_2": max(it for it in silences if it is not None)}


def held_out(measured: Measured) -> Named:
    """Idle time due to errors in the direction of the ACKs, in per cent of the mean idle time."""
    acks = measured.difference("policies", "2 keep", "2 keep data", IDLE_TOTAL)
    idle = measured.mean("policies", "2 keep", IDLE_TOTAL)
    share = scaled(acks, 100 / idle)
    return {"ack_share_waiting_2": share and bounded(share, 100)}


def _table_1(measured: Measured) -> Named:
    """The order of the levels, the idle share of poor runs, and the spread of single runs."""
    pairs = (("1", "2"), ("1", "4"), ("3", "1"), ("5", "1"))
    levels = [it for above, below in pairs if (it := _quotient(measured, above, below))]
    rates, idle = (measured.values("table_1", "2", it) for it in ("throughput", "idle_percent"))
    poor = [it for it, rate in zip(idle, rates, strict=True) if rate is not None and rate < 1]
    found = measured.estimate("table_1", "2", "throughput")
    return {
        "levels": min(levels, key=lambda it: it.mean, default=None),
        "idle_poor": estimate(poor),
        "spread": found.single.high / found.single.low if found and found.single else None,
    }


def _quotient(measured: Measured, above: str, below: str) -> Estimate | None:
    """Mean throughput of one test over that of another; their draws are not the same channel."""
    series = (measured.values("table_1", it, "throughput") for it in (above, below))
    pairs = [(a, b) for a, b in zip(*series, strict=False) if a and b]
    mean = fmean(b for _, b in pairs)
    ratio = fmean(a for a, _ in pairs) / mean
    # Ratio of two means, to first order.
    return estimate([a / mean - ratio * (b / mean - 1) for a, b in pairs])


def within(measured: Measured, experiment: str, test: str) -> float:
    """Number of rows of table I whose published number is in the range of an experiment's runs."""
    rows = measured.study.rows
    return float(sum(agrees(measured, it, experiment, test, test) for it in rows))


def agrees(measured: Measured, rows: Rows, experiment: str, case: str, test: str) -> bool:
    """True if a row of table I does not differ from the runs of a case."""
    target = measured.study.published.series[rows.published].target(test)
    assert target is not None
    found = measured.estimate(experiment, case, rows.quantity)
    return judge(rows.criterion(target), found).verdict is not Verdict.DIFFERS


def _paper(measured: Measured) -> Named:
    """Numbers computed from those of the paper."""
    published = measured.study.published
    lost, again, frames, most = (
        published.series[name].values
        for name in ("ip_loss", "retransmissions", "fer", "retransmissions_max")
    )
    return {
        "paper_rto_8": _rto_s(310, 580, 4, 4),
        "paper_rto_1": _rto_s(30, 10, 8, 0),
        "paper_srtt_6": 30 + (3000 - 30) / 8,
        "paper_mdev_6": 10 + (3000 - 30 - 10) / 4,
        "paper_lost": exact(max(abs(lost[it] / 100 * 7500 / again[it] - 1) for it in "124")),
        "paper_loss_over_independent": lost["2"] / 100 / frames["2"] ** 4,
        "paper_frames_2": published.numbers["attempts"].value * most["2"],
    }


def _rto_s(srtt: float, mdev: float, cwnd: int, backoff: int) -> float:
    """Equation 1, from milliseconds."""
    factor = 1 + 1 / 4 + 0.5 ** (cwnd - 1)
    return float((srtt + 4 * mdev) * factor * 2.0**backoff / 1e3)
