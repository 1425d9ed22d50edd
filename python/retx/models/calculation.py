"""Closed forms evaluated for the flows of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from retx.errors import warn_of_lasting_losses
from retx.errors.checks import name_list
from retx.errors.meant import meant
from retx.models import cardwell, ethernet_limit, mathis, pftk, window_limit
from retx.models.arguments import ModelError
from retx.models.conditions import Conditions, conditions

if TYPE_CHECKING:
    import polars as pl

    from retx.scenarios.source import Scenario


def _window_limit(of: Conditions) -> float:
    return float(window_limit.bit_s(of.window_bytes, of.rtt_s))


def _ethernet_limit(of: Conditions) -> float:
    if isinf(of.wire_bit_s):
        return inf
    limit = ethernet_limit.bit_s(
        of.wire_bit_s, of.payload_bytes, of.overhead_bytes, of.headers_bytes
    )
    return float(limit)


def _mathis(of: Conditions) -> float:
    return float(mathis.bit_s(of.events, of.rtt_s, of.b, of.payload_bytes))


def _pftk(of: Conditions) -> float:
    return _payload(of, pftk.packets_s(of.events, of.rtt_s, of.rto_s, of.b, _window(of)))


def _pftk_approximate(of: Conditions) -> float:
    return _payload(
        of, pftk.approximate_packets_s(of.events, of.rtt_s, of.rto_s, of.b, _window(of))
    )


def _cardwell(of: Conditions) -> float:
    if of.transfer_bytes is None:
        return float("nan")
    segments = np.ceil(of.transfer_bytes / of.payload_bytes)
    first = max(of.initial_window_bytes / of.payload_bytes, 1)
    data = cardwell.latency_s(
        segments,
        of.events,
        of.rtt_s,
        of.rto_s,
        b=of.b,
        initial_window_packets=first,
        window_packets=max(_window(of), first),
        delayed_ack_s=0,
    )
    handshake = cardwell.handshake_s(of.rtt_s, initial_rto_s=of.initial_rto_s)
    # A transfer is complete when its last byte arrives, half a round trip before the acknowledgment
    # of this byte. If the receiver opens the connection, the data also wait for the last part of
    # the handshake.
    ends = of.rtt_s / 2 if of.receiver_opens else 0.0
    return float(8 * of.transfer_bytes / (handshake + ends + data - of.rtt_s / 2))


FORMS: Mapping[str, Callable[[Conditions], float]] = {
    "window_limit": _window_limit,
    "ethernet_limit": _ethernet_limit,
    "mathis": _mathis,
    "pftk": _pftk,
    "pftk_approximate": _pftk_approximate,
    "cardwell": _cardwell,
}
"""Function that computes the goodput in bit/s, by the name of the closed form in `models=[…]`."""

OF_RENO = ("mathis", "pftk", "pftk_approximate", "cardwell")
"""Closed forms that hold for the congestion avoidance of Reno only."""
RENO = ("reno", "reno_linux")


def checked_forms(models: str | Sequence[str] | None) -> list[str]:
    """Names of closed forms; all by default.

    Raises:
        ModelError: A name is unknown.
    """
    chosen = name_list(models or ())
    for name in chosen:
        if name not in FORMS:
            hint = f"{meant(name, FORMS)} (there are {', '.join(FORMS)})"
            raise ModelError(f"no closed form {name!r}{hint}")
    return chosen or list(FORMS)


def calculate(
    scenario: Scenario,
    models: str | Sequence[str] | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Results of closed forms for a scenario, one row per flow and form.

    Columns: `flow model loss_rate rtt_s goodput_bit_s response_time_s`; the last only for finite
    transfers. Values may be infinite, such as those of `mathis` without losses. `mathis`, `pftk`,
    `pftk_approximate` and `cardwell` describe Reno: the results of flows with another congestion
    control are null. These forms take loss events: successive losses of a channel
    `gilbert_elliott` count as one. The losses of a channel `gilbert_elliott_time` are counted one
    by one, with a warning, since the number of events depends on the rate of packets.
    `loss_rate` is that of packets in any case.

    Args:
        scenario: As for `retx.run`.
        models: Names of forms, one or several: `window_limit`, `ethernet_limit`, `mathis`, `pftk`,
            `pftk_approximate`, `cardwell`; all by default.
        overrides: As for `retx.run`.

    Raises:
        ModelError: The form is unknown, a chosen form describes none of the flows, or the
            conditions of a flow are not constant.
        ScenarioError: The scenario is wrong.
    """
    import polars as pl

    from retx.scenarios.parsed import resolve

    names = checked_forms(models)
    flows = conditions(resolve(scenario, overrides=overrides))
    for name in names if models else ():
        if not any(_covers(name, of) for of in flows):
            found = ", ".join(sorted({of.congestion_control for of in flows}))
            raise ModelError(f"{name} describes the congestion control of Reno, not {found}")
    for of in flows:
        if of.lasting and any(name in OF_RENO and _covers(name, of) for name in names):
            warn_of_lasting_losses(of.lasting)
            break
    rows = [_row(of, name) for of in flows for name in names]
    return pl.DataFrame(rows, schema=SCHEMA)


SCHEMA = {
    "flow": str,
    "model": str,
    "loss_rate": float,
    "rtt_s": float,
    "goodput_bit_s": float,
    "response_time_s": float,
}


def _covers(name: str, of: Conditions) -> bool:
    """True if a closed form holds for the congestion control of a flow."""
    return name not in OF_RENO or of.congestion_control in RENO


def _row(of: Conditions, name: str) -> dict[str, Any]:
    goodput = FORMS[name](of) if _covers(name, of) else float("nan")
    known = of.transfer_bytes is not None and goodput > 0
    return {
        "flow": of.flow,
        "model": name,
        "loss_rate": of.p,
        "rtt_s": of.rtt_s,
        "goodput_bit_s": None if np.isnan(goodput) else goodput,
        "response_time_s": 8 * (of.transfer_bytes or 0) / goodput if known else None,
    }


def _window(of: Conditions) -> float:
    return max(of.window_bytes / of.payload_bytes, 1.0)


def _payload(of: Conditions, packets_s: Any) -> float:  # noqa: ANN401
    return float(8 * of.payload_bytes * packets_s)
