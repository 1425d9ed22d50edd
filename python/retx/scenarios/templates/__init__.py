"""Scenario templates, one file each, with the published figures on which they are based."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retx.errors import UsageError
from retx.errors.meant import meant

SUFFIX = ".toml"


def names() -> list[str]:
    """Names of all templates, in order."""
    return sorted(name for name, _ in _files())


def text(name: str) -> str:
    """Text of a template, with `FILE` as a placeholder for the file name.

    Raises:
        UsageError: The template is unknown.
    """
    known = dict(_files())
    if name not in known:
        hint = f"{meant(name, known)} (there are {', '.join(sorted(known))})"
        raise UsageError(f"no template {name!r}{hint}")
    return known[name]


def describe() -> list[dict[str, Any]]:
    """Name and first sentence of each template, as in `retx.describe`."""
    return [
        {"name": name, "summary": _summary(found), "parameters": []}
        for name, found in sorted(_files())
    ]


def _files() -> Iterator[tuple[str, str]]:
    for file in Path(__file__).parent.glob(f"*{SUFFIX}"):
        yield file.stem, file.read_text(encoding="utf-8")


def _summary(found: str) -> str:
    """First sentence of the comment at the top of a template."""
    return found.splitlines()[0].removeprefix("# ").partition(". ")[0] + "."
