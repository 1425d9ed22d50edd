"""Draws the figures of a report in several processes, since drawing takes as long as the runs.

Another process is this module (`python -m retx.plots.drawing`): it reads figures from its input
and writes their images to its output. Figures that it cannot draw, for example because they
contain a function that cannot be copied, are drawn here.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from retx.plots.report import Figure, Images

FEW = 4
"""Number of figures that are drawn sooner than another process starts."""


def drawn(figures: Mapping[str, Figure], processes: int) -> dict[str, Figure]:
    """The figures with their images.

    Args:
        figures: Figures by name.
        processes: Maximum number of processes, this one included.
    """
    found: dict[str, Images] = {}
    # The more panels, the longer it takes: each process gets its share of all sizes.
    names = sorted(figures, key=lambda name: -len(figures[name].drawn.axes))
    shares = [names[start::processes] for start in range(processes if len(names) >= FEW else 1)]
    own, *others = shares
    with ThreadPoolExecutor(max(1, len(others))) as pool:
        asked = [pool.submit(_elsewhere, {name: figures[name] for name in it}) for it in others]
        found |= {name: figures[name].draw() for name in own}
        for answer in asked:
            found |= answer.result()
    return {name: replace(it, images=found.get(name)) for name, it in figures.items()}


def _elsewhere(figures: Mapping[str, Figure]) -> dict[str, Images]:
    """Images drawn by another process; empty if it cannot draw them."""
    try:
        given = pickle.dumps(figures)
    except (pickle.PicklingError, AttributeError, TypeError):
        return {}
    with suppress(OSError, subprocess.SubprocessError, pickle.UnpicklingError, EOFError):
        done = subprocess.run(
            [sys.executable, "-m", "retx.plots.drawing"],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        found: dict[str, Images] = pickle.loads(done.stdout)
        return found
    return {}


def _work() -> None:
    # Ctrl-C ends the process that has asked, and thereby this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    figures: dict[str, Figure] = pickle.load(sys.stdin.buffer)
    pickle.dump({name: figure.draw() for name, figure in figures.items()}, sys.stdout.buffer)


if __name__ == "__main__":
    _work()
