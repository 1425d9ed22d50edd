"""Figures of a report that several processes draw."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retx.plots import drawing
from retx.plots.report import Figure, Images, new_figure


def figures(count: int) -> dict[str, Figure]:
    found = {}
    for number in range(count):
        drawn, axes = new_figure()
        axes.plot([0, number], [0, 1])
        found[f"f{number}"] = Figure(f"f{number}", drawn, "A line.", "A line.")
    return found


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The other processes."""
    processes: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **more: Any) -> None:
            super().__init__(command, **more)
            processes.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return processes


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the figures that this process draws."""
    names: list[str] = []
    draw = Figure.draw

    def noted(self: Figure) -> Images:
        names.append(self.id)
        return draw(self)

    monkeypatch.setattr(Figure, "draw", noted)
    return names


def test_another_process_draws_its_share(
    begun: list[subprocess.Popen[bytes]], own: list[str]
) -> None:
    found = drawing.drawn(figures(4), 2)
    assert [process.returncode for process in begun] == [0]
    assert own == ["f0", "f2"]
    for name, figure in figures(4).items():
        images = found[name].images
        assert images is not None
        assert images.thumbnail == figure.draw().thumbnail


def test_there_are_no_more_processes_than_figures(
    begun: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_cores", lambda: 50)
    drawing.drawn(figures(4))
    assert len(begun) == 3
    drawing.drawn(figures(3))
    drawing.drawn({})
    assert len(begun) == 3


def test_only_permitted_cores_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    assert drawing._cores() == 3


@pytest.mark.parametrize("program", [None, "", "/bin/false", "/nowhere/python"])
def test_without_another_process_each_figure_is_drawn_once(
    own: list[str], monkeypatch: pytest.MonkeyPatch, program: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    found = drawing.drawn(figures(4), 2)
    for figure in found.values():
        assert figure.source().startswith("data:image/svg+xml")
        assert figure.thumbnail().startswith("data:image/png")
    assert sorted(own) == sorted(found)


def test_a_frozen_application_does_not_start_itself(
    begun: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert all(it.images for it in drawing.drawn(figures(4), 2).values())
    assert not begun


def test_a_figure_that_cannot_be_copied_is_drawn_here(own: list[str]) -> None:
    given = figures(4)
    given["f1"].drawn.axes[0].xaxis.set_major_formatter(lambda x, _: f"{x}")
    assert all(it.images for it in drawing.drawn(given, 2).values())
    assert sorted(own) == sorted(given)


def test_modules_of_the_working_directory_are_not_imported(
    begun: list[subprocess.Popen[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "matplotlib.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    drawing.drawn(figures(4), 2)
    assert [process.returncode for process in begun] == [0]


def test_an_interrupt_ends_the_other_processes(
    begun: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Figure) -> Images:
        raise KeyboardInterrupt

    monkeypatch.setattr(Figure, "draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        drawing.drawn(figures(4), 2)
    (other,) = begun
    assert other.returncode is not None
    assert other.returncode < 0
