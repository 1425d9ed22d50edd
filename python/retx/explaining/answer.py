"""Answer of `retx why`: shares, ranked remedies, bounds, and a paragraph to forward."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.analysis.limits import flat, line
from retx.errors import UsageError
from retx.explaining.limit_alone import limit_alone
from retx.explaining.measured import FLOOR, Measured
from retx.explaining.phrases import phrases_of
from retx.explaining.search import Search
from retx.explaining.trial import Gain, Trial, gain_of, geometric
from retx.explaining.wording import paragraph, stopped
from retx.scenarios.path import LATE, LOSING, Hop
from retx.scenarios.units import seconds_of

if TYPE_CHECKING:
    from retx.explaining.runs import Runs
    from retx.plots.style import Figure
    from retx.results.result import Result

MOST_FLOWS = 1000
NOTHING = {"model": "bernoulli", "p": 0}
"""Channel model that neither loses nor delays frames."""


@dataclass(frozen=True)
class Answer:
    """Limits of a scenario's flows, and changes that would make one of them faster.

    `remedies` and `combinations` contain dicts with `name`, `change` (overrides, as `--set` takes
    them), `text`, `gain`, `gain_low`, `gain_high`, `draws`, `goodput_bit_s`, `price`, `apply`; the
    best comes first. The list `behind` in `content` contains changes that were run only over a
    short part of the scenario, from `start_s` to `end_s`. They gained less than others in this
    part.
    """

    content: Mapping[str, Any]
    runs: Runs | None = None

    @property
    def flow(self) -> str:
        """The flow for which remedies were tried."""
        return str(self.content["flow"])

    @property
    def flows(self) -> Sequence[Mapping[str, Any]]:
        """Flows, each with its `limited_by` in seconds."""
        flows: Sequence[Mapping[str, Any]] = self.content["flows"]
        return flows

    @property
    def remedies(self) -> Sequence[Mapping[str, Any]]:
        """Single changes, best first."""
        remedies: Sequence[Mapping[str, Any]] = self.content["remedies"]
        return remedies

    @property
    def combinations(self) -> Sequence[Mapping[str, Any]]:
        """Two or three changes together, best first."""
        combinations: Sequence[Mapping[str, Any]] = self.content["combinations"]
        return combinations

    @property
    def summary(self) -> str:
        """Cause, evidence, fix and expected gain, as a paragraph to forward."""
        return str(self.content["summary"])

    @cached_property
    def plot(self) -> Figure:
        """Bar of the shares, and below it the ranked remedies with their intervals."""
        from retx.plots.remedies import remedies

        return remedies(self.content)

    @property
    def first_connection(self) -> str:
        """Name of the flow's row; for several connections, the row of the first one."""
        names = [str(flow["name"]) for flow in self.flows]
        return self.flow if self.flow in names else f"{self.flow}.0"

    def detailed(self, most_segments: int) -> Result:
        """Repeats the first replication with samples; with segments only if there are not too many.

        Args:
            most_segments: Largest number of segments of all flows whose fates are recorded.

        Raises:
            UsageError: The answer does not come from a search.
        """
        if self.runs is None:
            raise UsageError("this answer has no scenario: make it by retx.why")
        return self.runs.detailed(most_segments)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained HTML page."""
        from retx.files.directory import new_file

        with new_file(Path(path)) as target:
            self.write_page(target)

    def write_page(self, file: Path) -> None:
        """Writes the page that `save` writes, straight into the file."""
        from retx.explaining.page import page

        file.write_text(page(self), encoding="utf-8")

    def __str__(self) -> str:
        from retx.explaining.wording import plain_text

        return plain_text(self.content)

    def __repr__(self) -> str:
        return f"<retx why: {self.flow}, {len(self.remedies)} remedies tried>"


def answer_of(search: Search) -> Answer:
    """Answer from a finished search."""
    remedies = [_row(search, trial) for trial in search.singles]
    for row, trial in zip(remedies, search.singles, strict=True):
        row["limit_alone"] = limit_alone(search, trial, row)
    combinations = [_row(search, trial) for trial in search.combined]
    own = {row["name"]: phrases_of(search.situation) for row in search.situation.rows}
    content: dict[str, Any] = {
        "title": search.scenario.get("title") or "",
        "version": _native.__version__,
        "seed": search.summary["seed"],
        "flow": search.flow["name"],
        **_got(list(search.baseline.values())),
        "first_draw": _got([search.baseline[0]]),
        "measure": _measure(search),
        "flows": [
            _limits(row, own)
            for row in search.summary["flows"][:MOST_FLOWS]
            if line(row["limited_by"])
        ],
        "limited_by": dict(search.baseline[0].seconds),
        "fix": search.fix.name if search.fix else None,
        "remedies": remedies,
        "combinations": combinations,
        "behind": [_behind(search, trial) for trial in search.behind],
        "left_out": [{"name": it.name, "reason": it.reason} for it in search.left_out],
        "bounds": _bounds(search),
        "stopped": stopped(search),
    }
    content["summary"] = paragraph(search, content)
    return Answer(content, search.runs)


def _measure(search: Search) -> str:
    """Name of the quantity whose ratio, with and without a remedy, is the gain."""
    kind = search.flow["app"]["kind"]
    return "response time" if kind == "request_response" else "goodput"


def _got(runs: Sequence[Measured]) -> dict[str, float | None]:
    """Goodput and response time, as geometric means, so that their ratios are the gains.

    If a draw has no goodput, the arithmetic mean is used, since the geometric mean is not defined.
    """
    rates = [run.goodput_bit_s for run in runs]
    times = [run.response_s for run in runs if run.response_s is not None]
    return {
        "goodput_bit_s": geometric(rates) or sum(rates) / len(rates),
        "response_s": (geometric(times) or 0.0) if times else None,
    }


def _limits(row: Mapping[str, Any], phrases: Mapping[str, Any]) -> dict[str, Any]:
    seconds = flat(row.get("limited_by"))
    return {
        "name": row["name"],
        "life_s": sum(seconds.values()),
        "goodput_bit_s": row["goodput_bit_s"],
        "limited_by": row["limited_by"],
        "phrases": phrases.get(row["name"], {}),
    }


def _row(search: Search, trial: Trial) -> dict[str, Any]:
    gain = search.gain(trial)
    common = sorted(trial.runs.keys() & search.baseline.keys())
    return {
        "name": trial.name,
        "change": trial.overrides,
        "text": trial.text,
        **_as_row(gain),
        **_got([trial.runs[draw] for draw in common]),
        "without": _got([search.baseline[draw] for draw in common]),
        "where": trial.where,
        "in_linux": trial.in_linux,
        "price": trial.price(search.baseline),
        "failures": trial.failures,
        "apply": trial.apply,
        "limit_alone": None,
    }


def _behind(search: Search, trial: Trial) -> dict[str, Any]:
    """Entry for a change that was tried only in short runs, with the gain in these runs."""
    part = search.stretch
    bounds = {"start_s": part.start_s, "end_s": part.end_s} if part else {}
    return {"name": trial.name, "text": trial.text, "gain": trial.early_gain, **bounds}


def _bounds(search: Search) -> list[dict[str, Any]]:
    """Bounds on the gain: a link that is always busy, channels without losses or without delays."""
    situation = search.situation
    bounds: list[dict[str, Any]] = []
    limit = situation.link_limit_bit_s
    if limit and _measure(search) == "goodput":
        hop = situation.limiting_hop
        text = f"all that {hop.name} carries if it is never idle and never shared"
        if hop is situation.path.policer:
            text = f"all that the policer of {hop.name} lets pass if it is never shared"
        bounds.append(_bound(search, "link", text, dict.fromkeys(search.baseline, limit)))
    hops = [*situation.path.forward, *situation.path.back]
    for name, models, of_trace in (("losses", LOSING, "loss"), ("delays", LATE, "delay")):
        removed = _without(hops, models, of_trace)
        trial = search.bound(removed) if removed else None
        if trial:
            text = f"channels without {name}, all else unchanged"
            got = _got(list(trial.runs.values()))
            speeds = {draw: run.speed for draw, run in trial.runs.items()}
            bounds.append(_bound(search, f"no_channel_{name}", text, speeds) | got)
    return bounds


def _bound(search: Search, name: str, text: str, speeds: Mapping[int, float]) -> dict[str, Any]:
    """Bound from the speed in each draw.

    The gain of a remedy with fewer draws may seem to exceed that of the bound, if the unchanged
    flow is slow in them. `in_fewer_draws` has the bound in exactly the draws of such remedies.
    """
    base = {draw: search.baseline[draw].speed for draw in speeds}
    whole = _gain_in(speeds, base)
    found: dict[frozenset[int], Gain] = {}
    for trial in (*search.singles, *search.combined):
        draws = frozenset(trial.runs.keys() & base.keys())
        gain = _gain_in({draw: speeds[draw] for draw in draws}, base)
        own = search.gain(trial)
        if whole and gain and draws == trial.runs.keys() and whole.mean < own.mean <= gain.mean:
            found[draws] = gain
    return {
        "name": name,
        "text": text,
        "goodput_bit_s": geometric(list(speeds.values())),
        "response_s": None,
        **_as_row(whole),
        "in_fewer_draws": [_as_row(found[draws]) for draws in sorted(found, key=sorted)],
    }


def _gain_in(speeds: Mapping[int, float], base: Mapping[int, float]) -> Gain | None:
    """Gain over the unchanged flow; None if there is no draw, or if it delivered nothing in one."""
    if not speeds or any(base[draw] <= FLOOR for draw in speeds):
        return None
    return gain_of([speeds[draw] / base[draw] for draw in speeds])


def _as_row(gain: Gain | None) -> dict[str, Any]:
    """Keys of a row for a gain."""
    if gain is None:
        return {"gain": None, "gain_low": None, "gain_high": None, "draws": None}
    return {
        "gain": gain.mean,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "draws": gain.draws,
    }


def _without(hops: Sequence[Hop], removed: Sequence[str], of_trace: str) -> dict[str, Any]:
    """Overrides that remove the channel models `removed`, and set a quantity of traces to 0.

    If other models remain, a removed model is replaced by one that does nothing, because the draws
    of a model depend on its position in the channel. `of_trace` names the quantity of traces,
    `loss` or `delay`.
    """
    overrides: dict[str, Any] = {}
    for hop in hops:
        before = [dict(model) for model in hop.channel]
        after = [_mended(model, removed, of_trace) for model in before]
        if after != before:
            kept = [] if all(it is NOTHING for it in after) else after
            overrides[f"{hop.key}.channel"] = kept
    return overrides


def _mended(model: dict[str, Any], removed: Sequence[str], of_trace: str) -> dict[str, Any]:
    """Channel model that replaces `model`, without its losses or without its delays."""
    if model["model"] in removed:
        return NOTHING
    points = model.get("points") or ()
    if not any(_amount(point.get(of_trace)) > 0 for point in points):
        return model
    none: Any = 0 if of_trace == "loss" else "0 s"
    return model | {"points": [point | {of_trace: none} for point in points]}


def _amount(value: float | str | None) -> float:
    """Value in a channel's trace as a number: a loss probability, or seconds of delay."""
    return seconds_of(value) if isinstance(value, str) else float(value or 0)
