"""Objectives of a tuning: quantities to maximise or minimise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from retx import _native
from retx.errors import UsageError
from retx.errors.meant import choice, meant
from retx.models import fairness
from retx.scenarios.names import listed

if TYPE_CHECKING:
    from retx.results.replications import Replications

NAMED = {
    "goodput": "sum of the flows' goodputs (bit/s)",
    "fairness": "Jain's index of the flows' goodputs",
    "delay": "mean of the flows' round-trip times (s)",
}


@dataclass(frozen=True)
class Objective:
    """A quantity of a run, averaged over replications, and its direction.

    `goodput`, `fairness` or `delay`; or a column of `flows`, averaged over the flows; or a column
    of a single flow, `download.response_time_s`.
    """

    name: str
    maximise: bool

    def check(self, flows: Sequence[str]) -> None:
        """Refuses an objective that has no value in any trial.

        Args:
            flows: Names of all possible flows.

        Raises:
            UsageError: The quantity or flow is unknown.
        """
        if self.name in NAMED:
            return
        flow, _, column = self.name.rpartition(".")
        columns = dict(_native.measures())["flows"]
        if column not in columns:
            near = meant(column, columns if flow else [*NAMED, *columns])
            raise UsageError(
                f"objective {self.name!r}: no such quantity{near} (there is {', '.join(NAMED)}, "
                f"and of flows {', '.join(columns)})"
            )
        if flow and flow not in flows:
            end = choice(flow, flows, listed(flows))
            raise UsageError(f"objective {self.name!r}: no flow {flow!r}{end}")

    def value(self, runs: Replications) -> float | None:
        """Mean over the replications; None if a flow has no value, such as an unfinished one."""
        flows = runs.flows
        each = flows.group_by("replication", maintain_order=True)
        if self.name == "goodput":
            goodput = pl.col("goodput_bit_s")
            # The sum is null for a run in which nothing was measured.
            sums = each.agg(pl.when(goodput.count() > 0).then(goodput.sum()))
            return _mean(sums["goodput_bit_s"])
        if self.name == "fairness":
            goodputs = each.agg(pl.col("goodput_bit_s"))["goodput_bit_s"]
            index = [float(fairness.jain(values.drop_nulls().to_numpy())) for values in goodputs]
            return None if any(np.isnan(index)) else float(np.mean(index))
        if self.name == "delay":
            return _mean(flows["rtt_mean_s"])
        flow, _, column = self.name.rpartition(".")
        if flow:
            flows = flows.filter(pl.col("name").cast(pl.String) == flow)
        return _mean(flows[column])

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """Direction in Optuna's terms."""
        return "maximize" if self.maximise else "minimize"


def _mean(values: pl.Series) -> float | None:
    # A mean over the finished flows alone would favour settings under which some flows never
    # finish.
    return (
        None if values.null_count() or not values.len() else float(values.cast(pl.Float64).mean())
    )
