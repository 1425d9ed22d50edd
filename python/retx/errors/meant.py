"""Hints at the name that a misspelt name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def meant(name: str, known: Iterable[str], quote: str = "'") -> str:
    """End of an error message, such as “; did you mean 'satellite'?”; empty if no name is near.

    Args:
        name: The name that does not exist.
        known: The existing names.
        quote: Quotation mark.
    """
    # Most commands meet no misspelt name.
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {quote}{close[0]}{quote}?" if close else ""


def choice(name: str, known: Iterable[str], listed: str | None = None) -> str:
    """End of an error message about a name that does not exist: the nearest name, and all names.

    For example “; did you mean 'cwnd'? (choose one of cwnd, rtt)” or “; choose one of cwnd, rtt”.

    Args:
        name: The name that does not exist.
        known: The existing names.
        listed: The existing names as text; by default all names.
    """
    names = list(known)
    near, there = meant(name, names), f"choose one of {listed or ', '.join(names)}"
    return f"{near} ({there})" if near else f"; {there}"
