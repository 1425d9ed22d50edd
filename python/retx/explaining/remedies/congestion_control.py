"""Linux's congestion controls, as far as retx models them; other settings are unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retx.explaining.remedy import LOSSES, Change, Propose, Remedy
from retx.explaining.situation import Situation

CUBIC = {"name": "cubic", "variant": "linux", "slow_start": "hystart"}
MODULES: dict[str, tuple[str | dict[str, Any], str]] = {
    "bbr": ("bbr", "BBR"),
    "cubic": (CUBIC, "CUBIC"),
    "hybla": ("hybla_linux", "Hybla"),
    "vegas": ("vegas_linux", "Vegas"),
    "veno": ("veno_linux", "Veno"),
    "westwood": ("westwood_linux", "Westwood+"),
    "reno": ("reno_linux", "Reno"),
}
"""Linux's modules by name, each with the value in a scenario and the common name."""
FURTHER: dict[str, tuple[str | dict[str, Any], str]] = {
    "htcp": ("htcp", "H-TCP"),
    "illinois": ("illinois", "Illinois"),
    "bic": ("bic", "BIC"),
    "highspeed": ("highspeed", "HighSpeed TCP"),
    "scalable": ("scalable", "Scalable TCP"),
    "yeah": ("yeah", "YeAH"),
    "cdg": ("cdg", "CDG"),
    "lp": ("lp", "TCP-LP"),
    "nv": ("nv", "TCP-NV"),
}
"""Modules that help less often, in the same form."""
USUAL = ("bbr", "cubic", "reno")
"""Modules in wide use; the others are compiled by most distributions, but seldom loaded."""
LARGE_SHARE = "Takes more than its share on fast and long paths."
PRICES = {
    "bbr": "Retransmits much in a short queue, and takes more than its share there.",
    "hybla": "Bursts, and losses in a short queue.",
    "vegas": "Gives way to other congestion controls.",
    "htcp": LARGE_SHARE,
    "illinois": LARGE_SHARE,
    "bic": LARGE_SHARE,
    "highspeed": LARGE_SHARE,
    "scalable": "Takes more than its share, and flows never reach equal shares.",
    "yeah": "Keeps up to 80 segments in the queue.",
    "cdg": "Gives way where other flows make the delay rise.",
    "lp": "Meant to give way, but Reno in most connections: the random offsets of Linux's "
    "timestamps hide the delay from it.",
    "nv": "For data centres in which all flows use it: gives way to other congestion controls.",
}


def use_command(module: str) -> str:
    """Command that makes a congestion control the default; Reno is built in and needs no module."""
    load = "" if module == "reno" else f"modprobe tcp_{module}; "
    return f"{load}sysctl -w net.ipv4.tcp_congestion_control={module}"


def _propose(module: str, value: str | dict[str, Any], called: str) -> Propose:
    def changes(situation: Situation) -> list[Change]:
        now = situation.tcp["congestion_control"]
        wanted = {"name": value} if isinstance(value, str) else value
        if all(now.get(key) == part for key, part in wanted.items()):
            return []
        return [
            Change(
                {f"{situation.tcp_key}.congestion_control": value},
                f"{called}, on the same loss detection and timers",
                (
                    f"at the sender: {use_command(module)}",
                    f'for one program: setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "{module}", '
                    f"{len(module)})",
                    f"for one route: ip route change PREFIX via GATEWAY congctl {module}",
                ),
            )
        ]

    return changes


def of(modules: Mapping[str, tuple[str | dict[str, Any], str]]) -> tuple[Remedy, ...]:
    """A remedy for each module."""
    return tuple(
        Remedy(
            module,
            ("slow_start", *LOSSES),
            _propose(module, value, called),
            PRICES.get(module, "Other flows may lose or win."),
            queues=True,
            is_seldom=module not in USUAL,
        )
        for module, (value, called) in modules.items()
    )


REMEDIES = of(MODULES)
