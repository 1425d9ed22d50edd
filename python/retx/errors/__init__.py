"""Errors that the user can correct, and warnings.

The command line shows only the message of such an error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from retx.terminal.streams import clean


class NothingMeasuredWarning(UserWarning):
    """A run ended within its warmup, so its counters are 0, and its rates and shares are null."""


class IdleQueueWarning(UserWarning):
    """A link has a queue, but no rate, so the queue never holds a packet."""


class LastingLossesWarning(UserWarning):
    """A closed form counts each loss of a channel as an event, although they occur in bursts."""


class UsageError(ValueError):
    """A request that cannot be carried out; the message says what is possible instead."""


def warn_of_idle_queues(links: Sequence[str]) -> None:
    """Warns the user of links that have a queue, but no rate."""
    for link in links:
        message = (
            f"link.{link}.queue never holds a packet, because the link has no rate: add `rate`, or "
            "leave out `queue`"
        )
        warnings.warn(message, IdleQueueWarning, stacklevel=4)


def warn_of_lasting_losses(link: str) -> None:
    """Warns the user that a closed form overestimates the number of loss events."""
    message = (
        f"link {link}: closed forms of Reno take losses of one window as one event, but count each "
        "loss of gilbert_elliott_time: their goodput is too low where a window loses several"
    )
    warnings.warn(message, LastingLossesWarning, stacklevel=3)


def warn_of_unmeasured(count: int, of: int) -> None:
    """Warns the user if at least one run ended within its warmup."""
    if count:
        message = f"{count} of {of} runs were over within their warmup: nothing was measured there"
        warnings.warn(message, NothingMeasuredWarning, stacklevel=3)


def warn(message: str) -> None:
    """Warns the user of something that does not stop the run."""
    print(f"warning: {clean(message)}", file=sys.stderr)
