"""Figures and tables for papers: words of the schema, axes of one's own, widths, LaTeX."""

from __future__ import annotations

import re
import warnings
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
import pytest
from conftest import LOSSY
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

import retx
from retx.plots.chooser import NEEDS
from retx.plots.keys import labels
from retx.plots.style import RC, WIDTHS
from retx.plots.surface import contour
from retx.plots.sweeps import SweepPlot
from retx.plots.ticks import LINE_LABEL, untangled
from retx.results.latex import comparison_table, escaped, with_interval

P, DELAY, TCP = "link.cloud.forward.channel.p", "link.cloud.delay", "flow.download.tcp"


@pytest.fixture(scope="module")
def result() -> retx.Result:
    return retx.run(LOSSY)


@pytest.fixture(scope="module")
def swept() -> retx.Sweep:
    grid = {TCP: ["newreno", "cubic"], P: [0.001, 0.003162277, 0.02], DELAY: ["5 ms", "20 ms"]}
    return retx.sweep(LOSSY, grid, 2, overrides={"flow.download.app.bytes": 100_000})


@pytest.mark.parametrize(
    ("key", "label"),
    [
        (P, "probability of losing a frame"),
        (DELAY, "propagation delay"),
        ("link.cloud.queue.packets", "limit of the queue (packets)"),
        (TCP, "TCP"),
        ("tcp.mine.min_rto", "least RTO"),
        ("seed", "seed"),
        ("goodput_bit_s", "goodput (bit/s)"),
        ("link.cloud.nonsense", "nonsense"),
    ],
)
def test_axes_say_what_the_schema_says(key: str, label: str) -> None:
    assert labels([key], retx.resolve(LOSSY))[key].text() == label


def test_what_is_not_known_keeps_its_own_word() -> None:
    """A model is unknown without a scenario, and p has several meanings."""
    assert labels([P])[P].text() == "cloud forward: channel p"
    two = LOSSY + LOSSY[LOSSY.index("[[link]]") : LOSSY.index("[[flow]]")].replace(
        '"cloud"', '"more"'
    ).replace('"server", "client"', '"client", "end"')
    known = labels([P, DELAY], retx.resolve(two))
    assert known[P].text() == "cloud forward: probability of losing a frame"
    assert known[DELAY].text("ms") == "cloud: propagation delay (ms)"


def test_no_figure_of_a_sweep_shows_a_path(swept: retx.Sweep) -> None:
    only = SweepPlot(
        swept.flows.filter(pl.col(TCP).cast(pl.String) == "cubic"), swept.keys, swept.scenario_toml
    )
    for figure in (
        only.metric(P, "goodput_bit_s", by=DELAY),
        only.heat_map(P, DELAY, "goodput_bit_s"),
        only.contour(P, DELAY, "goodput_bit_s"),
        swept.plot.cdf("goodput_bit_s", by=TCP),
    ):
        words = " ".join(text.get_text() for text in figure.findobj(mpl.text.Text))
        assert "link." not in words
        assert "flow." not in words


@pytest.mark.parametrize("kind", NEEDS)
def test_every_figure_of_a_run_takes_axes(result: retx.Result, kind: str) -> None:
    panels = {"fairness": 2, "confusion": 2, "why": 2}.get(kind, 1)
    own, axes = plt.subplots(1, panels, squeeze=False)
    try:
        draw = getattr(result.plot, kind)
        drawn = draw(ax=axes[0] if panels > 1 else axes[0, 0])
        assert drawn is own
        assert own.data
        assert len(own.axes) == panels
        assert all(it.has_data() for it in own.axes)
        with pytest.raises(retx.UsageError, match="panels: give as many axes"):
            draw(ax=[*axes[0], axes[0, 0]])
    finally:
        plt.close(own)


