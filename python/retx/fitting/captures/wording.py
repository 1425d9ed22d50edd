"""Text about the fit of a capture, for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from retx.diagnosing.wording import PLACES
from retx.fitting.captures.endpoints import preset
from retx.fitting.captures.scenario import LEAST_OTHERS, spikes
from retx.fitting.wording import model_line
from retx.terminal.quantities import counted, rate, seconds, share, size

if TYPE_CHECKING:
    from retx.fitting.captures.capture import CaptureFit

KINDS = {"tail_drop": "drop tail", "early_drops": "early drops", "unknown": "kind not known"}


def sentences(fit: CaptureFit) -> Iterator[str]:
    """Sentences about the flow and its endpoints."""
    flow, ends = fit.flow, fit.path["endpoints"]
    name = " and ".join(str(file) for file in fit.files)
    yield (
        f"{name}, flow {flow['number']}: {flow['name']}, captured {PLACES[flow['place']]}; "
        f"{size(flow['bytes'])} in {seconds(flow['life_s'])}."
    )
    like, why = preset(fit)
    control = ends["congestion_control"]
    reduction = ends["reduction"]
    control_text = (
        f"its congestion control is {control}"
        if control
        else "its congestion control cannot be known"
    )
    if control == "bbr":
        excess = f"{ends['flight_excess']:.1f} times as much in flight as Reno or CUBIC"
        yield f"The sender is like {like} ({why}); {control_text} ({excess})."
    else:
        yield f"The sender is like {like} ({why}); {control_text}{_reduction(reduction)}."
    if fit.policer is not None:
        yield fit.policer.sentence
        return
    if fit.losses is None:
        yield "The channel lost nothing."
        return
    found = fit.losses.content
    yield (
        f"Losses that no queue made: {found['lost']:.4g} of {found['known']} segments in "
        f"{counted(found['bursts'], 'burst')}. {model_line(fit.losses.used)}."
    )
    if fit.losses.chosen is None:
        yield f"The data do not decide between laws: {found['reason']}."
    if spikes(fit):
        yield f"{spikes(fit)}."
    for change in found["change_points"]:
        yield (
            f"Not stationary: {share(change['loss_before'])} before {seconds(change['time_s'])}, "
            f"{share(change['loss_after'])} after."
        )


def _reduction(reduction: Mapping[str, Any]) -> str:
    """Part of the window that the sender keeps after a loss, with the evidence."""
    value = reduction["value"]
    part = f"; it keeps {100 * value:.0f} % of its window after a loss" if value else ""
    return f"{part} ({reduction['evidence']})"


def rows(fit: CaptureFit) -> Iterator[tuple[str, str, str, str]]:
    """Name, value, interval and evidence of each measurement."""
    path = fit.path
    queue = {**path["queue"]["bytes"]}
    if fit.policer is not None:
        evidence = "a policer drops, not a queue"
        queue = {"value": None, "low": None, "high": None, "evidence": evidence}
    yield _row("rate of the bottleneck", path["rate_bit_s"], rate)
    yield _row("propagation, both directions", path["round_trip_s"], seconds)
    kind = "unknown" if fit.policer is not None else path["queue"]["kind"]
    yield _row(f"queue ({KINDS[kind]})", queue, size)
    yield _row("reordered", path["reordered"], share)
    yield _row("acknowledgments lost", path["acks_lost"], share)
    yield _row("rate of the reverse path", path["ack_rate_bit_s"], rate)
    yield _others(path)


def _others(path: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Row of the traffic of others, which counts as none if it is too small to be simulated."""
    name, found = "traffic of others", path["cross_bit_s"]
    if found["value"] is None or found["high"] >= LEAST_OTHERS * path["rate_bit_s"]["value"]:
        return _row(name, found, rate)
    least = share(LEAST_OTHERS)
    return name, "none", f"less than {least} of the rate", found["evidence"]


def _row(
    name: str, found: Mapping[str, Any], shown: Callable[[float | None], str]
) -> tuple[str, str, str, str]:
    low, high = found["low"], found["high"]
    if found["value"] is not None:
        return name, shown(found["value"]), f"{shown(low)} to {shown(high)}", found["evidence"]
    bounds = [
        *([f"at least {shown(low)}"] if low else []),
        *([f"at most {shown(high)}"] if high else []),
    ]
    return name, "not known", ", ".join(bounds), found["evidence"]
