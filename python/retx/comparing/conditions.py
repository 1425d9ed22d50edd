"""Conditions drawn from a seed, under which simulations and emulations are compared.

A condition follows from its number, the seed and the families, and does not depend on other
conditions. A grid can thus be continued and extended. The families (`retx.comparing.families`) take
turns. If only `classic` is chosen, the conditions equal those of earlier versions, which had no
other family.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from retx.comparing.families import FAMILIES, Drawn
from retx.errors import UsageError
from retx.errors.meant import choice

ALL = "all"


@dataclass(frozen=True)
class Condition:
    """A path, its TCPs and their traffic."""

    number: int
    """Number of the condition, from 0."""
    family: str
    seed: int
    """Seed of the runs."""
    drawn: Drawn

    def row(self) -> dict[str, Any]:
        """The condition as a row of a table."""
        drawn = self.drawn
        return {
            "number": self.number,
            "family": self.family,
            "rate_mbit_s": drawn.rate_mbit_s,
            "rtt_ms": drawn.rtt_ms,
            "queue_packets": drawn.queue_packets,
            "tcp": drawn.tcp,
            "about": drawn.about,
            "seed": self.seed,
        }

    def scenario(self) -> dict[str, Any]:
        """Scenario, as `retx.run` takes it."""
        drawn = self.drawn
        path = {
            "name": "path",
            "ends": ["router" if drawn.access else "server", "client"],
            "rate": f"{drawn.rate_mbit_s} Mbit/s",
            "delay": f"{drawn.rtt_ms / 2} ms",
            # Without overhead, only the bytes of IP packets count, as in the emulator, which works
            # at the network layer.
            "overhead": 0,
            "queue": {"discipline": "droptail", "packets": drawn.queue_packets},
        }
        return {
            "title": f"Condition {self.number}, {self.family}: {drawn.about}",
            "duration": drawn.duration,
            "seed": self.seed,
            "tcp": drawn.tcps,
            "link": [*drawn.access, path | drawn.path],
            "flow": [{"to": "client", "initiator": "to"} | flow for flow in drawn.flows],
        }


def condition(number: int, seed: int, families: str = ALL) -> Condition:
    """One of the conditions of a seed.

    Raises:
        UsageError: The family is unknown.
    """
    names = chosen(families)
    family = names[number % len(names)]
    # The name of the random stream of `classic` does not contain the family, as in versions that
    # had no other family.
    stream = f"{seed}/{number}" if family == "classic" else f"{seed}/{family}/{number}"
    drawn = FAMILIES[family](random.Random(stream), number, number // len(names))
    return Condition(number, family, seed, drawn)


def chosen(families: str) -> tuple[str, ...]:
    """Names of the families that take turns: a single one, or all for `all`.

    Raises:
        UsageError: The family is unknown.
    """
    if families == ALL:
        return tuple(FAMILIES)
    if families not in FAMILIES:
        raise UsageError(f"families is {families!r}{choice(families, [ALL, *FAMILIES])}")
    return (families,)
