"""Fit of a flow of a capture."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from retx import _native
from retx.errors import UsageError
from retx.files.standard_input import seekable, shown, with_names_shown
from retx.fitting.captures.estimates import LOST
from retx.fitting.captures.hidden_queue import with_hidden_queue
from retx.fitting.captures.policing import Policing, departures, policing
from retx.fitting.losses import LossFit, fit_losses

LEAST_COPIES = 20
"""Minimum number of segments from which a path can be measured."""


@dataclass(frozen=True)
class CaptureFit:
    """Properties of a path, measured from a flow of a capture."""

    files: tuple[Path, ...]
    measured: Mapping[str, Any]
    """`capture` and `flow` as in `retx diagnose`, and `path`, the measurements."""

    def __repr__(self) -> str:
        names = " and ".join(str(file) for file in self.files)
        return f"<retx.CaptureFit: flow {self.flow['number']} of {names}>"

    @property
    def flow(self) -> Mapping[str, Any]:
        """Flow, as `retx diagnose --json` prints it."""
        flow: Mapping[str, Any] = self.measured["flow"]
        return flow

    @cached_property
    def path(self) -> Mapping[str, Any]:
        """Rate, delay, queue and both endpoints, each with its interval."""
        return with_hidden_queue(self.flow, self.measured["path"])

    @cached_property
    def policer(self) -> Policing | None:
        """Policer that explains the losses; None if a queue or a channel explains them."""
        return policing(self.path)

    @cached_property
    def losses(self) -> LossFit | None:
        """Models of the losses outside of queues; None if there are none."""
        copies = self.path["copies"]
        lost = np.array([np.nan if it is None else it for it in copies["lost"]], dtype=float)
        by_queue = np.array(copies["by_queue"], dtype=float)
        # Packets that a queue drops never reach the channel.
        reaches = ~(np.nan_to_num(lost) * by_queue > LOST)
        by_channel = (lost * (1.0 - by_queue))[reaches]
        # If no loss of the channel is more likely than not, the remaining probabilities belong to
        # uncertain losses of the queue, so the channel has no losses. A single loss besides those
        # of a queue is no evidence of a channel.
        least = 1 if (by_queue > LOST).any() else 0
        if np.count_nonzero(np.nan_to_num(by_channel) > LOST) <= least:
            return None
        times = np.array(copies["times_s"])[reaches]
        sizes = np.array(copies["sizes_bytes"], dtype=float)[reaches]
        link_bit_s = self.path["rate_bit_s"]["value"]
        if link_bit_s is not None:
            # A channel sees packets as the bottleneck sends them, which spreads bursts over time.
            times = departures(times, sizes, link_bit_s)
        return fit_losses(times, by_channel, sizes)

    @property
    def content(self) -> dict[str, Any]:
        """Fit, as `retx fit --json` prints it."""
        path = {key: value for key, value in self.path.items() if key != "copies"}
        return {
            "capture": self.measured["capture"],
            "flow": {
                key: self.flow[key]
                for key in ("number", "name", "place", "life_s", "bytes", "goodput_bit_s")
            },
            "path": path,
            "loss": None if self.losses is None else dict(self.losses.content),
            "policer": None if self.policer is None else asdict(self.policer),
        }

    def toml(self, *, replay: bool = False) -> str:
        """Scenario as TOML.

        Args:
            replay: Drop the segments that the channel dropped in the capture, instead of using a
                fitted model.
        """
        from retx.fitting.captures.scenario import written

        return written(self, replay=replay)

    def save(self, path: str | os.PathLike[str], *, replay: bool = False) -> None:
        """Writes the scenario."""
        from retx.files.directory import new_file

        with new_file(Path(path)) as target:
            target.write_text(self.toml(replay=replay), encoding="utf-8")


def fit_capture(
    capture: str | os.PathLike[str],
    other: str | os.PathLike[str] | None = None,
    *,
    flow: int | None = None,
) -> CaptureFit:
    """Fits a path to a flow of a capture.

    Args:
        capture: The file; `-` is the standard input.
        other: A second capture of the same flow, from its other end.
        flow: Number of the flow, from 1; by default the flow with the most bytes.

    Raises:
        OSError: The file cannot be read.
        UsageError: The file is not a capture or is named twice, the captures have no flow in
            common, or the flow is too short for a fit.
    """
    from retx.diagnosing.diagnosis import captures, diagnose

    files = tuple(map(seekable, captures(capture, other)))
    if flow is None:
        flows = diagnose(*files).flows
        if not flows:
            raise UsageError(f"{capture}: there is no TCP flow in it")
        if other is not None:
            flows = [it for it in flows if "between" in it]
        if not flows:
            raise UsageError(f"{capture} and {other}: the two captures have no flow in common")
        flow = max(flows, key=lambda it: it["bytes"])["number"]
    return CaptureFit(files, measured(files, flow))


def measured(files: tuple[Path, ...], flow: int, least: int = LEAST_COPIES) -> dict[str, Any]:
    """Measurements of the flow with this number, which must have at least `least` data segments."""
    for file in files:
        # Opening the file first gives Python's error, which names the file and refuses a directory.
        file.open("rb").close()
    try:
        found: dict[str, Any] = json.loads(_native.measure_path(files[0], flow, *files[1:]))
    except ValueError as error:
        raise UsageError(with_names_shown(str(error))) from None
    found["capture"]["files"] = list(map(shown, files))
    name = " and ".join(found["capture"]["files"])
    if found["flow"] is None:
        raise UsageError(f"{name}: there is no flow {flow} in it; retx diagnose lists the flows")
    if found["path"] is None:
        raise UsageError(f"{name}: flow {flow} is in the first of the two captures only")
    segments = len(found["path"]["copies"]["times_s"])
    if segments < least:
        raise UsageError(
            f"{name}: flow {flow} has too few data segments, {segments}, to measure "
            f"a path; at least {least} are needed"
        )
    return found
