"""Times, rates and windows of a resolved scenario as numbers."""

from __future__ import annotations

import re

TIMES = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
_TEXT = re.compile(r"\s*([0-9._eE+-]+)\s*(\S+)\s*")


def seconds_of(text: str) -> float:
    """Seconds of a duration such as `"20 ms"`."""
    return _number(text, TIMES)


def rate_of(text: str) -> float:
    """Bits per second of a rate such as `"10 Mbit/s"`."""
    return _number(text, RATES)


def bytes_of(value: int | str, mss: int) -> int:
    """Bytes of a window that is given as a number, a multiple of the MSS, or an initial window."""
    if isinstance(value, int):
        return value
    if value == "rfc5681":
        return (2 if mss > 2190 else 3 if mss > 1095 else 4) * mss
    if value == "rfc6928":
        return min(10 * mss, max(2 * mss, 14_600))
    return int(value.split()[0].removesuffix("mss")) * mss


def _number(text: str, units: dict[str, float]) -> float:
    found = _TEXT.fullmatch(text)
    if not found or found[2] not in units:
        raise ValueError(f"{text!r} has none of the units {', '.join(units)}")
    return float(found[1].replace("_", "")) * units[found[2]]


def power_of_two(value: float) -> int:
    """Smallest power of two that is at least this value."""
    return 1 << max(0, int(-(-value // 1)) - 1).bit_length()
