"""Conversions between the notations of two-state losses.

The parameters of netem's `loss gemodel` are loss probabilities (1 − h, 1 − k), whereas those of
Hasslinger & Hohlfeld and of the channel `gilbert_elliott` are survival probabilities (h, k). The
two are easily confused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from retx.errors import UsageError
from retx.models import gilbert_elliott as ge
from retx.models.arguments import ModelError

RANDOM = re.compile(r"loss (?:random )?([0-9.eE+-]+) ?%?")
PAIR = re.compile(r"([a-z_]+)\s*=\s*([0-9.eE+-]+)\s*(%?)")
FORMS: dict[frozenset[str], Callable[..., ge.Chain]] = {
    frozenset({"loss", "mean_burst"}): lambda loss, mean_burst: ge.from_loss_and_burst(
        loss, mean_burst
    ),
    frozenset({"loss", "burst_ratio"}): lambda loss, burst_ratio: ge.from_itu(loss, burst_ratio),
    frozenset({"loss", "clp"}): lambda loss, clp: ge.from_loss_and_burst(loss, 1 / (1 - clp)),
}
CHAIN_KEYS = {"p", "r", "k", "h"}
EXAMPLES = (
    "“loss 5%”, “loss gemodel 1% 10% 70% 0.1%”, “p=0.01 r=0.1 k=0.999 h=0.3”, "
    "“loss=1% mean_burst=3”, “loss=1% burst_ratio=2” or “loss state 1% 30% 20% 5%”"
)


def convert(text: str) -> dict[str, Any]:
    """Converts a loss model from one notation to all others that can express it.

    Args:
        text: netem's `loss …%`, `loss gemodel …` or `loss state …`; or keys: p, r, k and h; loss
            with mean_burst, burst_ratio (ITU-T G.107) or clp, the probability of a loss after a
            loss.

    Raises:
        UsageError: The text has none of these forms, or no chain has these values.
    """
    words = text.replace("loss", "loss ", 1).split() if "loss gemodel" in text else text.split()
    try:
        if random := RANDOM.fullmatch(" ".join(text.split())):
            return _random(*_shares([random[1]], 1))
        if "gemodel" in words:
            return _answer(ge.from_netem(*_shares(words[words.index("gemodel") + 1 :], 4)))
        if "state" in words:
            return _states(_shares(words[words.index("state") + 1 :], 5))
        return _answer(_from_keys(text))
    except (ModelError, ZeroDivisionError) as error:
        raise UsageError(f"{text}: {error}") from None


def _shares(words: list[str], most: int) -> list[float]:
    """Probabilities from netem's percentages, which may lack the sign `%`."""
    try:
        shares = [float(word.rstrip("%")) / 100 for word in words]
    except ValueError as error:
        raise UsageError(f"{error}: netem takes per cents, such as 0.1%") from None
    if not 1 <= len(shares) <= most:
        raise UsageError(f"{len(shares)} numbers: netem takes 1 to {most} here")
    return shares


def _from_keys(text: str) -> ge.Chain:
    pairs = PAIR.findall(text)
    values = {key: float(value) / (100 if sign else 1) for key, value, sign in pairs}
    rest = PAIR.sub("", text).replace(",", "").strip()
    if values and not rest:
        if {"p", "r"} <= set(values) <= CHAIN_KEYS:
            chain = {"k": 1.0, "h": 0.0, **values}
            ge.loss_rate(**chain)
            return ge.Chain(**chain)  # type: ignore[arg-type]
        form = FORMS.get(frozenset(values))
        if form is not None:
            return form(**values)
    raise UsageError(f"“{text}” is no notation of losses: write {EXAMPLES}")


def _answer(chain: ge.Chain) -> dict[str, Any]:
    p, r, k, h = (float(value) for value in chain)
    loss, burst = float(ge.loss_rate(p, r, k, h)), float(ge.burst_mean_packets(p, r, k, h))
    found: dict[str, Any] = {
        "channel": {"model": "gilbert_elliott", "p": p, "r": r, "k": k, "h": h},
        "netem": ge.netem(p, r, k, h),
        "loss": loss,
        "mean_burst": burst,
        "bad_share": p / (p + r),
        "itu": None,
    }
    if k == 1 and h == 0:
        share, ratio = ge.itu(p, r)
        found["itu"] = {"loss": float(share), "burst_ratio": float(ratio), "clp": 1 - r}
    return found


def _random(loss: float) -> dict[str, Any]:
    """Channel `bernoulli`, for losses that do not depend on each other."""
    if not 0 <= loss < 1:
        raise UsageError("the loss rate is at least 0 and less than 100 %")
    return {
        "channel": {"model": "bernoulli", "p": loss},
        "netem": f"loss {100 * loss:.10g}%",
        "loss": loss,
        "mean_burst": 1 / (1 - loss),
        "itu": {"loss": loss, "burst_ratio": 1.0, "clp": loss},
    }


def _states(given: list[float]) -> dict[str, Any]:
    """Channel `markov` for the four-state chain of netem.

    Its states: 1, received in a gap; 2, received in a burst; 3, lost in a burst; 4, lost alone in a
    gap.
    """
    p13 = given[0]
    p31, p32, p23, p14 = [*given[1:], *[1 - p13, 0.0, 1.0, 0.0][len(given) - 1 :]]
    if p13 + p14 > 1 or p31 + p32 > 1:
        raise UsageError("p13 + p14 and p31 + p32 are at most 100 %")
    rows = [
        [1 - p13 - p14, 0.0, p13, p14],
        [0.0, 1 - p23, p23, 0.0],
        [p31, p32, 1 - p31 - p32, 0.0],
        [1.0, 0.0, 0.0, 0.0],
    ]
    netem = "loss state " + " ".join(f"{100 * it:.10g}%" for it in (p13, p31, p32, p23, p14))
    loss, burst = _of_states(p13, p31, p32, p23, p14)
    channel = {"model": "markov", "transitions": rows, "loss": [0.0, 0.0, 1.0, 1.0]}
    return {"channel": channel, "netem": netem, "loss": loss, "mean_burst": burst, "itu": None}


def _of_states(p13: float, p31: float, p32: float, p23: float, p14: float) -> tuple[float, float]:
    """Loss rate and mean burst, from the balance equations with π₁ = 1 (π₃ = p13/p31)."""
    if p31 == 0 or (p23 == 0 and p32 > 0):
        raise UsageError("the chain never comes back to the gap: p31 or p23 is 0")
    lost_alone, lost = p14, p13 / p31
    received = lost * p32 / p23 if p32 else 0.0
    total = 1 + received + lost + lost_alone
    starts = p13 + p14 + received * p23
    return (lost + lost_alone) / total, (lost + lost_alone) / starts


def lines(found: Mapping[str, Any]) -> list[str]:
    """Lines of text that describe the conversion."""
    from retx.fitting.scenario import inline

    shown = [
        f"scenario    forward.channel = {inline(found['channel'])}",
        f"netem       {found['netem']}",
        f"loss rate   {100 * found['loss']:.6g} %",
        f"mean burst  {found['mean_burst']:.6g} packets",
    ]
    if found["itu"]:
        itu = found["itu"]
        shown.append(
            f"ITU-T       Ppl {100 * itu['loss']:.6g} %, burst ratio {itu['burst_ratio']:.6g}; "
            f"conditional loss probability {itu['clp']:.6g}"
        )
    return shown
