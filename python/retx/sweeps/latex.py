"""LaTeX tables of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from retx import _native
from retx.plots.keys import labels
from retx.plots.labels import axis
from retx.results.latex import means_table, paired_table
from retx.scenarios.parsed import resolve

if TYPE_CHECKING:
    from retx.sweeps.result import Sweep

ALSO = ("name", "direction")
"""Further columns that may distinguish rows; omitted if they do not."""


def sweep_latex(
    found: Sweep, metric: str, paired: tuple[object, object] | None, confidence: float
) -> str:
    """See `Sweep.to_latex`."""
    column = metric.rpartition(".")[2]
    names = _heads(found)
    level = f"{100 * confidence:g} % intervals"
    if paired is None:
        table = found.summary(metric, confidence=confidence)
        scale, head = axis(column, table["mean"])
        note = f"Means of {metric} with {level} (Student's t); {_by()}"
        keys = [*found.keys, *(it for it in ALSO if _distinguishes(table, it))]
        return means_table(table, keys, names, ("mean", head, scale), note)
    first, second = paired
    table = found.paired(first, second, metric, confidence=confidence)
    scale, head = axis(column, table["difference"])
    note = f"{metric}: {_said(first)} less {_said(second)}, run by run, with {level}; {_by()}"
    compared = set(first) if isinstance(first, Mapping) else set()
    keys = [key for key in found.keys if key in table.columns and key not in compared]
    keys += [it for it in ALSO if _distinguishes(table, it)]
    return paired_table(table, keys, names, (head, scale), note)


def _heads(found: Sweep) -> dict[str, str]:
    """Headings of the columns of keys, equal to the labels of axes."""
    base = found.scenario_toml
    scenario = resolve(base) if base else None
    return {key: label.text() for key, label in labels(found.keys, scenario).items()}


def _distinguishes(table: object, column: str) -> bool:
    values = table[column] if column in table.columns else []  # type: ignore[attr-defined, index]
    return len(set(values)) > 1


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {it}" for key, it in value.items())
    return str(value)


def _by() -> str:
    return f"retx {_native.__version__}"
