"""Remedies of `retx why` that its table and its figure show: the same rows in the same order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retx.analysis.ranking import WHERE, easiest_gain, is_worth

MOST_USABLE, LEAST_USABLE = 10, 3
MOST_OTHERS, MOST_COMBINED = 3, 3

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ShownRemedies:
    """Rows of the content of an answer that are shown.

    Args:
        usable: Remedies that Linux offers, and that help. If they are fewer than `LEAST_USABLE`,
            the best others follow.
        others: Remedies that no kernel offers, and that help.
        combined: The best combinations.
    """

    usable: Sequence[Row]
    others: Sequence[Row]
    combined: Sequence[Row]

    @property
    def rows(self) -> list[Row]:
        """All rows, from top to bottom."""
        return [*self.usable, *self.others, *self.combined]


def shown(content: Mapping[str, Any]) -> ShownRemedies:
    """Rows to show of the content of an answer, among them those that its summary recommends."""
    remedies: Sequence[Row] = content["remedies"]
    usable = [row for row in remedies if row["in_linux"]]
    others = [row for row in remedies if not row["in_linux"] and helps(row)]
    fix = next((row for row in usable if row["name"] == content["fix"]), None)
    found = [row for row in usable if helps(row) or row is fix]
    more = [row for row in usable if row not in found][: max(0, LEAST_USABLE - len(found))]
    rows = [row for row in usable if row in found or row in more]
    combined = list(content["combinations"])
    return ShownRemedies(
        _first(rows, MOST_USABLE, fix),
        others[:MOST_OTHERS],
        _first(combined, MOST_COMBINED, combined_fix(content)),
    )


def _first(rows: Sequence[Row], most: int, named: Row | None) -> list[Row]:
    """The first rows; the row that the summary names replaces the last one if it comes later."""
    first = list(rows[:most])
    return first if named is None or named in first else [*first[:-1], named]


def helps(row: Row) -> bool:
    """True if a gain is large enough for a recommendation, and is not due to chance.

    A change with which TCP gives up the connection does not help.
    """
    return not row["failures"] and is_worth(row["gain"], row["gain_low"])


def combined_fix(content: Mapping[str, Any]) -> Row | None:
    """Recommended combination: few and easy remedies with a gain close to the best."""
    return easiest_gain(
        [row for row in content["combinations"] if not row["failures"]], gain_in, ease_of
    )


def gain_in(row: Row) -> float:
    """Gain of a row."""
    return float(row["gain"])


def ease_of(row: Row) -> tuple[int, int, int]:
    """Sorting key: fewer remedies come first, then easier places, then fewer keys."""
    return row["name"].count(" + "), WHERE.index(row["where"]), len(row["change"])
