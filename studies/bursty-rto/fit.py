"""Fits the channels of table I to its numbers on frames: error rate, mean and longest burst.

    python fit.py --family waiting      # single errors, and bursts that wait for the sender
    python fit.py --family fading       # Rician fading
    python fit.py --family outages      # frames lost singly, and short outages
    python fit.py --family pauses --rows 2 4    # fading, and bad periods of 0.3 s of a fixed share
    python fit.py --rows 2 4 --runs 40

Three numbers of each row determine three parameters. Throughput, lost packets, round trips and idle
times are not used. The simplex of Nelder & Mead minimises the sum of the squared logarithms of
measured over published numbers, from each of the starts below. Measured numbers are means over runs
of the file transfer with the paper's TCP. The draws differ from those of the study, and are the
same for every trial. It takes about five minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.optimize import minimize

import retx
from retx.study.data import read_toml

HERE = Path(__file__).parent
SCENARIO = HERE / "office.toml"
CHANNEL = "wlan.office.channel"
SEED = 2003
COLUMNS = {
    "fer": "channel_error_rate",
    "efb_mean": "channel_burst_mean",
    "efb_max": "channel_burst_max",
}
"""Series of published.toml, and the column of the table `stations` that is fitted to it."""


def _fading(point: list[float]) -> Any:  # noqa: ANN401
    snr_db, doppler, k = point
    return {
        "model": "fading",
        "mean_snr_db": round(float(snr_db), 2),
        "doppler_hz": round(math.exp(doppler), 3),
        "rician_k": round(math.exp(k), 3),
    }


def _singles_and(point: list[float], model: str, mean_burst: str | float) -> Any:  # noqa: ANN401
    """Single errors, and bursts of a model; the shares of both are between 0 and a half."""
    p, loss = (round(0.5 / (1 + math.exp(-value)), 5) for value in point[:2])
    bursts = {"model": model, "loss": loss, "mean_burst": mean_burst}
    return [{"model": "bernoulli", "p": p}, bursts]


def _outages(point: list[float]) -> Any:  # noqa: ANN401
    return _singles_and(point, "gilbert_elliott_time", f"{math.exp(point[2]):.3f} ms")


def _waiting(point: list[float]) -> Any:  # noqa: ANN401
    return _singles_and(point, "gilbert_elliott", round(1 + math.exp(point[2]), 3))


PAUSES = {"model": "gilbert_elliott_time", "loss": 0.3, "mean_burst": "300 ms"}


@dataclass(frozen=True)
class Family:
    """A kind of channel with three free parameters."""

    channel: Callable[[list[float]], Any]
    starts: list[list[float]]
    step: list[float]


OF_FADING, OF_SHARES = [1.0, 0.5, 0.7], [0.7, 0.7, 0.7]
FAMILIES = {
    "fading": Family(
        _fading, [[8.0, math.log(5), math.log(30)], [20.0, math.log(40), math.log(1)]], OF_FADING
    ),
    "pauses": Family(
        lambda point: [_fading(point), PAUSES], [[9.0, math.log(15), math.log(30)]], OF_FADING
    ),
    "outages": Family(
        _outages, [[-2.0, -4.0, math.log(10)], [-3.0, -3.0, math.log(100)]], OF_SHARES
    ),
    "waiting": Family(
        _waiting, [[-2.0, -4.0, math.log(10)], [-3.0, -3.0, math.log(20)]], OF_SHARES
    ),
}


def measured(channel: Any, runs: int) -> dict[str, float]:  # noqa: ANN401
    """Means over the runs."""
    found = retx.replicate(
        SCENARIO, runs, seed=SEED, overrides={CHANNEL: channel}, tables=False, progress=False
    )
    sender = found.stations.filter(found.stations["name"] == "server")
    columns = {name: sender[column].fill_null(0).to_list() for name, column in COLUMNS.items()}
    return {name: fmean(column) for name, column in columns.items()}


def distance(found: Mapping[str, float], row: Mapping[str, float]) -> float:
    """Sum of the squared logarithms; zero counts as a thousandth."""
    return sum(math.log(max(found[name], 1e-3 * row[name]) / row[name]) ** 2 for name in row)


def fit(family: Family, row: Mapping[str, float], runs: int) -> tuple[Any, float]:
    """The best channel of all starts, and its distance."""

    def objective(point: list[float]) -> float:
        try:
            return distance(measured(family.channel(list(point)), runs), row)
        except retx.ScenarioError:
            return 100.0

    def search(start: list[float]) -> Any:  # noqa: ANN401
        simplex = np.array(start) + np.vstack([np.zeros(len(start)), np.diag(family.step)])
        options = {"initial_simplex": simplex, "maxfev": 70, "xatol": 0.01, "fatol": 1e-4}
        return minimize(objective, start, method="Nelder-Mead", options=options)

    best = min(map(search, family.starts), key=lambda result: result.fun)
    return family.channel(list(best.x)), float(best.fun)


def main() -> None:
    """Prints a channel for each row, with the measured and published numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--family", choices=sorted(FAMILIES), default="waiting")
    parser.add_argument("--rows", nargs="+", default=["1", "2", "3", "4", "5"])
    parser.add_argument("--runs", type=int, default=16)
    chosen = parser.parse_args()
    published = read_toml(HERE / "published.toml")
    for name in chosen.rows:
        row = {series: published[series]["values"][name] for series in COLUMNS}
        channel, left = fit(FAMILIES[chosen.family], row, chosen.runs)
        print(f"row {name}: {channel}, distance {left:.4f}", flush=True)
        found = measured(channel, 4 * chosen.runs)
        for series, value in row.items():
            print(f"    {series}: published {value:g}, measured {found[series]:.4g}", flush=True)


if __name__ == "__main__":
    main()
