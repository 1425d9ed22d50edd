"""Rows of the printed tables of flows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from retx.cli.tables import MOST_ROWS, First
from retx.results.rows import AT_ONCE, Rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from retx import _native

CAUSES = ("congestion", "wireless", "spurious")
INFERRED = ("congestion", "corruption")
KINDS = {"fast_retransmit": "fast retransmit", "rto": "timeout"}
COUNTED_AT_ONCE = 2048
"""Number of flows whose columns are read at once. Between two reads, Ctrl-C ends the program."""


class FlowRows:
    """Rows of the tables of flows.

    There may be a million flows. Of many flows, only those that are printed are read in full; the
    others are only counted, from the columns of the table of flows.
    """

    def __init__(self, scenario: dict[str, Any], flows: Iterable[dict[str, Any]]) -> None:
        self.tcp, self.udp, self.exchanges = First(), First(), First()
        self.episodes, self.inferred = First(), First()
        self._scenario = scenario
        if isinstance(flows, Rows) and len(flows) > AT_ONCE and flows.columns_of_flows(0, 1):
            self._add_first(flows)
            return
        for flow in flows:
            self._add(flow)

    def _add(self, flow: dict[str, Any]) -> None:
        if flow["exchanges"]["count"]:
            self.exchanges.append(flow)
        if flow["tcp"] is None:
            self.udp.append(flow)
            return
        self.tcp.append(flow)
        for kind, label in KINDS.items():
            if any(flow["episodes"][kind].values()):
                self.episodes.append((flow["name"], label, flow["episodes"][kind]))
        if not distinguishes_causes(self._scenario, flow["tcp"]):
            return
        for kind, label in KINDS.items():
            for inferred in INFERRED:
                counts = [flow["inferred"][kind][inferred][cause] for cause in CAUSES]
                if any(counts):
                    self.inferred.append((flow["name"], label, inferred, counts))

    def _add_first(self, flows: Rows) -> None:
        """Adds the first flows of each table, and counts the others."""
        totals = dict.fromkeys(("tcp", "udp", "exchanges", "episodes", "inferred"), 0)
        shown: set[int] = set()
        for first in range(0, len(flows), COUNTED_AT_ONCE):
            columns = flows.columns_of_flows(first, COUNTED_AT_ONCE)
            assert columns is not None
            for name, number in self._rows_of_flows(columns).items():
                if totals[name] < MOST_ROWS:
                    shown.update(first + int(index) for index in number.nonzero()[0][:MOST_ROWS])
                totals[name] += int(number.sum())
        for index in sorted(shown):
            self._add(flows[index])
        for name, total in totals.items():
            getattr(self, name).total = total

    def _rows_of_flows(
        self, columns: dict[str, _native._Column]
    ) -> dict[str, npt.NDArray[np.int64]]:
        """Number of rows of each flow in each table."""
        import numpy as np

        codes, names = columns["tcp"]
        distinguishing = [
            code for code, tcp in enumerate(names) if distinguishes_causes(self._scenario, tcp)
        ]
        tcp = np.asarray(codes) < len(names)

        def rows(of: npt.NDArray[np.bool_], *keys: str) -> npt.NDArray[np.int64]:
            found = [
                np.any([np.asarray(columns[f"{key}_{cause}"]) > 0 for cause in CAUSES], axis=0)
                for key in keys
            ]
            number: npt.NDArray[np.int64] = np.sum(found, axis=0) * of
            return number

        return {
            "tcp": tcp.astype(np.int64),
            "udp": (~tcp).astype(np.int64),
            "exchanges": (np.asarray(columns["exchanges_count"]) > 0).astype(np.int64),
            "episodes": rows(tcp, *(f"episodes_{kind}" for kind in KINDS)),
            "inferred": rows(
                np.isin(codes, distinguishing),
                *(f"inferred_{kind}_{inferred}" for kind in KINDS for inferred in INFERRED),
            ),
        }


def distinguishes_causes(scenario: dict[str, Any], tcp: str | None) -> bool:
    """True if the senders of this TCP infer the causes of losses."""
    return tcp is not None and bool(scenario["tcp"][tcp]["loss_cause"]["name"] != "none")
