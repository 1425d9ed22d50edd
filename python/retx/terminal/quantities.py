"""Numbers formatted for reading."""

from __future__ import annotations

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
NEXT_PREFIX = 0.9995
"""Fraction of the next prefix from which on a number with three digits rounds up to this prefix:
999.6 k becomes 1 M.
"""


def rate(bit_s: float | None) -> str:
    """Rate with three digits: `1.21 Mbit/s`."""
    return _prefixed(bit_s, "bit/s")


def seconds(value: float | None) -> str:
    """Text of a time: `50.2 s`, `44.1 ms`, `0.93 µs`."""
    if value is None:
        return "–"
    if value != 0 and abs(value) < 1e-3:
        return f"{value * 1e6:.3g} µs"
    if value != 0 and abs(value) < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.4g} s" if abs(value) < 1e4 else f"{value:.0f} s"


def count(value: float | None) -> str:
    """Text of a whole number with thin spaces between groups: `6 853`; means have one decimal."""
    if value is None:
        return "–"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}".replace(",", "\u202f")
    return f"{value:,.1f}".replace(",", "\u202f")


def counted(number: int, noun: str) -> str:
    """Number with its noun: `1 burst`, `28 bursts`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def mean_count(value: float | None) -> str:
    """Text of a mean of whole numbers, with three digits: `0.43`, `12.6`, `4 953`."""
    if value is None:
        return "–"
    if 0 < value < 0.01:
        return "< 0.01"
    return f"{value:.3g}" if value < 1000 else count(round(value))


def size(value: float | None) -> str:
    """Text of a number of bytes, with three digits: `65.5 kB`."""
    return _prefixed(value, "B")


def share(value: float | None) -> str:
    """Fraction as a percentage: `17.4 %`."""
    return "–" if value is None else f"{100 * value:.3g} %"


def _prefixed(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    for scale, prefix in PREFIXES:
        if abs(value) >= NEXT_PREFIX * scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
