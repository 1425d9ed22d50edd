"""A remedy, and the changes of a scenario that it proposes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retx.explaining.situation import NIL, Situation


@dataclass(frozen=True)
class Change:
    """One change of a scenario.

    Args:
        overrides: Values by key, as `retx run --set` takes them.
        text: The change, as the end of a sentence.
        apply: Instructions for Linux: commands, or sentences if there is no command.
        tag: Tells several changes of one remedy apart, such as a size.
    """

    overrides: Mapping[str, Any]
    text: str
    apply: Sequence[str]
    tag: str = ""


Propose = Callable[[Situation], Sequence[Change]]


@dataclass(frozen=True)
class Remedy:
    """Something that may make a flow faster.

    Args:
        name: Name on the command line.
        matters_for: Keys of `limited_by`; while all their shares are nil it is left out.
        propose: Changes that are open to a flow; none where it has them already.
        price: Possible cost, as a sentence.
        where: Place of the change: one of `ranking.WHERE`.
        queues: True where it also matters for a standing queue.
        undoes: True where it takes back a setting of the flow that limits it.
        in_linux: False where no kernel or tool that people can have does it.
    """

    name: str
    matters_for: Sequence[str]
    propose: Propose
    price: str
    where: str = "end"
    queues: bool = False
    undoes: bool = False
    in_linux: bool = True

    def weight(self, situation: Situation) -> float:
        """Share of the flow's life on which the remedy may act; 0 if it is left out."""
        share = situation.share(*self.matters_for)
        if share < NIL:
            share = 0.0
        if self.queues and situation.has_standing_queue:
            share = max(share, 0.5)
        return share


LOSSES = ("window", "recovery", "timeout")
CONGESTION = (".congestion",)
WIRELESS = (".wireless",)
SPURIOUS = (".spurious",)