def test_every_figure_of_a_sweep_takes_axes(swept: retx.Sweep) -> None:
    own = Figure()
    axes = own.subplots(1, 5)
    table = swept.flows.filter(pl.col(DELAY).cast(pl.String) == "5 ms")
    plot = SweepPlot(table, swept.keys)
    plot.metric(P, "goodput_bit_s", by=TCP, ax=axes[0])
    plot.heat_map(P, TCP, "goodput_bit_s", ax=axes[1])
    plot.cdf("goodput_bit_s", by=TCP, ax=axes[2])
    plot.paired(TCP, ("cubic", "newreno"), "goodput_bit_s", x=P, ax=axes[3])
    swept.plot.cdf("response_time_s", ax=axes[4])
    assert all(it.has_data() for it in axes)
    assert axes[0].get_legend() is not None
    assert set(own.data) == {"means", "distribution", "pairs"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_have_the_width_of_a_page_or_a_column(
    result: retx.Result, width: str, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib's, where there is no room left
        for kind in ("cwnd", "why", "confusion", "episodes", "queue"):
            figure = getattr(result.plot, kind)()
            figure.save(tmp_path / "f.png", width=width)
            inches = plt.imread(tmp_path / "f.png").shape[1] / RC["savefig.dpi"]
            # Margins are cut off, and little may stand out.
            assert 0.6 * WIDTHS[width] < inches < 1.05 * WIDTHS[width]
    with pytest.raises(retx.UsageError, match="choose one of page, column"):
        figure.fit("poster")


def test_labels_of_ticks_do_not_overlap() -> None:
    names = [f"a_long_name_{number}" for number in range(8)]
    figure = Figure(figsize=(3.4, 2.5))
    above, below = figure.subplots(2, 1)
    above.set_xticks(range(8), names)
    below.set_xticks([it / 1000 for it in range(40)])
    below.set_xlim(0, 0.039)
    figure.canvas.draw()
    renderer = FigureCanvasAgg(figure).get_renderer()
    assert untangled(figure, renderer)
    turned = above.get_xticklabels()
    assert [it.get_text() for it in turned if it.get_visible()] == names
    assert {it.get_rotation() for it in turned} == {30.0}
    shown = [it for it in below.get_xticklabels() if it.get_visible()]
    boxes = [it.get_window_extent(renderer) for it in shown]
    assert 2 <= len(shown) < 40
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    assert not untangled(figure, renderer)


def test_the_style_is_a_file_that_matplotlib_takes() -> None:
    with plt.style.context("retx.plots.paper"):
        assert mpl.rcParams["axes.titlelocation"] == "left"
        assert mpl.rcParams["svg.hashsalt"] == "retx"
    assert RC["axes.labelsize"] == 9


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((5.0822, 4.95, 5.2144), r"$5.08 \pm 0.13$"),
        ((1234.0, 1034.0, 1434.0), r"$1234 \pm 200$"),
        ((1.0, 0.92, 1.2), r"$1.00\,[0.92, 1.20]$"),
        ((2.5, None, None), "$2.5$"),
        ((None, None, None), "--"),
    ],
)
def test_values_have_the_digits_that_they_are_worth(
    value: tuple[float | None, float | None, float | None], text: str
) -> None:
    assert with_interval(*value) == text


