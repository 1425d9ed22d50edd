"""Draws the README's picture from a run of the example: `.venv/bin/python docs/images/draw.py`."""

from __future__ import annotations

from pathlib import Path

import retx

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "noisy-download.toml"


def draw(directory: Path) -> None:
    """Writes the picture into a directory."""
    result = retx.run(EXAMPLE, segments=False)
    result.plot.cwnd().save(directory / "cwnd.png")


if __name__ == "__main__":
    draw(HERE)
