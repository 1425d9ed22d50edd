"""Distinguishes earlier results, which may be replaced, from other directories."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from retx.files.regular import read_regular

TABLES = (
    "flows", "links", "wlans", "stations", "relays",
    "samples", "link_samples", "segments", "acks", "drops", "episodes",
    "exchanges", "limits",
)  # fmt: skip
"""The tables of a run, in the order of the documentation."""

FIGURES = (
    "cwnd", "sequence", "rtt", "ladder", "queue",
    "episodes", "goodput", "fairness", "bursts", "confusion", "why",
)  # fmt: skip
"""The kinds of figures of a run."""

SUMMARY, SCENARIO, CODE = "summary.json", "scenario.toml", "user_code"
FILES = (
    SUMMARY, SCENARIO, *(f"{name}.parquet" for name in TABLES), *(f"{it}.png" for it in FIGURES),
    "diagnosis.json",
)  # fmt: skip
"""All files that a result directory may contain, except user code."""
OF_ALL = {"scenario", "version", "seed"}
OF_ONE, OF_MANY = {"flows", "links", "engine"}, {"replications", "runs"}
"""Keys of a summary: those of the summary of one run, and those of the summary of several runs."""


def is_result_file(name: PurePosixPath) -> bool:
    """True if a file of a result, or of a saved sweep, may have this path within its directory."""
    if len(name.parts) == 2:
        return name.parts[0] == CODE
    return str(name) in FILES or (len(name.parts) == 1 and name.suffix == ".parquet")


def foreign_to_result(directory: Path) -> str | None:
    """Reason why a directory is not a result, as text; None if it is one."""
    text = _summary(directory / SUMMARY)
    for path in sorted(_inside(directory)):
        name = path.relative_to(directory).as_posix()
        # The summary names the files of user code.
        named = name.startswith(f"{CODE}/") and json.dumps(name, ensure_ascii=False) in text
        if not (name in FILES or named) or not path.is_file() or path.is_symlink():
            if text:
                return f"it holds {name}, which retx did not write"
            return f"it holds {name} and no {SUMMARY} of retx, and is thus no run"
    return None if text else f"it holds no {SUMMARY} of retx"


def _inside(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.name == CODE and path.is_dir() and not path.is_symlink():
            yield from path.iterdir()
        else:
            yield path


def _summary(path: Path) -> str:
    """Text of a summary; empty if the file is not one of retx's."""
    try:
        text = read_regular(path)
        keys = set(json.loads(text))
    except (OSError, ValueError, TypeError):
        return ""
    return text if keys >= OF_ALL and (keys >= OF_ONE or keys >= OF_MANY) else ""
