"""The studies included in retx, listed without reading all of their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retx.study.data import read_head

HOME = Path(__file__).parents[1] / "_studies"


def names() -> list[str]:
    """Names of the shipped studies: those of their folders."""
    return sorted(path.parent.name for path in HOME.glob("*/study.toml"))


def describe() -> list[dict[str, Any]]:
    """Name, title and paper of each study, as shown by `retx list`."""
    heads = {name: read_head(HOME / name / "study.toml") for name in names()}
    return [
        {
            "name": name,
            "summary": f"{head['title']} ({head['paper']['reference']})",
            "parameters": [],
        }
        for name, head in heads.items()
    ]
