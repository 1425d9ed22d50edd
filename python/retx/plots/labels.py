"""Labels of axes from names of columns, with units that give short numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

import polars as pl

from retx.scenarios.units import RATES, TIMES

UNITS = {
    "bit_s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "packets": ((1.0, "packets"),),
}


@dataclass(frozen=True)
class Label:
    """Label of an axis for a key of the scenario."""

    words: str
    unit: str = ""
    """Unit of plain numbers; texts such as `20 ms` contain their own unit."""
    owner: str = ""
    """Name of the link or flow, if there are several."""

    def text(self, unit: str = "") -> str:
        """Text of the label; `unit` is the unit of the axis."""
        shown = unit or self.unit
        owner = f"{self.owner}: " if self.owner else ""
        return f"{owner}{self.words}{f' ({shown})' if shown else ''}"


SCALES = TIMES | RATES
QUANTITY = re.compile(r"([0-9.eE+-]+) *([^\d\s]+)")


def in_one_unit(values: pl.Series) -> tuple[dict[str, float], str] | None:
    """Numbers for texts such as `20 ms`, in one unit, and this unit.

    None if a text is not a time or a rate, or if times and rates are mixed.
    """
    texts = values.cast(pl.String).unique(maintain_order=True).to_list()
    numbers, kinds = dict[str, float](), set[str]()
    for text in texts:
        match = QUANTITY.fullmatch(text or "")
        if match is None or match[2] not in SCALES:
            return None
        numbers[text] = float(match[1]) * SCALES[match[2]]
        kinds.add("bit_s" if match[2].endswith("bit/s") else "s")
    if len(kinds) != 1:
        return None
    scale, label = axis(f"_{kinds.pop()}", numbers.values())
    # Twelve digits, to remove rounding errors of the division.
    return {text: float(f"{it / scale:.12g}") for text, it in numbers.items()}, label[2:-1]


def axis(name: str, values: Iterable[float | None]) -> tuple[float, str]:
    """Divisor for values, and the label: `goodput_bit_s` → 1e6, `goodput (Mbit/s)`.

    Args:
        name: Name of the column; its suffix is the unit.
        values: Values to be shown.
    """
    for suffix, scales in UNITS.items():
        if name.endswith(f"_{suffix}"):
            largest = max((abs(value) for value in values if value and isfinite(value)), default=1)
            # The largest unit in which the largest value is at least 1.
            scale, unit = next((one for one in scales if largest >= one[0]), scales[-1])
            return scale, f"{words(name.removesuffix(f'_{suffix}'))} ({unit})"
    return 1.0, name if "." in name else words(name)


def words(name: str) -> str:
    """Name of a column or key with spaces."""
    return name.replace("_", " ")
