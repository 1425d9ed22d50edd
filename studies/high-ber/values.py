"""Named numbers of the study, from its runs, and recomputed from the paper's numbers."""

from __future__ import annotations

import numpy as np

from retx.study import Estimate, Measured, Named, Points, estimate
from retx.study.estimates import paired_ratio

from .closed_forms import terms_s
from .paper import from_the_paper
from .recovery import Recovery, recovery
from .switches import RESENT, cost, switch_values

TIME = "flow.download.response_time_s"
BER = "link.cloud.channel.ber"
BERS = (1e-8, 1e-7, 1e-6, 3e-6, 1e-5)
POSITIONS = ("221", "222", "223", "224", "225", "226")


def values(measured: Measured) -> Named:
    """Everything that claims and texts name."""
    return (
        _from_runs(measured)
        | _of_one_loss(measured)
        | from_the_paper(measured)
        | switch_values(measured)
        | _recommendations(measured)
    )


def drops_by_window(measured: Measured) -> Points:
    """Segments dropped in each scenario, from the smallest mean congestion window to the largest.

    The keys are words, so that the points are equally spaced whatever the windows are.
    """
    cases = sorted(
        measured.study.experiments["drop"].cases,
        key=lambda case: measured.mean("drop", case, "flow.download.cwnd_mean_bytes"),
    )
    dropped = "link.cloud.forward.drops_channel"
    return Points({f"p = {case}": measured.values("drop", case, dropped) for case in cases})


def _from_runs(measured: Measured) -> Named:
    clean = measured.mean("drop", "0")
    frames = measured.mean("drop", "0", "flow.download.frames_sent")
    found: Named = {
        "clean_s": clean,
        "clean_frames": frames,
        "terms_sum": sum(terms_s().values()),
        "goodput_clean": measured.mean("drop", "0", "flow.download.goodput_bit_s") / 8,
        "cwnd_largest": float(max(measured.run("drop", "0").samples["cwnd_bytes"])),
        "cost_per_retransmission": _cost_per_retransmission(measured, clean),
        "naive_share": _naive_share(measured, clean, frames),
    }
    for case, name in (("0.0001", "001"), ("0.001", "01"), ("0.01", "1"), ("0.1", "10")):
        found |= {
            f"slowdown_{name}": measured.ratio("drop", case, "0"),
            f"added_{name}": measured.difference("drop", case, "0"),
            f"share_{name}": measured.ratio("drop", case, "0", "flow.download.goodput_bit_s"),
            f"time_{name}": measured.estimate("drop", case),
            f"resent_{name}": measured.estimate("drop", case, RESENT),
            f"timeouts_{name}": measured.estimate("drop", case, "flow.download.rto_count"),
            f"waiting_{name}": measured.quotient("drop", case, "flow.download.idle_rto_s", TIME),
            f"waited_{name}": measured.estimate("drop", case, "flow.download.idle_rto_s"),
            f"cwnd_mean_{name}": measured.estimate("drop", case, "flow.download.cwnd_mean_bytes"),
        }
    found["drops_by_window"] = drops_by_window(measured)
    found["all_steps_times"] = measured.ratio("steps", "preset", "one_way")
    found["all_steps_resent_times"] = measured.ratio("steps", "preset", "one_way", RESENT)
    return found


def _recommendations(measured: Measured) -> Named:
    """Response times against the bit error rate, compared with Reno's."""
    found: Named = {}
    clean = measured.values("recommend", "reno", TIME, at={BER: 1e-8})
    for ber in BERS:
        end = f"{ber:.0e}".replace("-0", "_")
        times = measured.values("recommend", "reno", TIME, at={BER: ber})
        found[f"reno_slow_{end}"] = paired_ratio(times, clean)
        for case in measured.study.experiments["recommend"].cases:
            ratio = measured.ratio("recommend", case, "reno", at={BER: ber})
            found[f"{case}_over_reno_{end}"] = ratio
    slow = [measured.mean("recommend", "reno", at={BER: ber}) for ber in BERS]
    stop = np.interp(np.log(2 * slow[0]), np.log(slow), np.log(BERS))
    return found | {"reno_stop": float(np.exp(stop))}


def _cost_per_retransmission(measured: Measured, clean: float) -> Estimate | None:
    """Additional time per retransmission over the download without loss, at 1 % loss."""
    times = measured.values("drop", "0.01", TIME)
    resent = measured.values("drop", "0.01", RESENT)
    pairs = zip(times, resent, strict=True)
    return estimate([None if not t or not n else (t - clean) / n for t, n in pairs])


def _naive_share(measured: Measured, clean: float, frames: float) -> Estimate | None:
    """Share of the additional time in which retransmissions are sent, at 1 % loss."""
    each = clean / frames
    times = measured.values("drop", "0.01", TIME)
    resent = measured.values("drop", "0.01", RESENT)
    pairs = zip(times, resent, strict=True)
    return estimate([None if t is None or n is None else n * each / (t - clean) for t, n in pairs])


def _of_one_loss(measured: Measured) -> Named:
    story: Recovery = recovery(measured.run("one_loss", "221"))
    costs = [cost(measured, "one_loss", case, "none") for case in POSITIONS]
    return {
        "loss_cost": costs[0],
        "loss_cost_least": min(costs),
        "loss_cost_most": max(costs),
        "round_s": story.round_s,
        "rounds_to_retransmit": story.rounds_to_retransmit,
        "rounds_to_window": story.rounds_to_window,
        "rounds_of_growth": story.rounds_of_growth,
        "steps_of_growth": float(story.steps_of_growth),
        "segments_meanwhile": float(story.segments_meanwhile),
        "segments_lossless": story.segments_lossless,
        "twelve_segments_s": story.twelve_segments_s,
        "duplicates": float(story.duplicates),
        "cwnd_after_recovery": float(story.cwnd_after_recovery),
        "rwnd_least": float(story.rwnd_least),
        "table_9_worst": story.table_9_worst,
    }
