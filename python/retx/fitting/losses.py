"""Loss models of a series of packets, compared by `retx._native.fit_losses`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from retx import _native
from retx.errors import UsageError


@dataclass(frozen=True)
class LossFit:
    """Fitted loss models, the best first."""

    content: Mapping[str, Any]
    """Models, tests and change points, as `retx fit --json` prints them under `loss`."""
    prefers_time: bool = False
    """True if, among models that the data do not distinguish, one in continuous time is preferred.
    This is the case for probes at a low rate, which show the duration of bursts rather than their
    length in packets.
    """

    @property
    def models(self) -> Sequence[Mapping[str, Any]]:
        """All models compared."""
        models: Sequence[Mapping[str, Any]] = self.content["models"]
        return models

    @property
    def chosen(self) -> Mapping[str, Any] | None:
        """Chosen model; None if the data do not decide, or no model fits."""
        return self.model(self.content["chosen"]) if self.content["chosen"] else None

    @property
    def used(self) -> Mapping[str, Any]:
        """Model for the scenario: the chosen model, or the simplest plausible one."""
        names = [*self.content["contenders"], self.content["best"]]
        if self.prefers_time:
            names.sort(key=lambda name: not name.endswith("_time"))
        return self.chosen or self.model(names[0])

    def model(self, name: str) -> Mapping[str, Any]:
        """Model by name."""
        for model in self.models:
            if model["name"] == name:
                return model
        names = ", ".join(model["name"] for model in self.models)
        raise UsageError(f"{name}: not among the fitted models, {names}")

    def channels(self, name: str | None = None) -> list[dict[str, Any]]:
        """Channels for a model, with the keys of a scenario. They are the caller's own copies."""
        model = self.model(name) if name else self.used
        channel = deepcopy(model["channel"])
        return channel if isinstance(channel, list) else [channel]


def fit_losses(
    times_s: ArrayLike,
    lost: ArrayLike,
    sizes_bytes: ArrayLike | None = None,
    *,
    tested: Sequence[str] = (),
    laws: Sequence[str] = (),
    prefers_time: bool = False,
    drawn_series: int = 199,
) -> LossFit:
    """Fits loss models to packets.

    Args:
        times_s: Time at which each packet was sent, ascending.
        lost: 1 if the packet was lost, otherwise 0; or a probability; NaN if unknown.
        sizes_bytes: IP packet lengths; 1500 by default.
        tested: Names of models to test in addition to the best one.
        laws: Names of the models to compare; all by default.
        prefers_time: Prefer a model in continuous time among models that the data do not
            distinguish.
        drawn_series: Number of series that a test draws.

    Raises:
        UsageError: The lists differ in length, or are too short.
    """
    times = np.ascontiguousarray(times_s, dtype=np.float64)
    fates = np.ascontiguousarray(lost, dtype=np.float64)
    sizes = np.full(times.shape, 1500.0) if sizes_bytes is None else sizes_bytes
    sizes = np.ascontiguousarray(sizes, dtype=np.float64)
    try:
        text = _native.fit_losses(
            times, sizes, fates, tested=list(tested), laws=list(laws), drawn_series=drawn_series
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    return LossFit(json.loads(text), prefers_time)
