"""Figures show the data: what is drawn is looked up in the figure's own artists."""

from __future__ import annotations

from io import BytesIO

import polars as pl
import pytest
from conftest import LOSSY
from matplotlib.collections import LineCollection
from matplotlib.text import Text

import retx
from retx.errors import UsageError
from retx.plots.compressed_axis import SHOWN_SHARE
from retx.plots.cwnd import cwnd
from retx.plots.flows import PlotError
from retx.plots.ladder import ladder
from retx.plots.rtt import rtt
from retx.plots.sequence import sequence
from retx.plots.style import Figure

SAMPLES = pl.DataFrame(
    {
        "flow": ["a"] * 4 + ["b"],
        "time_s": [0.0, 0.1, 0.2, 0.3, 0.0],
        "cwnd_bytes": [2920, 5840, 11680, 1460, 1460],
        "ssthresh_bytes": [2**30, 2**30, 5840, 5840, 2**30],
        "flight_size_bytes": [1460, 5840, 8760, 1460, 0],
        "srtt_s": [None, 0.04, 0.05, 0.06, None],
        "rto_s": [1.0, 1.0, 2.0, 4.0, 1.0],
    }
)
EPISODES = pl.DataFrame(
    {
        "flow": ["a", "a", "b"],
        "kind": ["fast_retransmit", "rto", "rto"],
        "cause": ["wireless", "spurious", "congestion"],
        "start_s": [0.15, 0.25, 9.0],
    }
)
SEGMENTS = pl.DataFrame(
    {
        "flow": ["a"] * 4,
        "sent_s": [0.0, 0.001, 0.050, 0.100],
        "seq": [1, 1461, 2921, 1461],
        "length_bytes": [1460] * 4,
        "retransmission": [False, False, False, True],
        "fate": ["delivered", "channel", "delivered", "delivered"],
        "arrived_s": [0.02, None, 0.07, 0.12],
        "acked_s": [0.04, 0.14, 0.14, 0.14],
    }
)
ACKS = pl.DataFrame(
    {
        "flow": ["a"] * 3,
        "sent_s": [0.02, 0.07, 0.12],
        "ack": [1461, 1461, 4381],
        "window_bytes": [8760, 8760, 5840],
        "fate": ["delivered", "delivered", "delivered"],
        "arrived_s": [0.04, 0.09, 0.14],
    }
)


def lines(axes: object) -> dict[str, tuple[list[float], list[float]]]:
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.get_lines()
    }


def test_cwnd_shows_the_window_and_the_episodes() -> None:
    figure = cwnd(SAMPLES, EPISODES, flow="a")
    (axes,) = figure.axes
    drawn = lines(axes)
    assert drawn["cwnd"] == ([0.0, 0.1, 0.2, 0.3], [2.92, 5.84, 11.68, 1.46])
    assert drawn["flight size"][1] == [1.46, 5.84, 8.76, 1.46]
    # A threshold that was never set is not drawn, and does not squeeze the rest.
    assert drawn["ssthresh"][1][2:] == [5.84, 5.84]
    assert axes.get_ylim()[1] < 20
    marks = {mark.get_label(): mark.get_offsets()[:, 0].tolist() for mark in axes.collections}
    assert marks == {"fast retransmit (wireless)": [0.15], "timeout (spurious)": [0.25]}
    assert axes.get_xlabel() == "time (s)"
    assert "kB" in axes.get_ylabel()


def test_a_timeout_takes_the_window_down_before_any_sample_tells_of_it() -> None:
    left = EPISODES.with_columns(cwnd_after_bytes=pl.Series([5840, 1460, 1460]))
    (axes,) = cwnd(SAMPLES, left, flow="a").axes
    assert lines(axes)["cwnd"] == ([0.0, 0.1, 0.2, 0.25, 0.3], [2.92, 5.84, 11.68, 1.46, 1.46])
    heights = {mark.get_label(): mark.get_offsets()[0, 1] for mark in axes.collections}
    assert heights["timeout (spurious)"] > heights["fast retransmit (wireless)"]


def test_one_panel_per_flow() -> None:
    assert [axes.get_title("left") for axes in cwnd(SAMPLES).axes] == ["a", "b"]
    many = SAMPLES.with_columns(flow=pl.Series(list("abcde"))).vstack(
        SAMPLES.with_columns(flow=pl.Series(list("fghij")))
    )
    with pytest.raises(PlotError, match="10 flows are too many"):
        cwnd(many)
    with pytest.raises(PlotError, match="no flow 'z'"):
        cwnd(SAMPLES, flow="z")
    with pytest.raises(PlotError, match="empty"):
        cwnd(SAMPLES.clear())


