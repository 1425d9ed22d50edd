"""Emulations stored by a grid, for comparison with later simulations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import polars as pl

from retx.comparing.emulations import Emulated
from retx.results.result import NotRecordedError, Result

EPISODES: dict[str, type[pl.DataType]] = {
    "flow": pl.String,
    "kind": pl.String,
    "start_s": pl.Float64,
}


class Stored(Result):
    """Flows and episodes of a stored emulation, with the columns that a comparison needs."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self._kept = kept

    @property
    def summary(self) -> dict[str, Any]:
        """Stored part of the summary: its keys `flows` and `emulation`."""
        return {name: self._kept[name] for name in ("flows", "emulation")}

    @cached_property
    def episodes(self) -> pl.DataFrame:
        """Flow, kind and start of each episode."""
        if self._kept["episodes"] is None:
            raise NotRecordedError("episodes were not recorded")
        return pl.DataFrame(self._kept["episodes"], schema=EPISODES, orient="row")


def kept(attempts: Sequence[Emulated]) -> list[dict[str, Any]]:
    """Emulations as JSON values, in the order of `attempts`."""
    return [{"faults": it.faults, "run": _run(it.result)} for it in attempts]


def attempts(kept: Sequence[dict[str, Any]]) -> list[Emulated]:
    """Emulations from the values that `kept` returned."""
    return [Emulated(Stored(it["run"]) if it["run"] else None, it["faults"]) for it in kept]


def _run(result: Result | None) -> dict[str, Any] | None:
    if result is None:
        return None
    summary = result.summary
    try:
        columns = [pl.col(name).cast(kind) for name, kind in EPISODES.items()]
        episodes = result.episodes.select(columns).rows()
    except NotRecordedError:
        episodes = None
    return {"flows": summary["flows"], "emulation": summary["emulation"], "episodes": episodes}
