"""Figures that a study declares in TOML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_study_declared import mean_of, measured, series, values, write

from retx.plots.report import Figure
from retx.study import Measured, load
from retx.study.data import StudyError
from retx.study.drawn_figures import check_figures, drawn_figures
from retx.study.measures import Found

__all__ = ["measured", "values"]

FIGURES = """
[look]
reno = { color = "red", marker = "s" }

[[figure]]
over    = { n = ["1", "2"] }
id      = "all_{n}"
caption = "Figure {n}."
alt     = "All kinds."
columns = 2

[[figure.panel]]
over  = { case = ["reno", "cubic"] }
title = "{case}"
x     = { label = "loss (%)", scale = "log", ticks = [1, 10] }
y     = { from = 0 }

[[figure.panel.draw]]
x     = ["0.001", "0.01", "0.1"]
times = 100
y     = { mean = "surface/{case} @ p={x}, delay=50 ms", of = "kbit" }
label = "measured"
look  = "reno"

[[figure.panel.draw]]
level = 5
label = "five"

[[figure.panel.draw]]
path = [[1, 2], [3, 4]]

[[figure.panel]]
across = true

[[figure.panel.draw]]
over  = { p = "losses" }
x     = ["reno", "cubic"]
bars  = { mean = "surface/{x} @ p={p}, delay=50 ms", of = "kbit" }
stack = "one"

[[figure.panel.draw]]
level = { value = "mbit" }

[[figure.panel]]

[[figure.panel.draw]]
x     = "losses"
up    = "values of surface/delay"
cells = { mean = "surface/reno @ p={x}, delay={up}", of = "kbit" }
scale = "kbit/s"

[[figure.panel]]

[[figure.panel.draw]]
run  = "plain/reno"
like = "plain/reno"
from = "segments"
x    = "sent_s"
y    = "seq / 1000"
"""


@pytest.fixture(scope="module")
def figures(
    measured: Measured, values: dict[str, Found], tmp_path_factory: pytest.TempPathFactory
) -> list[Figure]:
    folder = write(tmp_path_factory.mktemp("figures") / "study", figures=FIGURES)
    return list(drawn_figures(replace(measured, study=load(str(folder)))))


def panels(figure: Figure) -> list[Any]:
    return [axes for axes in figure.drawn.axes if axes.get_label() != "<colorbar>"]


def test_figures_and_panels_repeat_over_lists(figures: list[Figure]) -> None:
    assert [it.id for it in figures] == ["all_1", "all_2"]
    assert figures[1].caption == "Figure 2."
    titles = [axes.get_title(loc="left") for axes in panels(figures[0])]
    assert titles[:2] == ["reno", "cubic"]
    legend = figures[0].drawn.legends[0]
    assert {text.get_text() for text in legend.get_texts()} == {"measured", "five"}


def test_points_are_means_with_their_intervals(figures: list[Figure], measured: Measured) -> None:
    axes = panels(figures[0])[1]
    (drawn,) = axes.containers
    line, _, _ = drawn.lines
    assert list(line.get_xdata()) == pytest.approx([0.1, 1, 10])
    means = [sum(it) / len(it) for it in (series(measured, "cubic", p) for p in (1e-3, 0.01, 0.1))]
    assert list(line.get_ydata()) == pytest.approx(means)
    assert line.get_color() == "#D55E00"
    assert axes.get_ylim()[0] == 0
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "10"]


def test_bars_are_stacked_and_lie_across(figures: list[Figure], measured: Measured) -> None:
    axes = panels(figures[0])[2]
    low, high = (it.patches for it in axes.containers if hasattr(it, "patches"))
    means = [sum(it) / len(it) for it in (series(measured, "reno", p) for p in (0.01, 0.1))]
    assert low[0].get_width() == pytest.approx(means[0])
    assert (high[0].get_x(), high[0].get_width()) == pytest.approx(means)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["reno", "cubic"]


def test_a_map_has_a_cell_for_each_pair(figures: list[Figure], values: dict[str, Found]) -> None:
    axes = panels(figures[0])[3]
    (drawn,) = axes.collections
    assert drawn.get_array().shape == (2, 2)
    assert drawn.get_array()[1][0] == pytest.approx(mean_of(values["rate_low"]))
    assert drawn.norm.vmin == 0


def test_a_run_over_time_is_drawn_from_its_table(figures: list[Figure], measured: Measured) -> None:
    (line,) = panels(figures[0])[4].lines
    place = measured.at("plain/reno")
    run = place.run(place.typical())
    assert list(line.get_ydata()) == pytest.approx((run.segments["seq"] / 1000).to_list())


def figure_of(draw: str) -> str:
    """A figure with one drawing, as text of figures.toml."""
    return f"[[figure]]\nid = 'f'\ncaption = ''\nalt = ''\n[[figure.panel]]\ndraw = [{{ {draw} }}]"


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        ("label = 'x'", "draw[0]: one of run, path, y, bars, level, cells is needed"),
        ("y = 5", "draw[0].y: expected a text or a table; found 5"),
        ("y = { value = 'curve' }", "a drawing needs numbers, not a curve"),
        ("x = 'nolist', y = { value = 'mbit' }", "no list 'nolist'"),
        ("y = { value = 'mbit' }, look = 'odd'", "no look 'odd'"),
        ("run = 'plain/nobody', x = 'a', y = 'b'", "no case 'nobody'"),
        ("x = 'values of surface/q', y = { value = 'mbit' }", "not one list of a grid"),
    ],
)
def test_a_wrong_drawing_names_its_figure(
    measured: Measured, tmp_path: Path, draw: str, said: str
) -> None:
    folder = write(tmp_path / "study", figures=figure_of(draw))
    with pytest.raises(StudyError) as error:
        list(check_figures(replace(measured, study=load(str(folder)))))
    assert str(error.value).startswith(f"{folder}/figures.toml: f")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        ("y = { value = 'mbit' }, style = { colour = 'red' }", "AttributeError"),
        ("run = 'plain/reno', x = 'time_s', y = 'cwnd'", "NotRecordedError|ColumnNotFound"),
        ("x = ['a'], up = ['b'], cells = { value = 'mbit' }, style = { cmap = 'x' }", "ValueError"),
    ],
)
def test_what_matplotlib_refuses_is_an_error_of_the_file(
    measured: Measured, tmp_path: Path, draw: str, said: str
) -> None:
    folder = write(tmp_path / "study", figures=figure_of(draw))
    with pytest.raises(StudyError, match=f"figures.toml: f: ({said}): "):
        list(drawn_figures(replace(measured, study=load(str(folder)))))
