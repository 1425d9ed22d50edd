"""Remedy, and the changes to a scenario that it proposes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retx.explaining.situation import NIL, Situation, is_key


@dataclass(frozen=True)
class Change:
    """Change of a scenario.

    Args:
        overrides: Values by key, as for `retx run --set`.
        text: The change, as the end of a sentence.
        apply: Instructions for Linux: commands, or sentences if no command exists.
        tag: Text that distinguishes several changes of one remedy, such as a size.
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
        matters_for: Keys of `limited_by` on which the remedy acts. The remedy is left out if the
            shares of all these keys are negligible.
        propose: Function that returns the changes for a situation; an empty list if the flow
            already has them.
        price: Possible cost, as a sentence.
        where: Place of the change: one of `ranking.WHERE`.
        queues: True if the remedy also acts on a standing queue.
        undoes: True if the remedy undoes a setting of the flow that limits it.
        in_linux: False if no published kernel or tool offers the change.
        is_seldom: True if the change is rarely made in practice, so that its price is little known.
    """

    name: str
    matters_for: Sequence[str]
    propose: Propose
    price: str
    where: str = "end"
    queues: bool = False
    undoes: bool = False
    in_linux: bool = True
    is_seldom: bool = False

    def weight(self, situation: Situation) -> float:
        """Share of the flow's lifetime under the limits on which the remedy can act.

        0 if the remedy is left out.
        """
        share = situation.share(*self.matters_for)
        if share < NIL:
            share = 0.0
        if self.queues and situation.has_standing_queue:
            share = max(share, 0.5)
        return share


def acts_on(remedies: Iterable[Remedy], keys: Iterable[str]) -> bool:
    """True if one of the remedies acts on one of these keys of `limited_by`."""
    words = [word for remedy in remedies for word in remedy.matters_for]
    return any(is_key(key, word) for key in keys for word in words)


LOSSES = ("window", "recovery", "timeout")
CONGESTION = (".congestion",)
WIRELESS = (".wireless",)
SPURIOUS = (".spurious",)
