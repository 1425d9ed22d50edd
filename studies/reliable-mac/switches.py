"""Named values of runs with one change, which support the reasons for differing claims."""

from __future__ import annotations

from typing import Any

from retx.study import Measured, Named, scaled

from .values import CWND, DELAY, MSS_BYTES, REORDER, SENDER, SHARE, P, mbit


def switch_values(measured: Measured) -> Named:
    """Named values: effects of single changes for the claims that differ."""
    field = measured.estimate("corner_field", "reno")
    found: Named = {"corner_field": scaled(field, 1e-3)}
    for name, p in (("6", 0.06), ("8", 0.08)):
        for case in measured.study.experiments["impossible"].cases:
            goodput = measured.estimate("impossible", case, at={P: p})
            found[f"impossible_{case}_{name}"] = scaled(goodput, 1e-3)
    for case in measured.study.experiments["unharmed"].cases:
        found[f"unharmed_{case}"] = mbit(measured, "unharmed", case, {})
    for case in ("veno", "short", "long", "reno"):
        for name, p in (("1", 0.01), ("3", 0.03)):
            at: dict[str, Any] = {P: p}
            found[f"veno_{case}_{name}"] = measured.ratio("veno", case, "reno", at=at)
            timeouts = measured.estimate("veno", case, "flow.ftp.rto_count", at=at)
            found[f"veno_{case}_{name}_rto"] = timeouts
        for delay in ("0.5", "2"):
            for name, share in (("10", 0.1), ("30", 0.3)):
                at = {DELAY: f"{delay} s", SHARE: share}
                ratio = measured.ratio("veno_delay", case, "reno", at=at)
                found[f"veno_delay_{case}_{delay.replace('.', '_')}_{name}"] = ratio
    for case in ("base", "rto_fixed"):
        for name, share in (("10", 0.1), ("30", 0.3)):
            at = {SENDER: "reno", REORDER: False, SHARE: share}
            window = measured.estimate("switches_delay", case, CWND, at=at)
            found[f"cwnd_{case}_{name}"] = scaled(window, 1 / MSS_BYTES)
    return found
