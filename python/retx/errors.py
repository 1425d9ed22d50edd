"""Errors that are the user's to mend; the command line shows their message alone."""

from __future__ import annotations


class UsageError(ValueError):
    """What was asked for cannot be done as asked; the message says what to ask instead."""
