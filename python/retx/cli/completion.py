"""What a shell offers for a word that is not yet complete."""

from __future__ import annotations

from retx.earlier import FIGURES


def kinds_of_plots(incomplete: str) -> list[str]:
    """For `--plot`."""
    return [kind for kind in FIGURES if kind.startswith(incomplete)]


def kinds(incomplete: str) -> list[str]:
    """For the first word after `retx list`."""
    from retx.listing import describe

    return [kind for kind in describe() if kind.startswith(incomplete)]


def presets(incomplete: str) -> list[tuple[str, str]]:
    """TCPs, each with what it is."""
    from retx.listing import describe

    return [
        (entry["name"], entry["summary"])
        for entry in describe()["tcp"]
        if entry["name"].startswith(incomplete)
    ]