def test_sequence_marks_retransmissions_and_losses() -> None:
    (axes,) = sequence(SEGMENTS).axes
    sent, resent = (
        [tuple(segment[0].round(6)) for segment in bar.get_segments()]
        for bar in axes.collections
        if isinstance(bar, LineCollection)
    )
    assert sent == [(0.0, 0.001), (0.001, 1.461), (0.05, 2.921)]
    assert resent == [(0.1, 1.461)]
    (again,) = [mark for mark in axes.collections if mark.get_label() == "retransmitted"]
    assert again.get_offsets().round(6).tolist() == [[0.1, 1.461]]
    (lost,) = [mark for mark in axes.collections if mark.get_label() == "lost"]
    assert lost.get_offsets().round(6).tolist() == [[0.001, 2.921]]
    assert lines(axes)["acknowledged"][1][-1] == 4.381


def test_rtt_leaves_out_segments_that_were_sent_twice() -> None:
    (axes,) = rtt(SAMPLES, SEGMENTS, flow="a").axes
    assert axes.get_yscale() == "log"
    (dots,) = axes.collections
    assert dots.get_offsets()[:, 1].tolist() == pytest.approx([40.0, 90.0])
    assert lines(axes)["RTO"][1] == [1000.0, 1000.0, 2000.0, 4000.0]
    assert lines(axes)["SRTT"] == ([0.1, 0.2, 0.3], [40.0, 50.0, 60.0])


@pytest.mark.parametrize("least_s", [0.5, 0.0001])
def test_a_logarithmic_axis_has_plain_numbers(least_s: float) -> None:
    samples = SAMPLES.with_columns(srtt_s=pl.lit(least_s))
    figure = rtt(samples, flow="a")
    figure.save(BytesIO())
    (axes,) = figure.axes
    written = [text.get_text() for text in axes.get_yticklabels(which="both")]
    assert {"1000"} <= set(written)
    assert all(text.replace(".", "").isdigit() for text in written if text)


def test_minor_ticks_of_matplotlib_stay_formulas() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.loglog([1, 5], [1, 5])
    axes.yaxis.set_major_formatter("{x:g}")
    figure.save(BytesIO())
    labels = axes.get_yticklabels(minor=True)
    assert any(label.get_text() for label in labels)
    assert all(label.get_parse_math() for label in labels)


def test_ladder_shows_every_packet() -> None:
    (axes,) = ladder(SEGMENTS, ACKS, 0.0, 0.2).axes
    texts = [text.get_text() for text in axes.texts]
    assert texts[:4] == ["1:1461", "1461:2921", "2921:4381", "1461:2921"]
    assert texts[4:] == ["ack 1461, win 8760", "ack 1461", "ack 4381, win 5840"]
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()]
    ways = [(x, y) for x, y in drawn if len(x) == 2]
    assert ([0.0, 1.0], [0.0, 0.02]) in ways
    assert ([1.0, 0.0], [0.12, 0.14]) in ways
    # The lost one ends half-way.
    assert any(x == [0.0, 0.5] and y[0] == 0.001 for x, y in ways)
    assert axes.yaxis_inverted()


def test_ladder_finds_the_first_loss() -> None:
    (axes,) = ladder(SEGMENTS, ACKS).axes
    assert "1461:2921" in [text.get_text() for text in axes.texts]
    with pytest.raises(PlotError, match="later"):
        ladder(SEGMENTS, ACKS, 1.0, 0.5)
    with pytest.raises(PlotError, match="nothing"):
        ladder(SEGMENTS, ACKS, 5.0, 6.0)


def test_ladder_shortens_silences_and_tells_timeouts() -> None:
    later = 50.0
    again = SEGMENTS.tail(1).with_columns(
        pl.col("sent_s", "arrived_s") + later, acked_s=pl.lit(later + 0.14)
    )
    episodes = pl.DataFrame(
        {"flow": ["a"], "kind": ["rto"], "start_s": [50.1], "rto_s": [49.9], "backoff": [2]}
    )
    figure = ladder(SEGMENTS.vstack(again), ACKS, 0.0, 60.0, episodes=episodes, shorten=True)
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert "49.96 s without packets; timeout of 49.90 s, backoff 2" in texts
    places, labels = axes.get_yticks(), [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["0.000", "50.100"]
    # Busy for 40 ms thrice, with 10 ms between them, and for the 20 ms of the last.
    assert places == pytest.approx([0.0, 0.14 + SHOWN_SHARE * (3 * 0.04 + 0.02)])
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()]
    first, last = (
        y for x, y in drawn if len(x) == 2 and x == [0.0, 1.0] and y[0] in (0.0, places[1])
    )
    assert first == pytest.approx([0.0, 0.02])
    assert last == pytest.approx([places[1], places[1] + 0.02])
    # To scale it is what it was, with the timeout beside its segment.
    (axes,) = ladder(SEGMENTS.vstack(again), ACKS, 0.0, 60.0, episodes=episodes).axes
    assert axes.get_ylim()[0] > 50
    assert "timeout of 49.90 s, backoff 2" in [text.get_text() for text in axes.texts]


