"""Named numbers of the switches: the effect of single changes on the values of claims."""

from __future__ import annotations

from retx.study import Measured, Named

from .recovery import Refill, refill, rwnd_least

RESENT = "flow.download.segments_retransmitted"
DELIVERED = "flow.download.bytes_delivered"
LOST = "lost"
SMALL_WINDOW = "lost_small_window_times"

TIMES = (
    ("terms", "all"),
    ("switches_at_0", "all"),
    ("switches", "preset"),
    ("switches_at_1", "preset"),
    ("steps", "preset"),
    ("open_at_1", "preset"),
    ("open_at_10", "preset"),
    ("ber_parts", "drops"),
)
"""Experiments whose cases have the values `EXPERIMENT_CASE`, and `…_times` relative to this
case."""

LOSSES = (
    ("one_loss", "221", "none"),
    ("one_loss", "every_segment", "every_segment none"),
    ("one_loss", "every_third", "every_third none"),
    ("one_loss", "bytes", "bytes none"),
    ("one_loss", "tahoe", "tahoe none"),
    ("one_loss", "rate", "rate none"),
    ("testbed_loss", "linux", "linux none"),
    ("testbed_loss", "cubic", "cubic none"),
    ("testbed_loss", "linux24", "linux24 none"),
)
"""Cases with one loss: experiment, case, and the same case without loss."""


def switch_values(measured: Measured) -> Named:
    """Everything that reasons name."""
    found: Named = {}
    for experiment, reference in TIMES:
        for case in measured.study.experiments[experiment].cases:
            found[f"{experiment}_{case}"] = measured.estimate(experiment, case)
            found[f"{experiment}_{case}_times"] = measured.ratio(experiment, case, reference)
    return (
        found
        | _one_percent(measured)
        | _dropping(measured)
        | _fewer_drops(measured)
        | _one_loss(measured)
        | _bit_errors(measured)
        | _thresholds(measured)
    )


def _one_percent(measured: Measured) -> Named:
    """Values at 1 %, such as the number of runs that are as fast as in the paper."""
    published = measured.study.published.series["table_4"].comparable("0.01") or 0.0
    times = measured.values("drop", "0.01", "flow.download.response_time_s")
    return {
        "runs_1": float(len(times)),
        "runs_1_as_fast": float(sum(time is not None and time <= published for time in times)),
        "resent_data_10": measured.estimate("open_at_10", "data", RESENT),
        "even_resent": measured.mean("open_at_1", "even", RESENT),
        "even_timeouts": measured.mean("open_at_1", "even", "flow.download.rto_count"),
    }


def _dropping(measured: Measured) -> Named:
    found: Named = {}
    for case in measured.study.experiments["dropping"].cases:
        found |= {
            f"dropping_{case}": measured.estimate("dropping", case),
            f"dropping_{case}_lost": measured.estimate("dropping", case, LOST),
            f"dropping_{case}_small": measured.estimate("dropping", case, SMALL_WINDOW),
        }
    counts = [it for it in measured.values("dropping", "preset", RESENT) if it is not None]
    return found | {
        "dropping_least": float(min(counts)),
        "dropping_most": float(max(counts)),
        "dropping_start_more": measured.difference("dropping", "start", "preset"),
    }


def _fewer_drops(measured: Measured) -> Named:
    found: Named = {}
    for case in measured.study.experiments["fewer_drops"].cases:
        name = f"fewer_{round(100 * float(case))}"
        found |= {
            name: measured.estimate("fewer_drops", case),
            f"{name}_resent": measured.estimate("fewer_drops", case, RESENT),
            f"{name}_resent_times": measured.ratio("fewer_drops", "0.1", case, RESENT),
        }
    return found


def cost(measured: Measured, experiment: str, case: str, twin: str) -> float:
    """Seconds that a loss adds to the download."""
    return measured.mean(experiment, case) - measured.mean(experiment, twin)


def refilled(measured: Measured, experiment: str, case: str) -> Refill:
    """Recovery of the window after the loss of a case."""
    return refill(measured.run(experiment, case))


def _one_loss(measured: Measured) -> Named:
    found: Named = {}
    for experiment, case, twin in LOSSES:
        story = refilled(measured, experiment, case)
        found |= {
            f"loss_{case}_cost": cost(measured, experiment, case, twin),
            f"loss_{case}_rounds": story.rounds,
            f"loss_{case}_growth": story.rounds_of_growth,
        }
    for case in measured.study.experiments["testbed_open"].cases:
        name = f"testbed_open_{case.replace(' ', '_').replace('.', '_')}"
        found[name] = measured.estimate("testbed_open", case)
    for case in ("linux none", "rate none"):
        found[f"testbed_{case.replace(' ', '_')}"] = measured.mean("testbed_loss", case)
    for case in measured.study.experiments["late_reader"].cases:
        found[f"reader_{case}"] = measured.mean("late_reader", case)
        found[f"reader_{case}_rwnd"] = float(rwnd_least(measured.run("late_reader", case)))
    return found


def _bit_errors(measured: Measured) -> Named:
    found: Named = {}
    for case in measured.study.experiments["bit_errors"].cases:
        name = f"bit_errors_{case.replace('-', '_')}"
        found[f"{name}_lost"] = measured.estimate("bit_errors", case, LOST)
        found[f"{name}_bytes"] = measured.estimate("bit_errors", case)
    return found


def _thresholds(measured: Measured) -> Named:
    """Largest window without loss, by the initial slow start threshold."""
    found: Named = {}
    for case in ("all", "ssthresh_rwnd", "ssthresh_none"):
        samples = measured.run("switches_at_0", case).samples
        found[f"cwnd_largest_{case}"] = float(max(samples["cwnd_bytes"]))
    return found
