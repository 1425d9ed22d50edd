"""Prevents overlaps between labels of ticks and of lines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

GAP_POINTS = 2.0
"""Minimum distance between two labels."""
LINE_LABEL = "value of a line"
"""Mark (`Text.set_label`) of the texts on contour lines, which are hidden if they overlap."""
TURNS = (30.0, 90.0)
"""Rotations of names in degrees, tried in this order until no names overlap."""


def untangled(figure: Any, renderer: Any) -> bool:  # noqa: ANN401
    """Rotates or removes labels that overlap; returns true if anything was changed.

    Names along the x axis are rotated. Of numbers, and of all labels along the y axis, every second
    one is removed. On a logarithmic axis, labels between the decades are removed first.
    """
    changed = False
    for axes in figure.findobj(_is_axes):
        changed |= _along(axes.xaxis, renderer, horizontal=True)
        changed |= _along(axes.yaxis, renderer, horizontal=False)
        changed |= _on_lines(axes, renderer)
    return changed


def _is_axes(artist: Any) -> bool:  # noqa: ANN401
    return hasattr(artist, "xaxis") and hasattr(artist, "yaxis")


def _on_lines(axes: Any, renderer: Any) -> bool:  # noqa: ANN401
    """Hides values of lines that lie outside the axes or overlap others; true if any was hidden."""
    frame = axes.get_window_extent(renderer)
    shown: list[Any] = []
    hidden = False
    for text in _written(text for text in axes.texts if text.get_label() == LINE_LABEL):
        box = text.get_window_extent(renderer)
        inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1
        if inside and not any(box.overlaps(other) for other in shown):
            shown.append(box)
        else:
            text.set_visible(False)
            hidden = True
    return hidden


def _along(axis: Any, renderer: Any, *, horizontal: bool) -> bool:  # noqa: ANN401
    labels, between = (_written(axis.get_ticklabels(minor=minor)) for minor in (False, True))
    changed = False
    while between and _overlap([*labels, *between], renderer, horizontal=horizontal):
        for label in between[::2]:
            label.set_visible(False)
        between, changed = between[1::2], True
    if not _overlap(labels, renderer, horizontal=horizontal):
        return changed
    named = any(_is_name(it.get_text()) for it in labels)
    for degrees in TURNS if horizontal and named else ():
        axis.set_tick_params(labelrotation=degrees)
        for label in labels:
            label.set(rotation=degrees, ha="right" if degrees < 90 else "center", va="top")
            label.set_rotation_mode("anchor" if degrees < 90 else "default")
        if not _overlap(labels, renderer, horizontal=True):
            return True
    while len(labels) > 2 and _overlap(labels, renderer, horizontal=horizontal):
        for label in labels[1::2]:
            label.set_visible(False)
        labels = labels[::2]
    return True


def _written(labels: Iterable[Any]) -> list[Any]:
    return [it for it in labels if it.get_visible() and it.get_text()]


def _is_name(text: str) -> bool:
    """True for a text that is not a number, such as `cubic` or `5 ms`."""
    if text.startswith("$"):  # a power of ten
        return False
    try:
        float(text.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return True
    return False


def _overlap(labels: list[Any], renderer: Any, *, horizontal: bool) -> bool:  # noqa: ANN401
    """True if two labels are closer than `GAP_POINTS`."""
    if not labels:
        return False
    turned = horizontal and 0 < labels[0].get_rotation() < 90
    gap = GAP_POINTS * renderer.points_to_pixels(1.0)
    if turned:
        # Rotated text occupies the height of one line along the axis.
        heights = labels[0].get_fontsize() * renderer.points_to_pixels(1.0) * 1.2
        places = sorted(it.get_window_extent(renderer).x1 for it in labels)
        return any(b - a < heights for a, b in pairwise(places))
    boxes = [it.get_window_extent(renderer) for it in labels]
    ends = sorted((box.x0, box.x1) if horizontal else (box.y0, box.y1) for box in boxes)
    return any(b[0] - a[1] < gap for a, b in pairwise(ends))
