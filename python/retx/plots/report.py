"""Figures of a report."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Sequence
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
class Images:
    """Files of a figure."""

    svg: bytes
    thumbnail: bytes
    """A small PNG file."""


@dataclass(frozen=True)
class Figure:
    """Drawing with its caption."""

    id: str
    drawn: Drawn
    caption: str
    alt: str
    """Description of the drawing, for readers who cannot see it."""
    shows: Sequence[str] = ()
    """Figures and tables of a paper that it shows."""
    images: Images | None = None
    """Files, if the figure has been drawn."""

    def source(self) -> str:
        """The figure as the `src` of an image."""
        return _address("image/svg+xml", (self.images or self.draw()).svg)

    def thumbnail(self) -> str:
        """The figure as the `src` of a small image."""
        return _address("image/png", (self.images or self.draw()).thumbnail)

    def draw(self) -> Images:
        """The files of the figure. Letters are outlines, because a page contains no fonts."""
        svg, small = io.BytesIO(), io.BytesIO()
        with mpl.rc_context(style.RC | {"svg.fonttype": "path"}):
            self.drawn.savefig(svg, format="svg", metadata={"Date": None})
            # The layout is found only once.
            self.drawn.set_layout_engine("none")
            self.drawn.savefig(small, format="png", dpi=THUMBNAIL_DPI, metadata={"Software": None})
        return Images(svg.getvalue(), small.getvalue())


def _address(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode('ascii')}"


def new_figure(height: float = 2.9) -> tuple[style.Figure, mpl.axes.Axes]:
    """A figure with one panel; draw inside `retx.plots.style.styled()`."""
    made = style.Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    return made, made.subplots()
