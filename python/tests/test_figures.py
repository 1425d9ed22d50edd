"""Figures of many runs and of truth, and thinning: what is drawn is looked up in the artists."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import LOSSY, Cli

import retx
from retx.analysis.bursts import burst_lengths
from retx.analysis.confusion import confusion as confusion_table
from retx.analysis.groups import TableError, distribution, means
from retx.analysis.pairs import pairs
from retx.analysis.queues import queue_length
from retx.analysis.sharing import jain_over_time, shares
from retx.analysis.thinning import distinct, envelope
from retx.cli.drawing import SAMPLED
from retx.plots.bursts import bursts
from retx.plots.cwnd import cwnd
from retx.plots.flows import PlotError
from retx.plots.goodput import goodput
from retx.plots.labels import axis
from retx.plots.metric import metric
from retx.plots.sequence import sequence
from retx.plots.surface import contour, heat_map
from retx.plots.sweeps import SweepPlot
from retx.results.latex import means_table

P, TCP = "link.cloud.forward.channel.p", "flow.download.tcp"
SWEEP = pl.DataFrame(
    {
        P: [0.0, 0.0, 0.01, 0.01, 0.1, 0.1] * 2,
        TCP: ["reno"] * 6 + ["linux"] * 6,
        "replication": [0, 1] * 6,
        "name": ["download"] * 12,
        "goodput_bit_s": [8e6, 8e6, 3e6, 4e6, 5e5, 7e5, 9e6, 9e6, 7e6, 8e6, 1e6, None],
        "response_time_s": [5.0, 5.0, 9.0, 8.0, 70.0, 60.0, 4.0, 4.0, 5.0, 4.5, 40.0, None],
    }
)


@pytest.fixture(scope="module")
def result() -> retx.Result:
    return retx.run(LOSSY)


def curves(axes: object) -> dict[str, tuple[list[float], list[float]]]:
    drawn = {bar.get_label(): bar.lines[0] for bar in axes.containers if hasattr(bar, "lines")}
    return {name: (list(line.get_xdata()), list(line.get_ydata())) for name, line in drawn.items()}


def test_means_have_students_intervals() -> None:
    found = means(SWEEP, [TCP, P], "goodput_bit_s").rows(named=True)
    lossy = next(row for row in found if row[TCP] == "reno" and row[P] == 0.01)
    # Two draws: t of one degree of freedom at 97.5 % is 12.706.
    assert (lossy["n"], lossy["mean"]) == (2, 3.5e6)
    assert lossy["high"] - lossy["mean"] == pytest.approx(12.7062 * 0.5e6, rel=1e-5)
    same = next(row for row in found if row[TCP] == "reno" and row[P] == 0)
    assert (same["low"], same["high"]) == (8e6, 8e6)
    single = next(row for row in found if row[TCP] == "linux" and row[P] == 0.1)
    assert (single["n"], single["mean"], single["low"]) == (1, 1e6, None)
    with pytest.raises(TableError, match=f"{TCP} varies, too: make it a key"):
        means(SWEEP, [P], "goodput_bit_s")
    two = pl.concat([SWEEP, SWEEP.with_columns(name=pl.lit("upload"))])
    with pytest.raises(TableError, match=r"name the flow \(--metric flow\.download\.good"):
        means(two, [TCP, P], "goodput_bit_s")
    with pytest.raises(TableError, match="no column 'goodput'"):
        means(SWEEP, [P], "goodput")
    with pytest.raises(TableError, match="holds no numbers"):
        means(SWEEP, [P], TCP)


def test_a_family_of_curves_with_a_closed_form() -> None:
    form = pl.DataFrame({"x": [0.0, 0.01, 0.1], "y": [float("inf"), 9e6, 1e6]})
    figure = metric(SWEEP, P, "goodput_bit_s", by=TCP, models={"pftk": form})
    (axes,) = figure.axes
    assert curves(axes) == {
        "linux": ([0.0, 0.01, 0.1], [9.0, 7.5, 1.0]),
        "reno": ([0.0, 0.01, 0.1], [8.0, 3.5, 0.6]),
    }
    (drawn,) = [line for line in axes.get_lines() if line.get_label() == "pftk"]
    np.testing.assert_array_equal(drawn.get_ydata(), [np.nan, 9.0, 1.0])
    assert axes.get_xscale() == "symlog"
    assert (axes.get_ylabel(), axes.get_xlabel()) == (
        "goodput (Mbit/s)",
        "cloud forward: channel p",
    )
    assert set(figure.data) == {"means", "model-pftk"}
    with pytest.raises(PlotError, match="too many curves"):
        many = pl.DataFrame({"x": [1.0] * 20, "y": [1.0] * 20, "of": list(range(20))})
        metric(many, "x", "y", by="of")


def test_names_stand_side_by_side_without_lines() -> None:
    (axes,) = metric(SWEEP.filter(pl.col(P) == 0), TCP, "response_time_s").axes
    assert curves(axes) == {"simulated": ([1.0, 0.0], [4.0, 5.0])}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["reno", "linux"]
    assert all(bar.lines[0].get_linestyle() == "None" for bar in axes.containers)


DELAY = "link.cloud.delay"
DELAYS = pl.DataFrame(
    {
        DELAY: ["100 ms", "100 ms", "0.02 s", "0.02 s", "300 ms", "300 ms"] * 2,
        P: [0.01] * 6 + [0.1] * 6,
        "replication": [0, 1] * 6,
        "goodput_bit_s": [2e6, 2e6, 4e6, 4e6, 1e6, 1e6, 1e6, 1e6, 2e6, 2e6, 1e5, 1e5],
    }
)


def test_quantities_with_units_stand_where_their_numbers_are() -> None:
    figure = SweepPlot(DELAYS, [DELAY, P]).metric(DELAY, "goodput_bit_s", by=P)
    (axes,) = figure.axes
    assert curves(axes)["p = 0.01"] == ([20.0, 100.0, 300.0], [4.0, 2.0, 1.0])
    assert (axes.get_xlabel(), axes.get_xscale()) == ("cloud: propagation delay (ms)", "log")
    figure = SweepPlot(DELAYS, [DELAY, P]).contour(P, DELAY, "goodput_bit_s")
    assert figure.axes[0].get_ylabel() == "cloud: propagation delay (ms)"
    assert figure.axes[0].get_ylim() == (20.0, 300.0)
    mixed = DELAYS.with_columns(pl.col(DELAY).replace("100 ms", "far"))
    figure = SweepPlot(mixed, [DELAY, P]).metric(DELAY, "goodput_bit_s", by=P)
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == [
        "far",
        "0.02 s",
        "300 ms",
    ]


def test_names_have_the_same_colours_in_figures_of_means_and_of_runs() -> None:
    in_order = SWEEP.with_columns(pl.col(TCP).cast(pl.Enum(["reno", "linux"])))
    plot = SweepPlot(in_order, [P, TCP])
    means_of = plot.metric(P, "response_time_s", by=TCP).axes[0]
    drawn = {bar.get_label(): bar.lines[0].get_color() for bar in means_of.containers}
    runs = plot.cdf("response_time_s", by=TCP).axes[0].get_lines()
    assert {line.get_label(): line.get_color() for line in runs} == drawn


def test_closed_forms_are_those_of_the_scenario() -> None:
    own = SWEEP.filter(pl.col(TCP) == "reno")
    figure = SweepPlot(own, [P], LOSSY).metric(P, "goodput_bit_s", models=["pftk"])
    form = figure.data["model-pftk"]
    assert form.height > 20  # a curve between the points
    at = form.filter(pl.col("x") == 0.01)["y"][0]
    expected = retx.models.calculate(LOSSY, ["pftk"], overrides={P: 0.01})
    assert at == expected["goodput_bit_s"][0]
    with pytest.raises(PlotError, match="not rtt_mean_s"):
        SweepPlot(own.with_columns(rtt_mean_s=1.0), [P], LOSSY).metric(
            P, "rtt_mean_s", models=["pftk"]
        )
    with pytest.raises(PlotError, match="no flow 'upload'"):
        SweepPlot(own).metric(P, "goodput_bit_s", flow="upload")


def test_surfaces() -> None:
    figure = heat_map(SWEEP, P, TCP, "goodput_bit_s")
    cells = figure.axes[0].collections[0].get_array()
    np.testing.assert_allclose(cells, [[8.0, 3.5, 0.6], [9.0, 7.5, 1.0]])
    assert sorted(text.get_text() for text in figure.axes[0].texts)[:2] == ["0.6", "1"]
    with pytest.raises(PlotError, match="draw a heat map"):
        contour(SWEEP, P, TCP, "goodput_bit_s")
    grid = pl.DataFrame({"x": [1.0, 2.0] * 2, "y": [1, 1, 2, 2], "z": [1.0, 2.0, 3.0, 4.0]})
    assert contour(grid, "x", "y", "z").data["means"].height == 4
    with pytest.raises(PlotError, match="two values"):
        contour(grid.filter(pl.col("y") == 1), "x", "y", "z")


def test_pairs_are_of_the_same_draw() -> None:
    found = pairs(SWEEP, TCP, ("reno", "linux"), "response_time_s", [P])
    # The second replication at 0.1 has no value under linux.
    assert found["difference"].to_list() == [1.0, 4.0, 30.0, 1.0, 3.5]
    assert found["replication"].to_list() == [0, 0, 0, 1, 1]
    with pytest.raises(TableError, match="never 'vegas'; there is"):
        pairs(SWEEP, TCP, ("reno", "vegas"), "response_time_s", [P])
    with pytest.raises(TableError, match="several rows"):
        pairs(SWEEP, TCP, ("reno", "linux"), "response_time_s")
    figure = SweepPlot(SWEEP).paired(TCP, ("reno", "linux"), "response_time_s", x=P)
    dots = figure.axes[0].get_lines()[1]
    assert list(dots.get_ydata()) == found["difference"].to_list()


def test_distributions_count_flows_that_had_not_ended() -> None:
    found = distribution(SWEEP, "response_time_s", [TCP])
    reno = found.filter(pl.col(TCP) == "reno")
    assert reno["response_time_s"].to_list() == [5, 5, 8, 9, 60, 70]
    assert reno["share"].to_list() == pytest.approx([1 / 6, 2 / 6, 0.5, 4 / 6, 5 / 6, 1])
    # One of six has no end; a missing goodput is no value at all.
    assert found.filter(pl.col(TCP) == "linux")["share"].max() == pytest.approx(5 / 6)
    assert distribution(SWEEP, "goodput_bit_s", [TCP])["share"].max() == 1
    figure = SweepPlot(SWEEP).cdf("response_time_s", by=TCP)
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["linux", "reno"]
    linux = figure.axes[0].get_lines()[0]
    assert (linux.get_xdata()[-1], linux.get_ydata()[-1]) == (70, pytest.approx(5 / 6))
    # A group without any end stays at zero; a flow that never ends is not counted.
    none = SWEEP.with_columns(
        response_time_s=pl.when(pl.col(TCP) == "reno").then("response_time_s")
    )
    drawn = SweepPlot(none).cdf("response_time_s", by=TCP).axes[0].get_lines()
    assert set(drawn[0].get_ydata()) == {0}
    endless = SWEEP.with_columns(name=pl.lit("bulk"), response_time_s=pl.lit(None, pl.Float64))
    both = distribution(pl.concat([SWEEP, endless]), "response_time_s")
    assert both["share"].max() == pytest.approx(11 / 12)


def test_a_table_of_latex_says_how_many_runs_have_no_value() -> None:
    row = {"n": 6, "missing": 4, "mean": 15.4, "low": 13.9, "high": 16.9}
    text = means_table(pl.DataFrame([row]), [], {}, ("mean", "time", 1), "note")
    assert "& 6 of 10 " in text
    assert "& 6 " in means_table(pl.DataFrame([row | {"missing": 0}]), [], {}, ("mean", "t", 1), "")


def test_shares_and_fairness_over_time() -> None:
    samples = pl.DataFrame(
        {
            "flow": ["a", "b", "a", "b", "a", "b"],
            "time_s": [0.0, 0.0, 1.0, 1.0, 2.0, 2.0],
            "ack_bytes": [0, 0, 1000, 1000, 4000, 1000],
        }
    )
    assert shares(samples, 1.0).sort("flow", "time_s")["goodput_bit_s"].to_list() == [
        8000.0,
        24000.0,
        8000.0,
        0.0,
    ]
    assert jain_over_time(samples, 1.0).rows() == [(1.0, 2, 1.0), (2.0, 2, 0.5)]
    with pytest.raises(TableError, match="the run has 2 s only"):
        shares(samples, 9.0)


def test_goodputs_over_time() -> None:
    samples = pl.DataFrame(
        {
            "flow": ["a", "b", "a", "b", "a", "b"],
            "time_s": [0.0, 0.0, 1.0, 1.0, 2.0, 2.0],
            "ack_bytes": [0, 0, 1000, 1000, 4000, 1000],
        }
    )
    figure = goodput(samples, interval_s=1.0)
    (axes,) = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    assert drawn == {"a": [8.0, 8.0, 24.0], "b": [8.0, 8.0, 0.0]}
    assert axes.get_ylabel() == "goodput (kbit/s)"
    alone = goodput(samples, flow="a", interval_s=1.0, span=(1.5, 2.0))
    assert [line.get_label() for line in alone.axes[0].get_lines()] == ["a"]
    assert alone.data["goodput"].rows() == [(2.0, "a", 24000.0)]
    with pytest.raises(PlotError, match="no flow 'c'"):
        goodput(samples, flow="c")


def test_runs_of_losses_leave_out_what_queues_dropped() -> None:
    fates = ["delivered", "channel", "queue", "channel", "delivered", "retry_limit", "delivered"]
    segments = pl.DataFrame({"flow": ["a"] * 7, "sent_s": range(7), "fate": fates})
    assert burst_lengths(segments).rows() == [(1, 1, 0.5), (2, 1, 0.5)]
    figure = bursts(segments, chain=(0.01, 0.5, 1, 0))
    assert figure.data["bursts"]["model"].to_list() == [0.5, 0.25]
    with pytest.raises(TableError, match="no runs of losses"):
        burst_lengths(segments.filter(pl.col("fate") == "delivered"))


def test_bursts_have_whole_lengths_and_shares_up_to_one() -> None:
    for fates in (["channel", "delivered"] * 3, ["delivered", *["channel"] * 45, "delivered"]):
        columns = {"flow": ["a"] * len(fates), "sent_s": range(len(fates)), "fate": fates}
        segments = pl.DataFrame(columns)
        (axes,) = bursts(segments).axes
        longest = max(map(len, "".join(it[0] for it in fates).split("d")))
        assert axes.get_xlim() == (0.5, longest + 0.5)
        ticks = [float(tick) for tick in axes.get_xticks()]
        assert ticks[0] == 1
        assert len(ticks) <= 20
        assert all(tick.is_integer() for tick in ticks)
        assert axes.get_ylim()[1] == 1


def test_bursts_of_a_simulated_chain_are_the_models() -> None:
    channel = {"model": "gilbert_elliott", "p": 0.02, "r": 0.4}
    overrides = {"link.cloud.forward.channel": channel, "flow.download.app.bytes": 20_000_000}
    found = burst_lengths(retx.run(LOSSY, overrides=overrides | {"duration": "1 h"}).segments)
    runs = int(found["runs"].sum())
    assert runs > 200
    for length, share in found.select("length", "share").head(4).iter_rows():
        chance = 0.6 ** (length - 1) * 0.4
        assert abs(share - chance) < 4 * np.sqrt(chance * (1 - chance) / runs)


def test_truth_along_time(result: retx.Result) -> None:
    figure = result.plot.episodes()
    (axes,) = figure.axes
    marks = sum(len(mark.get_offsets()) for mark in axes.collections)
    assert marks == len(axes.patches) == result.episodes.height
    lengths = sorted(bar.get_x() for bar in axes.patches)
    assert lengths == sorted(result.episodes["start_s"].to_list())
    with pytest.raises(PlotError, match="no recovery episode of flow 'x'"):
        result.plot.episodes(flow="x")


def test_confusion_counts_every_episode(result: retx.Result) -> None:
    figure = result.plot.confusion()
    counted = [text.get_text().split("\n")[0] for axes in figure.axes for text in axes.texts]
    assert sum(map(int, counted)) == result.episodes.height
    assert figure.data["confusion"].columns == confusion_table(result.flows).columns[1:]


def test_queues_over_time(result: retx.Result) -> None:
    figure = result.plot.queue()
    (axes,) = figure.axes
    (line,) = axes.get_lines()
    table = result.link_samples.filter(pl.col("place") == "cloud.forward")
    assert list(line.get_ydata())[: table.height] == table["queue_packets"].to_list()
    assert max(line.get_xdata()) == result.link_samples["time_s"].max()
    assert max(line.get_ydata()) <= result.links["queue_max_packets"].max()
    dropped = result.drops.filter(pl.col("reason") == "queue").height
    assert [len(mark.get_offsets()) for mark in axes.collections] == [dropped]
    with pytest.raises(PlotError, match="no place 'x'"):
        result.plot.queue(place="x")


def test_a_queue_is_as_long_as_it_last_became(result: retx.Result) -> None:
    """Weighted by how long they hold, the rows have the mean of the summary; in a span, too."""
    name = "cloud.forward"

    def area(span: tuple[float, float] | None) -> float:
        rows = queue_length(result.link_samples, name, span)
        times, lengths = rows["time_s"].to_numpy(), rows["queue_packets"].to_numpy()
        return float(np.dot(np.diff(times), lengths[:-1]))

    link = result.links.row(
        by_predicate=pl.col("name") + "." + pl.col("direction") == name, named=True
    )
    whole = area(None)
    assert whole / result.summary["engine"]["simulated_s"] == pytest.approx(
        link["queue_mean_packets"]
    )
    end = result.link_samples["time_s"].max()
    cuts = [share * end for share in (0.0, 0.1234, 0.2345, 1.0)]
    parts = [area((start, end)) for start, end in itertools.pairwise(cuts)]
    assert parts[1] > 0
    assert sum(parts) == pytest.approx(whole)


def test_a_million_points_are_thinned_and_their_extremes_stay() -> None:
    """One spike up and one down among 10⁶ points, each narrower than a thousandth of a pixel."""
    n = 1_000_000
    values = 50_000 + 1000 * np.sin(np.arange(n) / 5e4)
    values[123_457], values[765_432] = 99_000, 3
    table = pl.DataFrame(
        {
            "flow": ["a"] * n,
            "time_s": np.arange(n) / 1e4,
            "cwnd_bytes": values.astype(np.int64),
            "ssthresh_bytes": np.full(n, 40_000),
            "flight_size_bytes": values.astype(np.int64) // 2,
        }
    )
    figure = cwnd(table)
    (line,) = [line for line in figure.axes[0].get_lines() if line.get_label() == "cwnd"]
    times, drawn = (np.asarray(data) for data in line.get_data())
    assert len(drawn) <= 4 * 2000
    assert (drawn.max(), times[drawn.argmax()]) == (99.0, 12.3457)
    assert (drawn.min(), times[drawn.argmin()]) == (0.003, 76.5432)
    assert (times[0], times[-1]) == (0.0, (n - 1) / 1e4)
    assert np.all(np.diff(times) > 0)
    # The whole is still there.
    assert figure.data["samples"].height == n


def test_thinning_draws_the_same_pixels() -> None:
    """Each column keeps its minimum and maximum, and therefore its line."""
    draw = np.random.default_rng(3)
    times = np.sort(draw.random(100_000))
    table = pl.DataFrame({"t": times, "v": draw.standard_normal(100_000).cumsum()})
    thin = envelope(table, "t", "v", columns=500)
    assert thin.height <= 2000
    width = (times[-1] - times[0]) / 500

    def extremes(of: pl.DataFrame) -> pl.DataFrame:
        part = ((pl.col("t") - times[0]) / width).floor().clip(0, 499).alias("part")
        value = pl.col("v")
        ends = [value.first().alias("first"), value.last().alias("last")]
        both = [value.min().alias("least"), value.max().alias("greatest")]
        return of.group_by(part).agg(*ends, *both).sort("part")

    assert extremes(thin).equals(extremes(table))
    # A gap stays a gap.
    holed = table.with_columns(
        v=pl.when((pl.col("t") > 0.4) & (pl.col("t") < 0.6)).then(None).otherwise(pl.col("v"))
    )
    gap = envelope(holed, "t", "v", columns=500).filter(pl.col("v").is_null())
    assert gap["t"].min() < 0.405
    assert gap["t"].max() > 0.595


def test_only_what_covers_the_same_pixel_is_left_out() -> None:
    n = 50_000
    table = pl.DataFrame({"x": np.arange(n) % 100, "y": np.arange(n) % 7, "id": np.arange(n)})
    thin = distinct(table, ["x", "y"])
    assert thin["id"].to_list() == list(range(700))


def test_losses_and_repetitions_are_never_thinned_away() -> None:
    n = 60_000
    fate = np.where(np.arange(n) % 1000 == 7, "channel", "delivered")
    segments = pl.DataFrame(
        {
            "flow": ["a"] * n,
            "sent_s": np.arange(n) / 1e6,
            "seq": 1 + 1460 * np.arange(n),
            "length_bytes": [1460] * n,
            "retransmission": np.arange(n) % 1000 == 8,
            "fate": fate,
            "acked_s": np.arange(n) / 1e6 + 0.1,
        }
    )
    figure = sequence(segments)
    marks = {
        mark.get_label(): len(mark.get_offsets())
        for mark in figure.axes[0].collections
        if mark.get_label() in ("lost", "retransmitted")
    }
    assert marks == {"lost": 60, "retransmitted": 60}
    assert figure.data["segments"].height == n


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("goodput_bit_s", [2.5e6], (1e6, "goodput (Mbit/s)")),
        ("goodput_bit_s", [250.0, None], (1.0, "goodput (bit/s)")),
        ("rtt_mean_s", [0.04], (1e-3, "rtt mean (ms)")),
        ("cwnd_mean_bytes", [0.0], (1.0, "cwnd mean (bytes)")),
        ("link.a.forward.channel.p", [1.0], (1.0, "link.a.forward.channel.p")),
        ("utilisation", [0.5], (1.0, "utilisation")),
    ],
)
def test_labels_have_units(name: str, values: list, expected: tuple) -> None:
    assert axis(name, values) == expected


def test_a_figures_data_are_written(result: retx.Result, tmp_path) -> None:
    figure = result.plot.cwnd()
    figure.save_data(tmp_path / "x.parquet")
    assert pl.read_parquet(tmp_path / "x.parquet").equals(result.samples)
    figure.save_data(tmp_path / "x.csv", "episodes")
    assert pl.read_csv(tmp_path / "x.csv").height == result.episodes.height
    with pytest.raises(ValueError, match=r"end in \.csv or \.parquet"):
        figure.save_data(tmp_path / "x.txt")
    with pytest.raises(ValueError, match="no table 'links'"):
        figure.save_data(tmp_path / "x.csv", "links")


def test_every_kind_can_be_drawn_and_had_as_data_on_the_command_line(cli, lossy) -> None:
    kinds = ["queue", "episodes", "fairness", "confusion"]
    plots = [word for kind in kinds for word in ("--plot", f"{kind}={kind}.svg")]
    done = cli("run", lossy, *plots, "--plot", "queue=queue.csv")
    assert done.returncode == 0, done.stderr
    bad = cli("run", lossy, "--plot", "queue=queue.txt")
    assert (bad.returncode, "or .csv or .parquet for its data" in bad.stderr) == (2, True)


@pytest.mark.parametrize("kind", SAMPLED)
def test_a_figure_that_needs_samples_switches_them_on(kind: str, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "silent.toml"
    path.write_text(LOSSY.replace('sample_interval = "every_ack"\n', ""))
    done = cli("run", path, "--plot", f"{kind}={tmp_path}/drawn.csv", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "drawn.csv").read_text().splitlines()) > 10
    resolved = (tmp_path / "out" / "scenario.toml").read_text()
    assert 'sample_interval = "every_ack"\n' in resolved
