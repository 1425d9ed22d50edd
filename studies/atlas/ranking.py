"""Ranking of presets, as far as runs with the same draws separate them.

*Reference.* Hsu 1984, "Constrained simultaneous confidence intervals for multiple comparisons with
the best", Annals of Statistics 12(3): the best is compared with all others simultaneously, so that
each comparison has a share of the error (Bonferroni), and tests are one-sided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import stdtrit

from retx.analysis.intervals import half_width
from retx.study import Estimate, Interval
from retx.study.data import read_toml

ALPHA = 0.05
LEAST_BIT_S = 8 * 1460 / 60
"""Goodput of one segment per run, as a lower bound: zero has no logarithm."""

LISTS = read_toml(Path(__file__).parent / "values.toml")["list"]
FAMILIES: dict[str, list[str]] = {name: it["is"].split() for name, it in LISTS["families"].items()}
"""Presets based on the same idea: no winner is determined within a family."""
FAMILY = {preset: family for family, presets in FAMILIES.items() for preset in presets}
LINUX = tuple(LISTS["linux"])
"""Presets that are available on a Linux host."""
DEFAULT = "linux"

Logs = dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]
"""Logarithm of goodput of each run, by preset."""


@dataclass(frozen=True)
class Leader:
    """The best preset of a cell."""

    best: str
    gain: Estimate
    """Goodput over that of Linux's default, run by run. The interval is corrected for the number of
    candidates (Bonferroni), and therefore also holds for the best of them."""
    rivals: tuple[str, ...]
    """Families that are not significantly worse."""

    @property
    def family(self) -> str:
        """Family of the best preset."""
        return FAMILY[self.best]

    @property
    def apart(self) -> bool:
        """True if no other family may be as good."""
        return not self.rivals


def logs_by_cell(flows: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[object, ...], Logs]:
    """Logarithms of goodput by cell of these keys, averaged over what else varies, run by run.

    Args:
        flows: One row per point and replication, with `case` and `goodput_bit_s`.
        keys: Columns that define a cell.
    """
    table = (
        flows.with_columns(log=pl.col("goodput_bit_s").clip(LEAST_BIT_S).log())
        .group_by(*keys, "case", "replication", maintain_order=True)
        .agg(pl.col("log").mean())
        .sort("replication", maintain_order=True)
    )
    cells: dict[tuple[object, ...], Logs] = {}
    for (*cell, case), part in table.partition_by(*keys, "case", as_dict=True).items():
        cells.setdefault(tuple(cell), {})[str(case)] = part["log"].to_numpy()
    return cells


def leader(logs: Logs, among: Sequence[str] | None = None) -> Leader:
    """The best of the given presets, by default of all, and the families that may be as good."""
    names = list(among or logs)
    best = max(names, key=lambda name: float(logs[name].mean()))
    others = [name for name in names if FAMILY[name] != FAMILY[best]]
    rivals = [name for name in others if not _separated(logs[best] - logs[name], len(others))]
    families = tuple(dict.fromkeys(FAMILY[name] for name in rivals))
    return Leader(best, ratio(logs, best, DEFAULT, tests=len(names) - 1), families)


def _separated(differences: np.ndarray[tuple[int], np.dtype[np.float64]], tests: int) -> bool:
    """True if the mean difference is significantly above 0, as one of this number of tests."""
    n = len(differences)
    if n < 2:
        return False
    half = stdtrit(n - 1, 1 - ALPHA / tests) * float(differences.std(ddof=1)) / np.sqrt(n)
    return bool(differences.mean() - half > 0)


def ratio(
    logs: Mapping[str, np.ndarray[tuple[int], np.dtype[np.float64]]], a: str, b: str, tests: int = 1
) -> Estimate:
    """Geometric mean of a over b, run by run; its interval is corrected for the number of tests."""
    differences = logs[a] - logs[b]
    mean, n = float(differences.mean()), len(differences)
    if n < 2:
        return Estimate(float(np.exp(mean)), n)
    half = half_width(float(differences.std(ddof=1)), n, 1 - ALPHA / tests)
    ends = Interval(float(np.exp(mean - half)), float(np.exp(mean + half)))
    return Estimate(float(np.exp(mean)), n, ends)
