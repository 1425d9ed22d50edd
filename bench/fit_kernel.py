#!/usr/bin/env python3
"""Measures whether simulations of fitted scenarios reach the goodput of the kernel's TCP.

    .venv/bin/python bench/fit_kernel.py [--folder DIR] [--only NAME …] [--repeats 5]

Ten fixed conditions are emulated with the TCP of the Linux kernel (as root). The first emulation of
each condition is captured at the sender's end and fitted, and `retx fit --check` simulates the fit
30 times. The same condition is then emulated `--repeats` more times with other random draws. The
table shows whether the mean simulated goodput lies in the 95 % prediction interval of these further
emulations. Emulations that hardly differ have an interval that is narrower than the accuracy of a
fit, so the table also counts means within 1 % of the mean of the emulations.

With `--folder`, captures are kept there, and those already there are not made again.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retx.fitting.captures.capture import CaptureFit, fit_capture
from retx.fitting.captures.check import Check, check
from retx.running.emulation import emulate

CLOSE = 0.01
"""Relative difference of the means that counts as close."""
FRAME_BYTES = 1538
AT = "first@server"


@dataclass(frozen=True)
class Condition:
    """A path, and the transfer over it."""

    name: str
    preset: str
    rate_mbit_s: float
    round_trip_ms: float
    products: float
    """Limit of the queue, as a multiple of the bandwidth-delay product."""
    size_mb: float
    channel: Mapping[str, Any] | None = None
    back_mbit_s: float | None = None
    """Rate of the reverse direction, if it is lower."""
    tcp: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario."""
        product = self.rate_mbit_s * self.round_trip_ms * 1e3 / 8 / FRAME_BYTES
        queue = {"discipline": "droptail", "packets": max(3, round(self.products * product))}
        forward: dict[str, Any] = {"rate": f"{self.rate_mbit_s} Mbit/s", "queue": queue}
        if self.channel:
            forward["channel"] = self.channel
        back = {"rate": f"{self.back_mbit_s or self.rate_mbit_s} Mbit/s"}
        last = {"name": "last", "ends": ["router", "client"], "forward": forward, "reverse": back}
        first = {"name": "first", "ends": ["server", "router"], "rate": "1 Gbit/s"}
        app = {"kind": "transfer", "bytes": round(self.size_mb * 1e6)}
        flow = {"name": "download", "from": "server", "to": "client", "tcp": "own", "app": app}
        return {
            "duration": "60 s",
            "tcp": {"own": {"like": self.preset, **self.tcp}},
            "link": [
                {**first, "delay": "0.1 ms"},
                {**last, "delay": f"{self.round_trip_ms / 2 - 0.1:.3f} ms"},
            ],
            "flow": [flow],
        }


def losses(p: float) -> Mapping[str, Any]:
    """Independent losses."""
    return {"model": "bernoulli", "p": p}


BURSTS = {"model": "gilbert_elliott", "loss": 0.002, "mean_burst": 4}
JITTER = {"model": "jitter", "law": "uniform", "min": "0 ms", "max": "10 ms"}
WINDOW = {"receive_buffer": 131_072, "receive_autotuning": "none"}
CONDITIONS = (
    Condition("clean", "linux", 20, 40, 1.0, 28),
    Condition("random losses", "linux", 10, 100, 1.0, 4, losses(0.005)),
    Condition("BBR, losses", "linux_bbr", 20, 60, 2.0, 28, losses(0.01)),
    Condition("Reno, deep queue", "linux_reno", 5, 30, 3.0, 7),
    Condition("BBR, shallow queue", "linux_bbr", 50, 20, 0.3, 60),
    Condition("bursts, long path", "linux", 30, 300, 1.0, 7, BURSTS),
    Condition("Reno, many losses", "linux_reno", 10, 10, 3.0, 11, losses(0.02)),
    Condition("slow way back", "linux", 20, 50, 1.0, 14, None, 0.3),
    Condition("small window", "linux", 20, 80, 1.0, 9, losses(0.001), None, WINDOW),
    Condition("jitter", "linux", 2, 150, 1.0, 2.8, JITTER),
)


def emulated(condition: Condition, number: int, file: Path) -> None:
    """Captures an emulation; `number` selects the random draws."""
    part = file.with_suffix(".part")
    seed = 1 + CONDITIONS.index(condition) + 100 * number
    emulate(condition.scenario, seed=seed, pcap=part, pcap_at=AT, force=True, progress=False)
    part.rename(file)


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95 % prediction interval, on a logarithmic scale."""
    from scipy.stats import t

    logs = [math.log(it) for it in values]
    count, mean = len(logs), sum(logs) / len(logs)
    spread = math.sqrt(sum((it - mean) ** 2 for it in logs) / (count - 1))
    half = float(t.ppf(0.975, count - 1)) * spread * math.sqrt(1 + 1 / count)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def goodput(fit: CaptureFit) -> float:
    """Goodput of the capture, bit/s."""
    return float(fit.path["figures"]["goodput_bit_s"])


def outside(compared: Check) -> str:
    """Figures of the check that lie outside, or that the check holds."""
    names = [figure.name for figure in compared.figures if not figure.is_inside]
    return f"outside: {', '.join(names)}" if names else "all inside"


def judged(condition: Condition, folder: Path, repeats: int) -> tuple[bool, bool]:
    """Prints the row of a condition. True if the mean is inside, and if it is inside or close."""
    files = [folder / f"{condition.name}-{number}.pcapng" for number in range(repeats + 1)]
    for number, file in enumerate(files):
        if not file.exists():
            emulated(condition, number, file)
    fit = fit_capture(files[0])
    compared = check(fit)
    further = [goodput(fit_capture(file)) for file in files[1:]]
    mean, low, high = interval(further)
    simulated = next(it for it in compared.figures if it.name == "goodput").simulated
    value = math.exp(sum(map(math.log, simulated)) / len(simulated))
    is_inside = low <= value <= high
    is_close = is_inside or abs(value / mean - 1) <= CLOSE
    word = "inside" if is_inside else "close" if is_close else "OUTSIDE"
    print(
        f"{condition.name:20} {goodput(fit) / 1e6:9.3f} {value / 1e6:10.3f} {mean / 1e6:9.3f} "
        f"{low / 1e6:8.3f} to {high / 1e6:6.3f}  {word:8} {outside(compared)}",
        flush=True,
    )
    return is_inside, is_close


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--folder", type=Path, help="folder for the captures")
    parser.add_argument("--only", nargs="*", help="names of conditions")
    parser.add_argument("--repeats", type=int, default=5, help="further emulations (default: 5)")
    asked = parser.parse_args()
    chosen = [it for it in CONDITIONS if not asked.only or it.name in asked.only]
    print(
        f"{'goodput, Mbit/s':20} {'captured':>9} {'simulated':>10} {'emulated':>9} "
        f"{'95 % interval':>18}  {'':8} check"
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        found = [judged(condition, folder, asked.repeats) for condition in chosen]
    inside, close = (sum(it) for it in zip(*found, strict=True))
    print(f"{inside} of {len(found)} inside; {close} inside or within {CLOSE:.0%} of the mean")


if __name__ == "__main__":
    main()
