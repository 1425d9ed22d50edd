"""Numbers of each run that a study derives from its tables, from `quantities.toml`.

    [throughput]
    from  = "flows"
    where = "name NOT LIKE '%@%'"
    is    = "SUM(goodput_bit_s) / 1e3"

`where` and `is` are SQL expressions of polars; `is` aggregates the rows of a run. A run without
such rows has no number, or the number `else`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from retx.study.data import StudyError, build, read_toml
from retx.sweeps.derive import DERIVED
from retx.sweeps.plan import TABLES
from retx.sweeps.result import SUMMARIES

if TYPE_CHECKING:
    import polars as pl

    from retx.study.estimates import Values

FILE = "quantities.toml"
KNOWN = ("runs", *SUMMARIES, DERIVED, *TABLES)
"""Tables with a row for each run, or several."""


@dataclass(frozen=True)
class Derived:
    """A number of a run, aggregated over rows of one of its tables."""

    from_: str
    is_: str
    where: str = "TRUE"
    else_: float | None = None

    def __post_init__(self) -> None:
        if self.from_ not in KNOWN:
            raise StudyError(f"from: no table {self.from_!r} (there are {', '.join(KNOWN)})")

    def by_point(self, table: pl.DataFrame) -> dict[str, dict[int, float]]:
        """The number of each run of each point: by the point's key, then by replication.

        Args:
            table: Rows of all runs, as `with_floats` returns them.

        Raises:
            StudyError: An expression is wrong.
        """
        import polars as pl

        try:
            rows = table.filter(pl.sql_expr(self.where))
            found = rows.group_by("key", "replication").agg(value=pl.sql_expr(self.is_))
            if isinstance(found.schema["value"], pl.List):
                raise StudyError(f"{self.is_!r}: one number is needed for all rows, such as a SUM")
            found = found.with_columns(pl.col("value").cast(pl.Float64))
        except pl.exceptions.PolarsError as error:
            raise StudyError(f"{self.is_!r} where {self.where!r}: {error}") from None
        points: dict[str, dict[int, float]] = {}
        for key, replication, value in found.iter_rows():
            points.setdefault(key, {})[replication] = value
        return points

    def in_order(self, of_point: Mapping[int, float], count: int) -> Values:
        """Numbers of a point by replication."""
        found = [of_point.get(number, self.else_) for number in range(count)]
        return [None if value is None or value != value else value for value in found]


def with_floats(table: pl.DataFrame) -> pl.DataFrame:
    """A table as the expressions need it: with floats for all numbers, and with plain texts."""
    import polars as pl

    texts = pl.selectors.categorical() | pl.selectors.enum()
    # Sums of integers may not be divided as integers, or as decimals of a few digits.
    counts = pl.selectors.integer() - pl.selectors.by_name("replication")
    return table.with_columns(texts.cast(pl.String), counts.cast(pl.Float64))


def derived_quantities(folder: Path) -> dict[str, Derived]:
    """The numbers of a study, by name; none without the file.

    Raises:
        StudyError: The file is wrong.
    """
    path = folder / FILE
    content = read_toml(path, optional=True)
    return {name: build(Derived, table, f"{path}: {name}") for name, table in content.items()}
