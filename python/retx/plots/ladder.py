"""Ladder diagram: packets between sender and receiver, time running downwards."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from retx.plots.compressed_axis import CompressedAxis
from retx.plots.flows import PlotError, of_flow, one_flow
from retx.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    Ax,
    Figure,
    one_panel,
    shared_legend,
    styled,
)

MOST_PACKETS = 300
FEW_PACKETS = 40
READABLE_PACKETS = 100
"""Maximum number of packets, unless a time span is requested."""
INCHES_PER_PACKET, LEAST_INCHES, MOST_INCHES = 0.16, 4.0, 18.0
SENDER, RECEIVER = 0.0, 1.0
ARRIVED = ("delivered", "refused", "on_its_way")


def ladder(
    segments: pl.DataFrame,
    acks: pl.DataFrame,
    t0: float | None = None,
    t1: float | None = None,
    *,
    flow: str | None = None,
    episodes: pl.DataFrame | None = None,
    shorten: bool = False,
    ax: Ax = None,
) -> Figure:
    """Every packet sent between `t0` and `t1`: data to the right, acknowledgments to the left.

    Args:
        segments: The `segments` table.
        acks: The `acks` table.
        t0: Start; by default shortly before the first loss, or the beginning if there is none.
        t1: End; by default some round trips later.
        flow: Name of the flow; required if there are several.
        episodes: The `episodes` table; timeouts are labelled next to their retransmissions.
        shorten: Compress long times without packets; the axis then shows when packets resume.
        ax: Axes to draw into, instead of a new figure.
    """
    for time in (t0, t1):
        if not isinstance(time, Real | None):
            raise PlotError(f"{time!r} is not a time in seconds: write two numbers, such as 1.5, 2")
    name = one_flow(segments, flow)
    data, back = _packets(of_flow(segments, name), of_flow(acks, name))
    start, end = _span(data, back, t0, t1)
    data = data.filter(pl.col("sent_s").is_between(start, end))
    back = back.filter(pl.col("sent_s").is_between(start, end))
    packets = data.height + back.height
    if not packets:
        raise PlotError(f"{name} sends nothing from {start:g} s to {end:g} s")
    if packets > MOST_PACKETS:
        raise PlotError(
            f"{packets} packets from {start:g} s to {end:g} s are too many for a ladder: "
            f"choose a shorter time, with at most {MOST_PACKETS}"
        )
    whole = {"segments": data, "acks": back}
    timeouts = _timeouts(episodes, name, start, end)
    axis = CompressedAxis([data, back], max(_transit(data), _transit(back))) if shorten else None
    if axis:
        data, back = axis.on_axis(data), axis.on_axis(back)
    with styled():
        inches = min(max(INCHES_PER_PACKET * packets, LEAST_INCHES), MOST_INCHES)
        figure, axes = one_panel(inches, ax)
        _draw_data(axes, data)
        _draw_acks(axes, back)
        _frame(axes, name)
        if axis:
            _draw_gaps(axes, axis, timeouts)
        else:
            _draw_timeouts(axes, timeouts)
        spacing = 0.12 * (axes.get_ylim()[0] - axes.get_ylim()[1]) / inches
        _label(axes, data, SENDER, spacing)
        _label(axes, back, RECEIVER, spacing)
        shared_legend(figure, [axes], ax)
    figure.data |= whole
    return figure


def _timeouts(
    episodes: pl.DataFrame | None, flow: str, start: float, end: float
) -> list[dict[str, Any]]:
    """Timeouts of a flow in a time span."""
    if episodes is None:
        return []
    kinds = pl.col("kind").cast(pl.String) == "rto"
    own = of_flow(episodes, flow).filter(kinds & pl.col("start_s").is_between(start, end))
    return own.to_dicts()


def _draw_gaps(
    axes: Any,  # noqa: ANN401
    axis: CompressedAxis,
    timeouts: list[dict[str, Any]],
) -> None:
    """Draws a band for each gap, with its duration and the event that ends it."""
    for gap in axis.gaps:
        axes.axhspan(gap.top, gap.bottom, facecolor="0.93", edgecolor="none", zorder=0)
        ends = [timeout for timeout in timeouts if abs(timeout["start_s"] - gap.end_s) < 1e-9]
        length = f"{gap.end_s - gap.start_s:.2f} s without packets"
        text = "; ".join([length, *map(_timeout, ends)])
        middle = (gap.top + gap.bottom) / 2
        axes.text((SENDER + RECEIVER) / 2, middle, text, ha="center", va="center", fontsize=7.5)
    axes.set_yticks(*axis.ticks())


def _draw_timeouts(axes: Any, timeouts: list[dict[str, Any]]) -> None:  # noqa: ANN401
    for timeout in timeouts:
        axes.annotate(
            _timeout(timeout),
            (SENDER, timeout["start_s"]),
            (6, 3),
            textcoords="offset points",
            fontsize=6.5,
            va="bottom",
        )


def _timeout(episode: dict[str, Any]) -> str:
    backoff = f", backoff {episode['backoff']}" if episode["backoff"] else ""
    return f"timeout of {episode['rto_s']:.2f} s{backoff}"


def _packets(segments: pl.DataFrame, acks: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    lost = ~pl.col("fate").cast(pl.String).is_in(ARRIVED)
    data = segments.with_columns(
        lost=lost,
        marked=pl.col("retransmission"),
        first=pl.col("seq"),
        last=pl.col("seq") + pl.col("length_bytes"),
    )
    # RFC 5681 §2: an ACK with another window is a window update, not a duplicate.
    same_window = (pl.col("window_bytes") == pl.col("window_bytes").shift()).fill_null(value=False)
    again = (pl.col("ack") == pl.col("ack").shift()).fill_null(value=False)
    back = acks.with_columns(
        lost=lost,
        marked=again & same_window,
        first=pl.col("ack"),
        last=pl.col("ack"),
        new_window=~same_window,
    )
    return data, back


def _span(
    data: pl.DataFrame, back: pl.DataFrame, t0: float | None, t1: float | None
) -> tuple[float, float]:
    """Requested time span, or one around the first loss that is short enough to be readable."""
    trips = (data["acked_s"] - data["sent_s"]).drop_nulls()
    trip = float(np.median(trips)) if trips.len() else 1.0
    times = np.sort(np.concatenate([data["sent_s"], back["sent_s"]]))
    losses = data.filter(pl.col("lost"))["sent_s"]
    start = t0
    if start is None:
        loss = losses[0] if losses.len() else times[0]
        before = times[max(np.searchsorted(times, loss) - READABLE_PACKETS // 4, 0)]
        start = max(loss - 1.2 * trip, before)
    end = t1
    if end is None:
        after = times[min(np.searchsorted(times, start) + READABLE_PACKETS, len(times)) - 1]
        end = min(start + 4.5 * trip, after)
    if not start <= end:
        raise PlotError(f"from {start:g} s to {end:g} s is no span: t1 must be later than t0")
    return start, end


def _draw_data(axes: Any, data: pl.DataFrame) -> None:  # noqa: ANN401
    transit = _transit(data)
    labels = {BLUE: "data", ORANGE: "retransmission"}
    for packet in data.iter_rows(named=True):
        colour = ORANGE if packet["marked"] else BLUE
        _arrow(axes, (SENDER, RECEIVER), packet, transit, colour, labels.pop(colour, None))
    _lost_label(axes, data)


def _draw_acks(axes: Any, acks: pl.DataFrame) -> None:  # noqa: ANN401
    transit = _transit(acks)
    labels = {GREEN: "acknowledgment", BLACK: "duplicate"}
    for packet in acks.iter_rows(named=True):
        colour = BLACK if packet["marked"] else GREEN
        _arrow(axes, (RECEIVER, SENDER), packet, transit, colour, labels.pop(colour, None))


def _transit(packets: pl.DataFrame) -> float:
    """Typical transit time of packets; an arbitrary value if no packet arrives."""
    times = (packets["arrived_s"] - packets["sent_s"]).drop_nulls()
    return float(np.median(times)) if times.len() else 0.02


def _arrow(
    axes: Any,  # noqa: ANN401
    way: tuple[float, float],
    packet: dict[str, Any],
    transit: float,
    colour: str,
    label: str | None,
) -> None:
    """Draws one packet.

    The arrow of a lost packet ends half-way; a packet in flight has no arrowhead.
    """
    start, end = way
    arrival = packet["arrived_s"]
    style = {"color": colour, "lw": 1.6 if packet["marked"] else 1.0, "label": label}
    if packet["lost"]:
        middle = (start + end) / 2, packet["sent_s"] + transit / 2
        axes.plot([start, middle[0]], [packet["sent_s"], middle[1]], **style)
        axes.plot(*middle, marker="x", color=RED, ms=7, mew=2, ls="none", zorder=4)
        return
    axes.plot([start, end], [packet["sent_s"], arrival or packet["sent_s"] + transit], **style)
    if arrival is not None:
        head = ">" if end > start else "<"
        axes.plot(end, arrival, marker=head, color=colour, ms=4, clip_on=False, ls="none")


def _lost_label(axes: Any, data: pl.DataFrame) -> None:  # noqa: ANN401
    if data["lost"].any():
        axes.plot([], [], marker="x", color=RED, ms=7, mew=2, ls="none", label="lost")


def _frame(axes: Any, flow: str) -> None:  # noqa: ANN401
    axes.set_xlim(SENDER - 0.32, RECEIVER + 0.32)
    axes.margins(y=0.02)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()
    axes.axvline(SENDER, color=BLACK, lw=1.2)
    axes.axvline(RECEIVER, color=BLACK, lw=1.2)
    axes.set_xticks([SENDER, RECEIVER], ["sender", "receiver"])
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", length=0, labelsize=9)
    axes.spines["bottom"].set_visible(False)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("time (s)")
    axes.set_title(flow)


def _label(axes: Any, packets: pl.DataFrame, place: float, spacing: float) -> None:  # noqa: ANN401
    """Writes the contents of each packet next to its start, without overlaps.

    If there are few packets, each has its text, moved down where necessary; if there are many,
    packets without enough space share a text.
    """
    side, align = (-0.02, "right") if place == SENDER else (0.02, "left")
    few = packets.height <= FEW_PACKETS
    free = float("-inf")
    labels: list[dict[str, Any]] = []
    for packet in packets.sort("sent_s").iter_rows(named=True):
        if not few and packet["sent_s"] < free and packet["marked"] == labels[-1]["marked"]:
            labels[-1] |= {"last": packet["last"], "count": labels[-1]["count"] + 1}
            continue
        at = max(packet["sent_s"], free)
        free = at + spacing
        labels.append(packet | {"at": at, "count": 1})
    for label in labels:
        axes.text(
            place + side,
            label["at"],
            _text(label, data=place == SENDER),
            ha=align,
            va="center",
            fontsize=6.5,
            fontweight="bold" if label["marked"] else "normal",
        )


def _text(label: dict[str, Any], *, data: bool) -> str:
    """`1:1461`, or `ack 1461`; for several packets the whole range and their number."""
    several = f" ({label['count']})" if label["count"] > 1 else ""
    if data:
        return f"{label['first']}:{label['last']}{several}"
    end = f"–{label['last']}" if label["last"] != label["first"] else ""
    window = f", win {label['window_bytes']}" if label["new_window"] else ""
    return f"ack {label['first']}{end}{several}{window}"
