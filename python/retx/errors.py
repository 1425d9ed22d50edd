"""Errors that are the user's to mend; the command line shows their message alone. Warnings."""

from __future__ import annotations

import sys
import warnings

from retx.terminal import clean


class NothingMeasuredWarning(UserWarning):
    """A run was over within its warmup: its counters are 0, and rates and shares null."""


class UsageError(ValueError):
    """A request that cannot be carried out; the message says what to ask for instead."""


def warn_of_unmeasured(count: int, of: int) -> None:
    """Warns of runs that were over within their warmup, if there are any."""
    if count:
        message = f"{count} of {of} runs were over within their warmup: nothing was measured there"
        warnings.warn(message, NothingMeasuredWarning, stacklevel=3)


def warn(message: str) -> None:
    """Tells the user of something that stops nothing."""
    print(f"warning: {clean(message)}", file=sys.stderr)
