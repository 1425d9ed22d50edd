"""Rows of tables that tables.toml cannot say: numbers with a verdict, and emulations."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from retx.models.bit_errors import packet_error_rate, packet_error_rate_linear
from retx.study import Cell, Measured, Noted, Verdict, plain

from . import closed_forms as closed
from .quantities import steady_round_s, windows

EXACT_S = 0.3
"""Tolerance of a deterministic time, as in table 4."""

Row = tuple[dict[str, Cell], str]
"""Cells by the keys of the columns, and the command that repeats the runs."""


def testbed(measured: Measured) -> Iterator[Row]:
    """The testbed's times, those of the simulator and a closed form, and our own."""
    series = measured.study.published.series
    values = series["table_8"].values
    for name, case in measured.study.experiments["testbed"].cases.items():
        row: dict[str, Cell] = {
            "case": case.label,
            "published": plain(values[name]),
            "printed": series["table_8_percent"].values[name],
            "again": 100 * (values[name] / values["0"] - 1),
            "simulator": series["table_4"].targets[name].value,
            "closed": closed.testbed_s(float(name)),
            "simulated": measured.at(f"testbed/{name}").estimate(),
        }
        if name in measured.study.experiments["kernel"].cases:
            row["linux"] = measured.at(f"kernel/{name}").estimate()
            row["emulated"] = measured.at(f"kernel/{name}").emulated()
        yield row, measured.at(f"testbed/{name}").command()


def terms(measured: Measured) -> Iterator[Row]:
    """Time that each effect adds, by a closed form and by switching it on."""
    formula, texts = closed.terms_s(), measured.study.declared.lists.items("terms")
    time = 0.0
    for text in texts:
        before, time = time, measured.at(f"terms/{text.key}").mean()
        label = measured.study.experiments["terms"].cases[text.key].label
        row: dict[str, Cell] = {"term": Noted(label, text.label), "computed": formula[text.key]}
        row |= {"switched": time - before, "together": time}
        yield row, measured.at(f"terms/{text.key}").command()
    total = sum(formula.values())
    yield {"term": "sum", "computed": total, "switched": time, "together": time}, ""


def table_9(measured: Measured) -> Iterator[Row]:
    """The window after the recovery, step by step."""
    printed = list(measured.study.published.series["table_9"].values.values())
    again = closed.grown(len(printed) - 1)
    ours = windows(measured.at("one_loss/221").run())
    rounds = (ours["time_s"] - ours["time_s"][0]) / steady_round_s()
    for step, value in enumerate(printed):
        row: dict[str, Cell] = {
            "step": step,
            "published": value,
            "formula": again[step],
            "measured": ours["cwnd_bytes"][step],
            "rounds": rounds[step],
            "verdict": Verdict.AGREES if abs(value - again[step]) <= 0.5 else Verdict.CONTRADICTS,
        }
        yield row, measured.at("one_loss/221").command()


def open_verdict(measured: Measured, tag: str, p: str, case: str) -> Verdict | None:
    """Verdict on a published time: it lies among 95 % of single runs, or within the tolerance."""
    published = measured.study.published.series["table_4"].targets[p].value
    found = measured.at(f"open_at_{tag}/{case}").estimate()
    if found is None:
        return None
    close = abs(found.mean - published) <= EXACT_S
    holds = found.single.holds(published) if found.single else close
    return Verdict.AGREES if holds else Verdict.DIFFERS


def closed_forms(measured: Measured) -> Iterator[Row]:
    """The paper's closed forms, computed again."""
    number = {name: it.value for name, it in measured.study.published.numbers.items()}
    short, long = (float(packet_error_rate(ber, 1250)) for ber in (1e-6, 1e-4))
    linear = float(packet_error_rate_linear(1e-6, 1250))
    limit, frames = closed.window_limit(), ceil(closed.SEGMENTS) + 4
    ethernet, time = closed.ethernet_limit(), closed.FILE_BYTES / limit
    # Published, computed, and tolerance: half of the last digit printed.
    numbers = {
        "linear": (0.01, linear, 0),
        "exact_6": (0.01, short, 0.005),
        "exact_4": (1, long, 0.05),
        "segments": (number["segments"], closed.SEGMENTS, 0.005),
        "frames": (number["frames"], frames, 0),
        "resent": (68.49, closed.SEGMENTS * 0.01, 0.005),
        "ethernet": (number["ethernet_limit"], ethernet, 0.005),
        "window": (number["window_limit"], limit, 0.5),
        "time": (number["window_limit_time"], time, 0.005),
        "grown": (8969, closed.grown(14)[-1], 0.5),
    }
    for formula in measured.study.declared.lists.items("formulas"):
        published, again, tolerance = numbers[formula.key]
        agrees = abs(published - again) <= tolerance + 1e-12
        row: dict[str, Cell] = {
            "formula": formula.label,
            "published": plain(published),
            "again": plain(round(again, 4)),
            "verdict": Verdict.AGREES if agrees else Verdict.DIFFERS,
        }
        yield row, ""


def linear_rate(_: Measured, ber: str, length: str) -> str:
    """Packet error rate by the paper's linear form."""
    return plain(float(packet_error_rate_linear(float(ber), int(length))))


def exact_rate(_: Measured, ber: str, length: str) -> float:
    """Packet error rate of independent bit errors."""
    return float(packet_error_rate(float(ber), int(length)))
