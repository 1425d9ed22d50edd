"""The plots of one result: chooses the tables for each plot and draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from retx.plots.style import Ax, Figure

if TYPE_CHECKING:
    import polars as pl

Span = tuple[float, float]

NEEDS = {
    "cwnd": ("samples",),
    "sequence": ("segments",),
    "rtt": ("samples",),
    "ladder": ("segments", "acks"),
    "queue": ("link_samples",),
    "episodes": ("episodes",),
    "goodput": ("samples",),
    "fairness": ("samples",),
    "bursts": ("segments",),
    "confusion": (),
    "why": ("samples",),
}
"""The plots, each with the tables that it requires."""


class Plotted(Protocol):
    """Source of the tables that plots show: a run, or a flow in a capture."""

    @property
    def samples(self) -> pl.DataFrame:
        """State of the senders over time."""
        ...

    @property
    def link_samples(self) -> pl.DataFrame:
        """Packets in queues over time."""
        ...

    @property
    def segments(self) -> pl.DataFrame:
        """Transmissions of segments."""
        ...

    @property
    def acks(self) -> pl.DataFrame:
        """Acknowledgments."""
        ...

    @property
    def episodes(self) -> pl.DataFrame:
        """Episodes of loss recovery."""
        ...

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Recorded tables, by name."""
        ...

    @property
    def summary(self) -> dict[str, Any]:
        """Flows with their `limited_by`."""
        ...

    @property
    def plot(self) -> Plot:
        """Plots of these tables."""
        ...

    def confusion(self) -> pl.DataFrame:
        """Inferred and true causes."""
        ...


class Plot:
    """`result.plot`. Each method returns a matplotlib figure; `figure.save("x.png")` writes it.

    `ax` names axes of an existing figure to draw into: one, or a list with one for each panel.
    A plot whose table was not recorded raises `NotRecordedError`, which says how to record it.
    """

    def __init__(self, result: Plotted) -> None:
        self._result = result

    def cwnd(self, *, flow: str | None = None, span: Span | None = None, ax: Ax = None) -> Figure:
        """Congestion window, slow start threshold and flight size against time."""
        from retx.plots.cwnd import cwnd

        samples = self._result.samples
        return cwnd(samples, self._result.tables.get("episodes"), flow=flow, span=span, ax=ax)

    def sequence(
        self, *, flow: str | None = None, span: Span | None = None, ax: Ax = None
    ) -> Figure:
        """Sequence numbers against time, with retransmissions and losses marked."""
        from retx.plots.sequence import sequence

        return sequence(self._result.segments, flow=flow, span=span, ax=ax)

    def rtt(self, *, flow: str | None = None, span: Span | None = None, ax: Ax = None) -> Figure:
        """Round-trip times (if segments were recorded), SRTT and RTO against time."""
        from retx.plots.rtt import rtt

        samples = self._result.samples
        return rtt(samples, self._result.tables.get("segments"), flow=flow, span=span, ax=ax)

    def ladder(
        self,
        t0: float | None = None,
        t1: float | None = None,
        *,
        flow: str | None = None,
        shorten: bool = False,
        ax: Ax = None,
    ) -> Figure:
        """Packets between sender and receiver in the time from `t0` to `t1` seconds.

        By default the time around the first loss. `shorten` compresses long times without packets.
        """
        from retx.plots.ladder import ladder

        result = self._result
        episodes = result.tables.get("episodes")
        return ladder(
            result.segments,
            result.acks,
            t0,
            t1,
            flow=flow,
            episodes=episodes,
            shorten=shorten,
            ax=ax,
        )

    def queue(self, *, place: str | None = None, span: Span | None = None, ax: Ax = None) -> Figure:
        """Packets waiting in queues against time; `place` as in the table, `cloud.forward`."""
        from retx.plots.queue import queue

        drops = self._result.tables.get("drops")
        return queue(self._result.link_samples, drops, place=place, span=span, ax=ax)

    def episodes(
        self, *, flow: str | None = None, span: Span | None = None, ax: Ax = None
    ) -> Figure:
        """Recovery episodes along time, coloured by their true cause."""
        from retx.plots.episodes import episodes

        return episodes(self._result.episodes, flow=flow, span=span, ax=ax)

    def goodput(
        self,
        *,
        flow: str | None = None,
        interval_s: float | None = None,
        span: Span | None = None,
        ax: Ax = None,
    ) -> Figure:
        """Goodputs of the flows against time, as means over intervals."""
        from retx.plots.goodput import goodput

        samples = self._result.samples
        return goodput(
            samples, flow=flow, interval_s=interval_s, span=span, rates=self._rates(samples), ax=ax
        )

    def _rates(self, samples: pl.DataFrame) -> dict[str, float]:
        """Rate of the slowest link of each flow; empty for a capture, whose path is not known."""
        scenario = getattr(self._result, "scenario", None)
        if scenario is None:
            return {}
        from retx.scenarios.path import rates_of_links

        return rates_of_links(scenario, samples["flow"].cast(str).unique())

    def fairness(
        self, *, interval_s: float | None = None, span: Span | None = None, ax: Ax = None
    ) -> Figure:
        """Goodputs of the flows and their Jain's index against time."""
        from retx.plots.fairness import fairness

        samples, rates = self._result.samples, self._rates(self._result.samples)
        return fairness(samples, interval_s=interval_s, span=span, rates=rates, ax=ax)

    def why(self, *, flow: str | None = None, span: Span | None = None, ax: Ax = None) -> Figure:
        """Congestion window of a flow over time, a band of its limits, and a bar of shares."""
        from retx.plots.limits import why

        result = self._result
        rows = result.summary["flows"]
        limits = {row["name"]: row.get("limited_by") for row in rows}
        words = {key: it for row in rows for key, it in row.get("phrases", {}).items()}
        episodes = result.tables.get("episodes")
        spans = result.tables.get("limits")
        return why(
            result.samples, episodes, limits, limits=spans, phrases=words, flow=flow, span=span,
            ax=ax,
        )  # fmt: skip

    def confusion(self, *, flow: str | None = None, ax: Ax = None) -> Figure:
        """Causes of losses inferred by the senders, compared with the true causes."""
        from retx.plots.confusion import confusion

        return confusion(self._result.confusion(), flow=flow, ax=ax)

    def bursts(
        self,
        *,
        flow: str | None = None,
        span: Span | None = None,
        chain: tuple[float, float, float, float] | None = None,
        ax: Ax = None,
    ) -> Figure:
        """Burst lengths of losses, compared with a Gilbert-Elliott chain (p, r, k, h)."""
        from retx.plots.bursts import bursts

        return bursts(self._result.segments, flow=flow, span=span, chain=chain, ax=ax)