@pytest.mark.parametrize(
    ("ending", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_the_same_figure_gives_the_same_bytes(tmp_path, ending: str, magic: bytes) -> None:
    contents = set()
    for number in range(2):
        path = tmp_path / f"{number}.{ending}"
        cwnd(SAMPLES, EPISODES).save(path)
        contents.add(path.read_bytes())
    (content,) = contents
    assert content.startswith(magic)
    assert len(content) > 5_000


def test_a_notebook_shows_a_figure() -> None:
    assert cwnd(SAMPLES)._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "kind", ["cwnd", "sequence", "rtt", "queue", "episodes", "fairness", "bursts"]
)
def test_a_span_without_anything_is_refused(kind: str) -> None:
    result = retx.run(LOSSY)
    with pytest.raises(PlotError, match=r"there is no [a-z ]+ from 1000 s to 2000 s"):
        getattr(result.plot, kind)(span=(1000.0, 2000.0))


@pytest.mark.parametrize(
    "kind", ["cwnd", "sequence", "rtt", "queue", "episodes", "goodput", "fairness", "bursts", "why"]
)
@pytest.mark.parametrize("span", ["x", 5, (2.0, 1.0), (1.0,), (0.0, None), (0.0, float("nan"))])
def test_a_span_that_is_not_two_times_is_refused(kind: str, span: object) -> None:
    result = retx.run(LOSSY)
    with pytest.raises(PlotError, match=r"span is .*: write two times in seconds, the earlier"):
        getattr(result.plot, kind)(span=span)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.foo", r"x\.foo: a figure's file ends in \.png, \.svg or \.pdf"),
        ("x.csv", r"x\.csv: figure\.save_data writes the data of a figure"),
        (None, "path is None: it must be a path"),
    ],
)
def test_a_figure_is_saved_only_as_a_picture(name: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cwnd(SAMPLES).save(name)


@pytest.mark.parametrize(
    ("kind", "table", "time"),
    [
        ("cwnd", "samples", "time_s"),
        ("rtt", "samples", "time_s"),
        ("queue", "queue", "time_s"),
        ("episodes", "episodes", "start_s"),
        ("fairness", "shares", "time_s"),
    ],
)
def test_the_data_of_a_figure_lie_in_its_span(kind: str, table: str, time: str) -> None:
    result = retx.run(LOSSY)
    data = getattr(result.plot, kind)(span=(0.2, 1.2)).data[table]
    assert 0 < data.height < getattr(result.plot, kind)().data[table].height
    assert data[time].is_between(0.2, 1.2).all()


@pytest.mark.parametrize("kind", ["goodput", "fairness"])
@pytest.mark.parametrize("count", [1, 2])
def test_goodput_above_the_rate_of_the_link_is_explained(kind: str, count: int) -> None:
    """A gap that an outage leaves is filled at once; without a loss, nothing is explained."""

    def legend(drop: list[int]) -> list[str]:
        link = {"name": "cloud", "ends": ["server", "client"], "rate": "2 Mbit/s", "delay": "40 ms"}
        link["forward"] = {"channel": {"model": "script", "drop": drop}}
        flow = {"name": "up@home", "from": "server", "to": "client", "tcp": "linux", "app": "bulk"}
        flow["count"] = count
        made = {"duration": "5 s", "sample_interval": "every_ack", "link": [link], "flow": [flow]}
        figure = getattr(retx.run(made).plot, kind)(interval_s=0.1)
        return [text.get_text() for text in figure.legends[0].get_texts()]

    named = [any("behind a gap" in text for text in legend(drop)) for drop in ([], [150])]
    assert named == [False, True]


def test_bursts_of_a_span_are_those_sent_in_it() -> None:
    result = retx.run(LOSSY)
    parts = [result.plot.bursts(span=span).data["bursts"] for span in ((0.0, 0.5), (0.5, 9.0))]
    runs = [part["runs"].sum() for part in (*parts, result.plot.bursts().data["bursts"])]
    assert min(runs) > 0
    assert runs[0] + runs[1] == runs[2]


def test_a_flow_without_samples_in_the_span_has_an_empty_panel() -> None:
    figure = cwnd(SAMPLES, span=(0.1, 0.3))
    assert [len(axes.lines) for axes in figure.axes] == [3, 0]


@pytest.mark.parametrize("kind", ["cwnd", "sequence", "ladder", "queue", "episodes", "fairness"])
def test_names_are_drawn_as_text(kind: str) -> None:
    odd = r"$\frac{$"
    text = LOSSY.replace('"download"', f"'{odd}'").replace('"cloud"', f"'{odd}'")
    figure = getattr(retx.run(text).plot, kind)()
    figure.save(BytesIO())
    assert any(odd in drawn.get_text() for drawn in figure.findobj(Text))


def test_powers_of_ten_stay_formulas() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.loglog([1, 1e5], [1, 1e5])
    figure.save(BytesIO())
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    assert all(label.get_parse_math() for label in labels)
