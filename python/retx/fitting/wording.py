"""Sentences about a fit, for the terminal and for the comments of its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from retx.terminal.quantities import counted, rate, seconds, share

if TYPE_CHECKING:
    from retx.fitting.fit import Fit

DELAY_QUANTILES = (0.5, 0.9, 0.99)


def number(value: float) -> str:
    """Number with six digits, as TOML reads it."""
    text = f"{value:.6g}"
    return text if any(it in text for it in ".en") else f"{text}.0"


def estimate(parameter: Mapping[str, Any]) -> str:
    """Parameter with its interval: `p 0.0031 [0.0022, 0.0043]`."""
    unit = parameter["unit"]

    def shown(value: float) -> str:
        if unit == "s":
            return seconds(value)
        return rate(value) if unit == "bit/s" else f"{value:.4g}"

    text = f"{parameter['name']} {shown(parameter['value'])}"
    if parameter["low"] is None:
        return text
    return f"{text} [{shown(parameter['low'])}, {shown(parameter['high'])}]"


def model_line(model: Mapping[str, Any]) -> str:
    """Model with its parameters."""
    parameters = ", ".join(estimate(it) for it in model["parameters"])
    return f"{model['title']}: {parameters}"


def loss_lines(fit: Fit, *, replay: bool = False) -> list[str]:
    """Lines about the losses."""
    if fit.counts is not None:
        return _count_lines(fit.counts.content)
    if fit.losses is None:
        return _resent_lines(fit.content["retransmissions"])
    found = fit.losses.content
    used = fit.losses.used
    lines = [
        f"Losses: {found['lost']:.6g} of {found['known']} packets "
        f"({share(found['lost'] / max(found['known'], 1))}), "
        f"{counted(found['bursts'], 'burst')}, in {seconds(found['duration_s'])}."
    ]
    if replay:
        return [
            *lines,
            "Replayed as recorded: each loss holds until the next packet of the series.",
        ]
    burst = f", mean burst {used['mean_burst']:.3g} packets" if used["mean_burst"] else ""
    lines.append(f"{model_line(used)}; mean loss {share(used['mean_loss'])}{burst}.")
    if found["reason"]:
        lines.append(f"No model is chosen: {found['reason']}. The scenario takes this one.")
    else:
        others = [it for it in fit.losses.models if it["name"] != used["name"]]
        if others:
            gap = others[0]["bic"] - used["bic"]
            lines.append(f"Chosen by BIC; the next is {others[0]['name']}, {gap:.1f} behind.")
        failed = [it["finding"] for it in found["tests"] if not it["passed"]]
        lines.append(f"Tests: {'; '.join(failed) if failed else 'none of five refuses it'}.")
    for point in found["change_points"][:3]:
        lines.append(
            f"After {seconds(point['time_s'])} the loss rate changes from "
            f"{share(point['loss_before'])} to {share(point['loss_after'])}."
        )
    return lines + [f"{text[:1].upper()}{text[1:]}." for text in found["warnings"]]


def _count_lines(found: Mapping[str, Any]) -> list[str]:
    lines = [
        f"Losses: {found['lost']} of {found['packets']} packets in {found['intervals']} intervals, "
        f"{share(found['loss'])} [{share(found['low'])}, {share(found['high'])}]."
    ]
    if found["reason"]:
        return [*lines, f"{found['reason'][:1].upper()}{found['reason'][1:]}."]
    spread, burst = found["dispersion"], found["mean_burst"]
    lines.append(
        f"The counts vary {spread['value']:.3g} [{spread['low']:.3g}, {spread['high']:.3g}] times "
        f"as much as those of independent losses (p = {spread['p']:.3g})."
    )
    if found["chosen"] == "gilbert":
        lines.append(
            f"Bursts of {burst['value']:.3g} [{burst['low']:.3g}, {burst['high']:.3g}] packets "
            "would make them vary so; a loss rate that changes would, too."
        )
    else:
        lines.append("They do not contradict independent losses.")
    return lines


def _resent_lines(found: Mapping[str, Any] | None) -> list[str]:
    if not found:
        return []
    return [
        f"{counted(found['count'], 'retransmission')} for about {found['segments']} segments "
        f"({share(found['share'])}): the loss rate is at most about that. No losses are written."
    ]


def delay_lines(fit: Fit) -> list[str]:
    """Lines about the delays."""
    if fit.delays is None:
        return []
    found = fit.delays.content
    what = "RTT" if fit.series.is_round_trip else "delay"
    quantiles = dict(found["quantiles"])
    listed = ", ".join(f"{q:.0%} {seconds(quantiles[q])}" for q in DELAY_QUANTILES)
    lines = [f"Shortest {what} {seconds(found['least_s'])} of {found['count']}; {listed}."]
    if fit.series.is_round_trip:
        lines.append("Half of the shortest RTT each way, which is an assumption.")
    if found["chosen"]:
        best = found["families"][0]
        lines.append(
            f"Above the shortest: {found['chosen']}, shape {best['shape']:.3g}, scale "
            f"{seconds(best['scale_s'])} (Anderson–Darling {best['anderson_darling']:.2f}, "
            f"p = {best['p_value']:.2f})."
        )
    elif found["reason"]:
        lines.append(f"Law of the delay: {found['reason']}.")
    if found["autocorrelation"] is not None:
        lines.append(f"Correlation of successive delays {found['autocorrelation']:.2f}.")
    return lines


def rate_lines(fit: Fit) -> list[str]:
    """Lines about the rate."""
    found = fit.content["rate"]
    if not found:
        return []
    quantiles = dict(found["quantiles"])
    return [
        f"Rate {rate(found['mean_bit_s'])} on average; {rate(quantiles[0.1])} in the lowest tenth "
        f"of the intervals, {rate(quantiles[0.9])} in the highest."
    ]
