"""Figures of a report."""

from __future__ import annotations

import io
from base64 import b64encode
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.figure import Figure as Drawn

from retx.plots import style

WIDTH_INCHES = 5.2
"""Width at which text of 9 points stays legible if a phone scales the figure to its screen."""

THUMBNAIL_DPI = 40
"""Resolution of a width of about 210 pixels: twice the displayed width, for high-resolution
screens."""


@dataclass(frozen=True)
class Figure:
    """Drawing with its caption."""

    id: str
    drawn: Drawn
    caption: str
    alt: str
    """Description of the drawing, for readers who cannot see it."""

    def source(self) -> str:
        """The figure as the `src` of an image."""
        return f"data:image/svg+xml;base64,{b64encode(self.svg()).decode('ascii')}"

    def thumbnail(self) -> str:
        """The figure as the `src` of a small image."""
        buffer = io.BytesIO()
        with mpl.rc_context(style.RC):
            self.drawn.savefig(buffer, format="png", dpi=THUMBNAIL_DPI, metadata={"Software": None})
        return f"data:image/png;base64,{b64encode(buffer.getvalue()).decode('ascii')}"

    def svg(self) -> bytes:
        """The figure as an SVG file. Letters are outlines, because a page contains no fonts."""
        buffer = io.BytesIO()
        with mpl.rc_context(style.RC | {"svg.fonttype": "path"}):
            self.drawn.savefig(buffer, format="svg", metadata={"Date": None})
        return buffer.getvalue()


def new_figure(height: float = 2.9) -> tuple[style.Figure, mpl.axes.Axes]:
    """A figure with one panel; draw inside `retx.plots.style.styled()`."""
    made = style.Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    return made, made.subplots()
