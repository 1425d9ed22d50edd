"""Measures the scripts per second of `retx drill`: all of `drills`, repeated for two seconds."""

from __future__ import annotations

import time
from pathlib import Path

import retx

DRILLS = Path(__file__).parents[1] / "drills"
SECONDS = 2.0


def main() -> None:
    """Prints the figure."""
    played, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        for result in retx.drill(DRILLS):
            assert result.passed, result.file
            played += 1
    print(f"drill: {played / (time.perf_counter() - begin):,.0f} scripts/s")


if __name__ == "__main__":
    main()
