"""Checks of arguments; the message of each error is one sentence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from operator import index
from pathlib import Path
from typing import Any

from retx.errors import UsageError

MOST = 2**63 - 1


def checked_integer(name: str, value: Any, least: int) -> int:  # noqa: ANN401
    """Checks that a value is a whole number of at least `least`.

    Raises:
        UsageError: The value is not such a number.
    """
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}: it must be a whole number of at least {least}")
    if number < least:
        raise UsageError(f"{name} is {number}: it must be at least {least}")
    if number > MOST:
        raise UsageError(f"{name} is {number}: it must be at most {MOST}")
    return number


def optional_path(name: str, value: str | os.PathLike[str] | None) -> Path | None:
    """Path of a file or directory; None for None.

    Raises:
        UsageError: The value is not a path, or empty.
    """
    return None if value is None else required_path(name, value)


def required_path(name: str, value: str | os.PathLike[str]) -> Path:
    """Checks a path like `optional_path`, but rejects None and empty text."""
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name} is {value!r}: it must be a path")
    if not os.fspath(value):
        raise UsageError(f"{name} is empty: name a file or directory, or leave it out")
    return Path(value)


def name_list(given: str | Sequence[str]) -> list[str]:
    """Names that are given as one text or several; the letters of a text are not names."""
    return [given] if isinstance(given, str) else list(given)


def check_seed(seed: object) -> None:
    """Refuses a seed that is not a whole number; the engine checks its size.

    Raises:
        UsageError: The seed is something else.
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise UsageError(f"seed is {seed!r}: it must be a whole number")


def capture_points(pcap: Path | None, pcap_at: str | Sequence[str]) -> list[tuple[str, str]]:
    """List of capture points, which are given as one or several `LINK@NODE`.

    Raises:
        UsageError: A point is not `LINK@NODE`, or points are given although no capture is written.
    """
    if pcap_at and pcap is None:
        raise UsageError("pcap_at says where to capture: add pcap, the file")
    return [_capture_point(place) for place in name_list(pcap_at)]


def _capture_point(place: object) -> tuple[str, str]:
    link, at, node = place.partition("@") if isinstance(place, str) else ("", "", "")
    if not (at and link and node):
        point = "place of capture (--pcap-at, in Python pcap_at)"
        raise UsageError(f"{point}: {place!r}: write LINK@NODE, such as cloud@server")
    return link, node
