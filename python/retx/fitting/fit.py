"""A fit: an input, the fitted models, and a scenario that behaves like it."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retx.errors import UsageError
from retx.files.regular import read_regular
from retx.fitting.counts import CountFit, fit_counts
from retx.fitting.delays import DelayFit, fit_delays
from retx.fitting.inputs import read
from retx.fitting.losses import LossFit, fit_losses
from retx.fitting.scenario import FITTED
from retx.fitting.series import Series


@dataclass(frozen=True)
class Fit:
    """Models of a path fitted to a measured series."""

    series: Series
    losses: LossFit | None
    """Fit of the losses; None if the input does not show which packets were lost."""
    delays: DelayFit | None
    counts: CountFit | None = None
    """Fit of losses that are known only as counts in intervals."""

    @property
    def content(self) -> dict[str, Any]:
        """Fit, as `retx fit --json` prints it."""
        series = self.series
        return {
            "input": {
                "kind": series.kind,
                "file": series.file,
                "is_round_trip": series.is_round_trip,
                "findings": list(series.findings),
                "unknown": list(series.unknown),
            },
            "loss": None if self.losses is None else dict(self.losses.content),
            "counts": None if self.counts is None else self.counts.content,
            "delay": None if self.delays is None else self.delays.content,
            "rate": _rates(series),
            "retransmissions": _resent(series),
        }

    def toml(self, *, replay: bool = False, beside: str | None = None) -> str:
        """Scenario as TOML.

        Args:
            replay: Use losses and delays as recorded, instead of fitted models.
            beside: Name of a file next to the scenario with the table of replayed values, as
                `table` writes it. Without this file the scenario contains all points.
        """
        from retx.fitting.scenario import written

        return written(self, replay=replay, beside=beside)

    def save(self, path: str | os.PathLike[str], *, replay: bool = False) -> None:
        """Writes the scenario, and next to it the table of replayed values if that is long.

        Raises:
            FileExistsError: A file that no earlier fit wrote has the name of the table.
        """
        from retx.files.directory import new_file
        from retx.fitting.replayed import POINTS_MOST, points, table

        target = Path(path)
        beside = None
        rows = points(self, replay=replay)
        if len(rows) > POINTS_MOST:
            beside = f"{target.stem}.trace.csv"
            _check_beside(target, target.with_name(beside))
            with new_file(target.with_name(beside)) as place:
                place.write_text(table(rows), encoding="utf-8")
        with new_file(target) as place:
            place.write_text(self.toml(replay=replay, beside=beside), encoding="utf-8")


def _check_beside(scenario: Path, table: Path) -> None:
    """Refuses to replace a table that does not belong to an earlier fit in the same scenario."""
    if not os.path.lexists(table):
        return
    with suppress(OSError, UnicodeDecodeError):
        text = read_regular(scenario)
        is_ours = text.startswith(FITTED) and f'"{table.name}"' in text
        if is_ours and not table.is_symlink():
            return
    raise FileExistsError(
        errno.EEXIST,
        f"is not replaced: {scenario.name} keeps its table there; name another scenario",
        str(table),
    )


def fit(
    *,
    ping: str | os.PathLike[str] | None = None,
    iperf3: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    mahimahi: str | os.PathLike[str] | None = None,
) -> Fit:
    """Fits a path to one measured series.

    Args:
        ping: Log of `ping -D` (Linux), `ping` (BSD, macOS, Windows).
        iperf3: Report of `iperf3 --json`.
        trace: CSV with the column `time_s`, and with `lost`, `delay_s` or both.
        mahimahi: Packet-delivery trace.

    Raises:
        OSError: The file cannot be read.
        UsageError: The file has another format, or the number of inputs is not one.
    """
    given = {"ping": ping, "iperf3": iperf3, "trace": trace, "mahimahi": mahimahi}
    named = {kind: path for kind, path in given.items() if path is not None}
    if len(named) != 1:
        raise UsageError(
            "name a capture, or one series: --ping, --iperf3, --trace or --mahimahi FILE"
        )
    [(kind, path)] = named.items()
    return fit_series(read(kind, path))


def fit_series(series: Series) -> Fit:
    """Fits a path to a series in memory."""
    losses, delays, counts = None, None, None
    if series.packets is not None:
        packets = series.packets
        if np.count_nonzero(~np.isnan(packets.lost)) > 1:
            losses = fit_losses(
                packets.times_s,
                packets.lost,
                packets.sizes_bytes,
                prefers_time=series.kind == "ping",
            )
        delays = fit_delays(packets.delays_s)
    elif series.rtts_s is not None:
        delays = fit_delays(series.rtts_s)
    elif series.counts is not None:
        counts = fit_counts(series.counts)
    return Fit(series, losses, delays, counts)


def _rates(series: Series) -> dict[str, Any] | None:
    if series.rates is None:
        return None
    rates = series.rates.rates_bit_s
    known = rates[~np.isnan(rates)]
    if not len(known):
        return None
    return {
        "mean_bit_s": float(known.mean()),
        "quantiles": [[q, float(np.quantile(known, q))] for q in (0.0, 0.1, 0.5, 0.9, 1.0)],
    }


def _resent(series: Series) -> dict[str, Any] | None:
    """Retransmissions of a transport, which are an upper bound of the losses."""
    if series.kind != "iperf3" or series.counts is None or series.rates is None:
        return None
    counts = series.counts
    if np.isnan(counts.lost).all():
        return None
    resent, segments = float(np.nansum(counts.lost)), float(np.nansum(counts.packets))
    return {"count": int(resent), "segments": int(segments), "share": resent / max(segments, 1)}
