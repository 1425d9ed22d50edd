"""Draws the figures of a report in several processes, since drawing takes as long as the runs.

Another process is this module (`python -m retx.plots.drawing`), started in a temporary directory:
it reads figures from a file there and writes their images to another one. Figures that it cannot
draw, for example because they contain a function that cannot be copied, are drawn here.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from retx.plots.report import Figure, Images

FEW = 4
"""Number of figures that are drawn sooner than another process starts."""
GIVEN, DRAWN = Path("given"), Path("drawn")
"""Files of a process: its figures, and their images."""


def drawn(figures: Mapping[str, Figure], processes: int | None = None) -> dict[str, Figure]:
    """The figures with their images.

    Args:
        figures: Figures by name.
        processes: Maximum number of processes, this one included; None for one on each core.
    """
    # The more panels, the longer it takes: each process gets its share of all sizes.
    names = sorted(figures, key=lambda name: -len(figures[name].drawn.axes))
    count = min(processes or _cores(), len(names)) if len(names) >= FEW else 1
    with ExitStack() as stack:
        others = [
            stack.enter_context(Other({name: figures[name] for name in names[start::count]}))
            for start in range(1, count)
        ]
        found = {name: figures[name].draw() for name in names[::count]}
        for other in others:
            found |= other.images()
    return {name: replace(it, images=found.get(name) or it.draw()) for name, it in figures.items()}


def _cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Other:
    """Another process, which draws figures; it ends with the `with` block."""

    def __init__(self, figures: Mapping[str, Figure]) -> None:
        self._figures = figures
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Other:
        self._folder = TemporaryDirectory(prefix="retx-", ignore_cleanup_errors=True)
        # The program of a frozen application is not Python.
        if not sys.executable or getattr(sys, "frozen", False):
            return self
        with suppress(pickle.PicklingError, AttributeError, TypeError, OSError):
            home = Path(self._folder.name)
            (home / GIVEN).write_bytes(pickle.dumps(self._figures))
            # Python looks for modules in the directory in which it starts: nothing is there.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "retx.plots.drawing"],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def images(self) -> dict[str, Images]:
        """The images, when the process has ended; none if it cannot draw the figures."""
        if self._process is None or self._process.wait() != 0:
            return {}
        found: dict[str, Images] = pickle.loads((Path(self._folder.name) / DRAWN).read_bytes())
        return found


def _work() -> None:
    figures: dict[str, Figure] = pickle.loads(GIVEN.read_bytes())
    DRAWN.write_bytes(pickle.dumps({name: figure.draw() for name, figure in figures.items()}))


if __name__ == "__main__":
    _work()
