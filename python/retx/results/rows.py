"""Lazy rows of a summary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retx import _native

AT_ONCE = 256


class Rows:
    """`flows` or `links` of a summary, created lazily, since there may be many thousands."""

    def __init__(self, raw: _native.RawResult, table: str) -> None:
        self._raw = raw
        self._table = table

    def __len__(self) -> int:
        return self._raw.row_count(self._table)

    def __getitem__(self, index: int) -> dict[str, Any]:
        row: dict[str, Any] = json.loads(self._raw.rows(self._table, index, 1))[0]
        return row

    def columns_of_flows(self, first: int, count: int) -> dict[str, _native._Column] | None:
        """Columns of up to `count` flows from the flow `first` on; None for an emulation."""
        return self._raw.columns_of_flows(first, count)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for first in range(0, len(self), AT_ONCE):
            yield from json.loads(self._raw.rows(self._table, first, AT_ONCE))


def outline(raw: _native.RawResult) -> dict[str, Any]:
    """Summary with `Rows` for its flows and links.

    Its scenario lacks links, wlans, routes and flows.
    """
    head: dict[str, Any] = json.loads(raw.head())
    return head | rows_of_raw(raw)


def rows_of_raw(raw: _native.RawResult) -> dict[str, Rows]:
    """The tables of a summary that may have many rows."""
    return {table: Rows(raw, table) for table in ("flows", "links")}