def test_a_sweep_is_a_table_for_latex(swept: retx.Sweep) -> None:
    text = swept.to_latex("response_time_s")
    assert text.count(r" \\") == 1 + swept.summary().height
    assert r"TCP & probability of losing a frame & propagation delay & response time" in text
    paired = swept.to_latex("goodput_bit_s", paired=({TCP: "cubic"}, {TCP: "newreno"}))
    assert paired.startswith("% goodput_bit_s: flow.download.tcp = cubic less")
    assert "difference, goodput (" in paired
    rows = [line for line in paired.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 1 + 6
    assert all(line.count("&") == 5 for line in rows)
    assert escaped("a_b & 5 %") == r"a\_b \& 5 \%"


def test_a_comparison_is_a_table_for_latex() -> None:
    row = {
        "flow": "down_load", "quantity": "goodput_bit_s", "simulated": 5.0e6,
        "simulated_low": 4.9e6, "simulated_high": 5.1e6, "emulated": 5.1e6, "emulated_low": 4.9e6,
        "emulated_high": 5.3e6, "ratio": 0.98, "ratio_low": 0.94, "ratio_high": 1.02,
        "agreement": "cannot tell",
    }  # fmt: skip
    text = comparison_table(pl.DataFrame([row]), "note")
    assert re.search(
        r"down\\_load & goodput \(Mbit/s\) & \$5\.00 \\pm 0\.10\$ & \$5\.10 \\pm 0\.20\$", text
    )
    assert text.count("cannot tell") == 1


def test_the_command_line_has_widths_and_tables(cli, lossy: Path) -> None:
    vary = ["--vary", f"{TCP}=newreno,cubic", "--replications", "2", "--set", f"{P}=0.01"]
    words = [*vary, "--latex", "t.tex", "--plot", "metric=m.pdf", "--width", "column"]
    done = cli("sweep", lossy, *words)
    assert (done.returncode, done.stderr) == (0, "")
    where = lossy.parent / "cwd"
    assert r"\bottomrule" in (where / "t.tex").read_text()
    assert (where / "m.pdf").exists()
    wrong = cli("run", lossy, "--plot", "cwnd", "--width", "poster")
    assert (wrong.returncode, "choose one of page, column" in wrong.stderr) == (2, True)
    wrong = cli("compare", lossy, "--latex", "t.pdf")
    assert (wrong.returncode, "must end in .tex" in wrong.stderr) == (2, True)


def boxes_of(texts: list[mpl.text.Text], renderer: Any) -> list[Bbox]:
    return [it.get_window_extent(renderer) for it in texts if it.get_visible() and it.get_text()]


def test_labels_between_decades_do_not_overlap() -> None:
    figure = Figure(figsize=(1.5, 1.5))
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlim(0.01, 0.1)
    figure.canvas.draw()
    renderer = FigureCanvasAgg(figure).get_renderer()
    assert untangled(figure, renderer)
    ticks = [*axes.get_xticklabels(), *axes.get_xticklabels(minor=True)]
    boxes = sorted(boxes_of(ticks, renderer), key=lambda box: box.x0)
    assert len(boxes) >= 2
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_values_of_lines_lie_apart_and_inside() -> None:
    # All lines lie in the middle fifth.
    height = {0.0: 0.0, 4.0: 1.0, 6.0: 9.0, 10.0: 10.0}
    rows = [{"replication": 0, "x": x, "y": y, "z": z} for x in range(6) for y, z in height.items()]
    figure = contour(pl.DataFrame(rows), "x", "y", "z")
    figure.fit("column")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    axes = figure.axes[0]
    texts = [it for it in axes.texts if it.get_label() == LINE_LABEL]
    boxes, frame = boxes_of(texts, renderer), axes.get_window_extent(renderer)
    assert 2 <= len(boxes) < len(texts)
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(frame.x0 < it.x0 and it.x1 < frame.x1 for it in boxes)
    assert all(frame.y0 < it.y0 and it.y1 < frame.y1 for it in boxes)


@pytest.mark.parametrize("columns", [(0.001, 0.1), (1, 2), (1, 2, 3, 4, 5)])
def test_lines_across_two_columns_or_rows_have_values(columns: tuple[float, ...]) -> None:
    """A line there has no vertices but its ends, at the frame of the axes."""
    height = 10 / (max(columns) - min(columns))
    points = [
        {"replication": 0, "x": x, "y": y, "z": height * x + y / 8}
        for x in columns
        for y in (10, 80)
    ]
    figure = contour(pl.DataFrame(points), "x", "y", "z")
    FigureCanvasAgg(figure).draw()
    texts = [it for it in figure.axes[0].texts if it.get_label() == LINE_LABEL]
    assert len([it for it in texts if it.get_visible()]) >= 5
