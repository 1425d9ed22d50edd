"""Draws the pictures of README and docs from runs: `.venv/bin/python docs/images/draw.py`."""

from __future__ import annotations

from pathlib import Path

import retx

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "noisy-download.toml"
BURSTY = HERE.parents[1] / "scenarios" / "bursty-rto.toml"


def draw(directory: Path) -> None:
    """Writes the pictures into a directory."""
    result = retx.run(EXAMPLE, segments=False)
    result.plot.cwnd().save(directory / "cwnd.png")
    for name, backoff, end in (("keep", "keep", 61.09), ("reset", "reset_on_ack", 6.85)):
        result = retx.run(BURSTY, overrides={"tcp.linux.backoff": backoff})
        ladder = result.plot.ladder(0.16, end, shorten=True)
        ladder.save(directory / f"bursty-rto-{name}.svg")


if __name__ == "__main__":
    draw(HERE)
