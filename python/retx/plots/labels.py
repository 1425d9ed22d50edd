"""Names of columns as labels of axes, with units that give short numbers."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

UNITS = {
    "bit_s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "packets": ((1.0, "packets"),),
}


def axis(name: str, values: Iterable[float | None]) -> tuple[float, str]:
    """What values are divided by, and the label: `goodput_bit_s` → 1e6, `goodput (Mbit/s)`.

    Args:
        name: Of the column; its suffix is the unit.
        values: Those to be shown.
    """
    for suffix, scales in UNITS.items():
        if name.endswith(f"_{suffix}"):
            largest = max((abs(value) for value in values if value and isfinite(value)), default=1)
            # The largest unit that leaves the largest value above one.
            scale, unit = next((one for one in scales if largest >= one[0]), scales[-1])
            return scale, f"{_words(name.removesuffix(f'_{suffix}'))} ({unit})"
    return 1.0, name if "." in name else _words(name)


def _words(name: str) -> str:
    return name.replace("_", " ")
