"""Named values that values.toml cannot say: of single runs, and of judged rows."""

from __future__ import annotations

from statistics import fmean

from retx.study import Estimate, Measured, Verdict, estimate, scaled
from retx.study.claims import Row
from retx.study.estimates import bounded, paired_difference
from retx.study.rules import judge

IDLE_TOTAL = "flow.file.idle_total_s"


def ack_share(measured: Measured) -> Estimate | None:
    """Idle time due to errors in the direction of the ACKs, in per cent of the mean idle time."""
    both, data = (measured.at(f"policies/2 {it}") for it in ("keep", "keep data"))
    acks = paired_difference(both.values(IDLE_TOTAL), data.values(IDLE_TOTAL))
    share = scaled(acks, 100 / both.mean(IDLE_TOTAL))
    return share and bounded(share, 100)


def levels(measured: Measured) -> Estimate | None:
    """The order of the levels: the smallest of the quotients that should be above 1."""
    pairs = (("1", "2"), ("1", "4"), ("3", "1"), ("5", "1"))
    found = [it for above, below in pairs if (it := _quotient(measured, above, below))]
    return min(found, key=lambda it: it.mean, default=None)


def idle_poor(measured: Measured) -> Estimate | None:
    """Share of idle time in runs of test 2 below 1 Mbit/s."""
    rates, idle = map(measured.at("table_1/2").values, ("throughput", "idle_percent"))
    pairs = zip(idle, rates, strict=True)
    return estimate([it for it, rate in pairs if rate is not None and rate < 1])


def spread(measured: Measured) -> float | None:
    """Quotient of the ends of the range of single runs of test 2."""
    found = measured.at("table_1/2").estimate("throughput")
    return found.single.high / found.single.low if found and found.single else None


def _quotient(measured: Measured, above: str, below: str) -> Estimate | None:
    """Mean throughput of one test over that of another; their draws are not the same channel."""
    series = (measured.at(f"table_1/{it}").values("throughput") for it in (above, below))
    pairs = [(a, b) for a, b in zip(*series, strict=False) if a and b]
    mean = fmean(b for _, b in pairs)
    ratio = fmean(a for a, _ in pairs) / mean
    # Ratio of two means, to first order.
    return estimate([a / mean - ratio * (b / mean - 1) for a, b in pairs])


def test_claims(measured: Measured, test: str) -> list[Row]:
    """The rows of table I on a test."""
    return [it for it in measured.study.claims if isinstance(it, Row) and it.case == test]


def within(measured: Measured, experiment: str, test: str) -> float:
    """Number of rows of table I whose published number is in the range of an experiment's runs."""
    rows = test_claims(measured, test)
    return float(sum(agrees(measured, it, f"{experiment}/{test}") for it in rows))


def agrees(measured: Measured, row: Row, place: str) -> bool:
    """True if a row of table I does not differ from the runs of a case."""
    found = measured.at(place).estimate(row.rows.quantity)
    return judge(measured.study.criterion(row), found).verdict is not Verdict.DIFFERS
