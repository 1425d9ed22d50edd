"""Limits of a flow: the keys of `limited_by`, and phrases for them in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CAUSES = ("congestion", "wireless", "spurious")
KEYS = (
    "handshake",
    "application",
    "send_buffer",
    "receive_window",
    "bottleneck",
    "slow_start",
    *(f"{kind}.{cause}" for kind in ("window", "recovery", "timeout") for cause in CAUSES),
    "pacing",
    "nagle",
    "delayed_ack",
)
"""All keys, with dots in nested keys, in the order in which the limits apply."""

_LOSSES = {
    "congestion": "after losses in a queue",
    "wireless": "after losses of the channel",
    "spurious": "where nothing was lost",
}
_KINDS = {
    "window": "by windows reduced",
    "recovery": "by fast recovery",
    "timeout": "by silence until the retransmission timer",
}
PHRASES = {
    "handshake": "by the handshake",
    "application": "by the application",
    "send_buffer": "by the send buffer",
    "receive_window": "by the receiver's window",
    "bottleneck": "by the link's rate",
    "slow_start": "by slow start",
    **{
        f"{kind}.{cause}": f"{_KINDS[kind]} {_LOSSES[cause]}" for kind in _KINDS for cause in CAUSES
    },
    "pacing": "by its own pacing",
    "nagle": "by Nagle's algorithm",
    "delayed_ack": "by delayed acknowledgments",
    "unknown": "by something unknown",
}
"""Phrase for each key that completes a sentence such as "limited 63 % …"."""
_ROUNDING_S = 1e-6
"""Maximum error of a sum of times."""
LEAST, MOST = 0.01, 5
"""Smallest share that a sentence lists, and maximum number of its parts."""


def phrases_of_marks(flow: Mapping[str, Any]) -> dict[str, str]:
    """Phrases by key for a flow whose window was reduced by ECN marks; empty for other flows.

    `limited_by` counts the response to a mark as congestion, although nothing is lost.
    """
    if not flow.get("ecn_reductions"):
        return {}
    lost = any(kind["congestion"] for kind in flow["episodes"].values())
    words = "losses or marks in a queue" if lost else "ECN marks of a queue"
    keys = [f"{kind}.congestion" for kind in _KINDS]
    return {key: PHRASES[key].replace("losses in a queue", words) for key in keys}


def cut_off_s(app: Mapping[str, Any], simulated_s: float, duration_s: float) -> float:
    """Time at which a run cuts off a flow with this application.

    A run may end before its duration, but only after all flows that can end.
    """
    is_endless = app["kind"] == "bulk" or (
        app["kind"] == "request_response" and app.get("exchanges") in (None, "none")
    )
    return simulated_s if is_endless else duration_s


def failed_at_s(flow: Mapping[str, Any], start_s: float, end_s: float) -> float | None:
    """Time at which the flow failed; None if it did not.

    The life of a flow that TCP has given up ends before the run, although data are missing.

    Args:
        flow: Row of the `flows` table.
        start_s: End of the warm-up.
        end_s: Time at which the run cuts off the flow (`cut_off_s`).
    """
    if flow["finish_s"] is not None or flow["start_s"] is None:
        return None
    life = sum(flat(flow.get("limited_by")).values())
    ended = max(flow["start_s"], start_s) + life
    return ended if life > 0 and ended < end_s - _ROUNDING_S else None


def failure(time: str) -> str:
    """Sentence about a flow that failed at this time, such as `924 s`."""
    return f"It failed at {time}: TCP gave up after its retransmissions stayed unanswered."


class NoAccountingError(LookupError):
    """The result has no `limited_by`."""


def flat(limited_by: Mapping[str, Any] | None) -> dict[str, float]:
    """Seconds by key, nested keys with a dot: `window.congestion`.

    Raises:
        NoAccountingError: `limited_by` is empty.
    """
    found: dict[str, float | None] = {}
    for key, value in (limited_by or {}).items():
        if isinstance(value, Mapping):
            found |= {f"{key}.{cause}": part for cause, part in value.items()}
        else:
            found[key] = value
    known = {key: float(value) for key, value in found.items() if value is not None}
    if not known or len(known) < len(found):
        raise NoAccountingError("the limits of this flow were not recorded: limited_by is null")
    return known


def shares(seconds: Mapping[str, float]) -> dict[str, float]:
    """Shares of the flow's lifetime; all 0 if its duration is zero."""
    life = sum(seconds.values())
    return {key: value / life if life > 0 else 0.0 for key, value in seconds.items()}


def summed(flows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Sums of seconds over several flows."""
    total = dict.fromkeys(KEYS, 0.0)
    for flow in flows:
        for key, value in flow.items():
            total[key] = total.get(key, 0.0) + value
    return total


def ranked(of_life: Mapping[str, float]) -> list[tuple[str, float]]:
    """Keys with their shares, the largest first; equal shares in the order of `KEYS`."""
    return sorted(of_life.items(), key=lambda item: -item[1])


def by_cause(of_life: Mapping[str, float]) -> list[dict[str, float]]:
    """Shares by key for each cause, the largest cause first.

    Keys such as `window.wireless` and `timeout.wireless` have the same cause; a key without a dot
    is a cause of its own.
    """
    found: dict[str, dict[str, float]] = {}
    for key, share in of_life.items():
        found.setdefault(key.rpartition(".")[2], {})[key] = share
    return sorted(found.values(), key=lambda keys: -sum(keys.values()))


def sentence(of_life: Mapping[str, float], phrases: Mapping[str, str] | None = None) -> str:
    """`limited 63 % by the receiver's window, 21 % by slow start`; "" if nothing limited the flow.

    Args:
        of_life: Shares by key.
        phrases: Phrases for some keys, instead of those in `PHRASES`.
    """
    words = PHRASES | dict(phrases or {})
    shown = [(key, share) for key, share in ranked(of_life) if share >= LEAST][:MOST]
    parts = [f"{per_cent(share)} {words.get(key, f'by {key}')}" for key, share in shown]
    return f"limited {', '.join(parts)}" if parts else ""


def line(limited_by: Mapping[str, Any] | None, phrases: Mapping[str, str] | None = None) -> str:
    """Result of `sentence` for a flow's `limited_by`; "" if it was not recorded."""
    try:
        return sentence(shares(flat(limited_by)), phrases=phrases)
    except NoAccountingError:
        return ""


def per_cent(share: float) -> str:
    """Text of a share: `63 %`; `0.4 %` for small shares; never 100 % for a share below 1."""
    if 0 < share < 0.01:
        return f"{100 * share:.1g} %"
    if 0.99 <= share < 1:
        return f"{int(1000 * share) / 10:g} %"
    return f"{100 * share:.0f} %"
