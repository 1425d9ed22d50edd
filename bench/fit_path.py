"""Tests `retx fit` with captures of known paths.

    python bench/fit_path.py path [--count 100] [--first 0]     simulated downloads of random paths
    python bench/fit_path.py path --variant codel               the same with another queue (or a
                                                                sender, see VARIANTS)
    python bench/fit_path.py kernel [--count 10] [--first 0]    emulated ones (root, Linux)
    python bench/fit_path.py captures FILE[:FLOW] …             real ones, with unknown paths

`path` compares rate, round trip and queue with the truth, from the sender's end, from the
receiver's, and from both, and prints the median and the 90th percentile of the relative errors.
Values from both ends are also judged with half of the tolerances.
`kernel` fits a capture of the kernel's TCP, simulates the fit, and says whether the mean goodput
lies in the interval of further emulations. `captures` runs `--check`.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from retx.errors import UsageError
from retx.fitting.captures.capture import CaptureFit, fit_capture
from retx.fitting.captures.check import check
from retx.running.run import run

PRESETS = ("linux", "linux", "linux_reno", "sack", "newreno", "rack")
BOUNDS = {"rate": 0.02, "round trip": 0.01, "queue": 0.1}
ENDS = {"sender": ("first@server",), "receiver": ("last@client",), "both": ()}
ROWS = {"sender": 1.0, "receiver": 1.0, "both": 1.0, "both, half the tolerances": 0.5}
"""Rows of the result: the end or ends, and the factor of the tolerances."""
VARIANTS = ("plain", "red", "pie", "codel", "bbr", "cross", "slow_back", "lost_acks")
"""Simple paths; other queues; BBR; bursts of UDP that take 30 % of the rate; acknowledgments over a
link with 1/20 of the rate; 5 % of acknowledgments lost."""
SLOW_BACK, ACK_BYTES, STAMPS_BYTES = 20, 78, 12
QUEUES = ("red", "pie", "codel")
CLOSE = 0.01
"""Relative tolerance for paths without random losses, whose emulations differ by less than the
other uncertainties."""


@dataclass(frozen=True)
class Case:
    """A download over a random path, determined by its number."""

    number: int
    rate_bit_s: float
    delay_s: float
    packets: int
    channel: Mapping[str, Any] | None
    preset: str
    size_bytes: int
    initiator: str
    variant: str = "plain"

    @classmethod
    def drawn(cls, number: int, presets: Sequence[str] = PRESETS, variant: str = "plain") -> Case:
        """The case of this number."""
        draw = Random(number * 7919 + 13)
        rate = math.exp(draw.uniform(math.log(1), math.log(50)))
        delay = math.exp(draw.uniform(math.log(3), math.log(100)))
        product = rate * 1e6 / 8 * 2 * delay / 1e3 / 1500
        packets = max(15, round(product * math.exp(draw.uniform(math.log(0.5), math.log(3)))))
        channel = draw.choice(
            [
                None,
                None,
                {"model": "bernoulli", "p": round(math.exp(draw.uniform(-9, -4)), 5)},
                {
                    "model": "gilbert_elliott",
                    "loss": round(math.exp(draw.uniform(-9, -4.5)), 5),
                    "mean_burst": 3,
                },
            ]
        )
        preset = draw.choice(presets)
        size = min(12e6, max(1e6, rate * 1e6 / 8 * draw.uniform(10, 40)))
        return cls(
            number,
            round(rate, 3) * 1e6,
            round(delay, 2) * 1e-3,
            min(packets, 600),
            channel,
            preset,
            round(size),
            draw.choice(["from", "to"]),
            variant,
        )

    def truth(self, fit: CaptureFit) -> dict[str, float]:
        """True values of the path, including 0.1 ms of the access link in each direction.

        The transmission of an acknowledgment over a slow link counts as delay if the fit does not
        know the rate of this link, because the capture then does not distinguish the two.
        """
        is_known = fit.path["ack_rate_bit_s"]["value"] is not None
        slow = SLOW_BACK if self.variant == "slow_back" and not is_known else 0
        ack_bytes = ACK_BYTES + (STAMPS_BYTES if fit.path["endpoints"]["timestamps"] else 0)
        return {
            "rate": self.rate_bit_s,
            "round trip": 2 * (self.delay_s + 1e-4) + slow * ack_bytes * 8 / self.rate_bit_s,
            "queue": self.packets,
        }

    def scenario(self) -> dict[str, Any]:
        """The scenario."""
        last: dict[str, Any] = {
            "name": "last",
            "ends": ["router", "client"],
            "rate": f"{self.rate_bit_s / 1e6:.3f} Mbit/s",
            "delay": f"{self.delay_s * 1e3:.2f} ms",
            "queue": {"discipline": "droptail", "packets": self.packets},
        }
        if self.channel:
            last["forward"] = {"channel": self.channel}
        if self.variant in QUEUES:
            last["queue"]["discipline"] = self.variant
        elif self.variant == "slow_back":
            last["reverse"] = {"rate": f"{self.rate_bit_s / SLOW_BACK:.0f} bit/s"}
        elif self.variant == "lost_acks":
            last["reverse"] = {"channel": {"model": "bernoulli", "p": 0.05}}
        preset = "linux_bbr" if self.variant == "bbr" else self.preset
        tcp: dict[str, Any] = {"like": preset}
        if not preset.startswith("linux"):
            tcp["receive_buffer"] = 8_000_000
        first = {"name": "first", "ends": ["server", "router"], "rate": "1 Gbit/s"}
        return {
            "duration": "600 s",
            "seed": self.number + 1,
            "link": [{**first, "delay": "0.1 ms"}, last],
            "tcp": {"download": tcp},
            "flow": [
                {
                    "name": "download",
                    "from": "server",
                    "to": "client",
                    "tcp": "download",
                    "app": {"kind": "transfer", "bytes": self.size_bytes},
                    "initiator": self.initiator,
                },
                *([self.cross_traffic()] if self.variant == "cross" else []),
            ],
        }

    def cross_traffic(self) -> dict[str, Any]:
        """Bursts of UDP that take 30 % of the rate on average."""
        burst = {"law": "pareto", "mean": "500 ms", "shape": 1.5}
        pause = {"law": "exponential", "mean": "500 ms"}
        return {
            "name": "cross",
            "from": "server",
            "to": "client",
            "udp": {"packet": 1472, "rate": f"{0.6 * self.rate_bit_s:.0f} bit/s"},
            "app": {"kind": "on_off", "on": burst, "off": pause},
        }


def measured(fit: CaptureFit) -> dict[str, float | None]:
    """Values of a fit, in the units of the truth."""
    path = fit.path
    return {
        "rate": path["rate_bit_s"]["value"],
        "round trip": path["round_trip_s"]["value"],
        "queue": path["queue"]["packets"],
    }


def captured(case: Case, folder: Path) -> tuple[dict[str, Path], Mapping[str, Any]]:
    """Simulates a case twice, captured at each end, and returns the files and the summary."""
    files = {end: folder / f"{end}.pcapng" for end in ("sender", "receiver")}
    for end, file in files.items():
        result = run(case.scenario(), pcap=file, pcap_at=ENDS[end], progress=False)
    return files, result.summary


def path_closure(count: int, first: int, variant: str) -> None:
    """Prints the number of paths that were measured within the bounds, from each end."""
    right = {row: dict.fromkeys([*BOUNDS, "all"], 0) for row in ROWS}
    errors: dict[str, dict[str, list[float]]] = {end: {name: [] for name in BOUNDS} for end in ENDS}
    kinds: dict[str, list[str]] = {end: [] for end in ENDS}
    unseen, blind = 0, 0
    for number in range(first, first + count):
        case = Case.drawn(number, variant=variant)
        with tempfile.TemporaryDirectory() as folder:
            files, summary = captured(case, Path(folder))
            fits = {
                end: fit_capture(*(files.values() if end == "both" else [files[end]]))
                for end in ENDS
            }
        most = max(link["queue_max_packets"] for link in summary["links"])
        is_full = any(link["drops"]["queue"] for link in summary["links"])
        unseen += not is_full
        for row, factor in ROWS.items():
            end = row.partition(",")[0]
            fit = fits[end]
            found, true = measured(fit), case.truth(fit)
            is_blind = end == "receiver" and not fit.path["endpoints"]["timestamps"]
            inside = {}
            for name, limit in BOUNDS.items():
                value, truth = found[name], true[name]
                inside[name] = value is not None and abs(value / truth - 1) <= factor * limit
                if name == "queue" and (not is_full or variant in QUEUES):
                    # The capture cannot show the value, so that "not known" is the right answer.
                    inside[name] = value is None
                elif name == "queue" and is_blind and value is None:
                    # Not every capture shows it.
                    inside[name] = True
                elif value is not None and row == end:
                    errors[end][name].append(abs(value / truth - 1))
                right[row][name] += inside[name]
            right[row]["all"] += all(inside.values())
            if row == end:
                blind += is_blind
                kinds[end].append(fit.path["queue"]["kind"])
            if not all(inside.values()):
                wrong = {name: found[name] for name in BOUNDS if not inside[name]}
                print(f"{number} {row}: {wrong}, truth {true}, {most} waited at most")
    print(f"{count} paths; the queue of {unseen} never overflowed; {blind} without timestamps")
    for row, counts in right.items():
        texts = (f"{name} {number}" for name, number in counts.items())
        print(f"{row}: {', '.join(texts)}", end="")
        if row in ENDS:
            print(f"; {spread(errors[row])}")
            of_end = kinds[row]
            print("    kinds of queue:", *(f"{it} {of_end.count(it)}," for it in set(of_end)))
    print()


def spread(errors: Mapping[str, Sequence[float]]) -> str:
    """Median and 90th percentile of the relative errors of each figure."""
    texts = []
    for name, values in errors.items():
        if values:
            low, high = np.quantile(values, [0.5, 0.9])
            texts.append(f"{name} {low:.3%} and {high:.3%} of {len(values)}")
    return "median error and 90th percentile: " + ", ".join(texts)


def kernel_closure(count: int, first: int, repeats: int) -> None:
    """Prints whether the simulated goodput of fits lies within the interval of emulations."""
    from scipy.stats import t

    from retx.running.emulation import emulate

    inside = close = 0
    for number in range(first, first + count):
        case = Case.drawn(number, ("linux", "linux_reno"))
        scenario = case.scenario()
        goodputs = []
        fit = None
        for repeat in range(repeats + 1):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "emulated.pcapng"
                emulate(
                    scenario,
                    seed=1 + number + 1000 * repeat,
                    pcap=file,
                    pcap_at="first@server",
                    progress=False,
                )
                own = fit_capture(file)
                if fit is None:
                    fit = own
                    compared = check(fit)
                else:
                    goodputs.append(own.path["figures"]["goodput_bit_s"])
        assert fit is not None
        logs = [math.log(it) for it in goodputs]
        mean = sum(logs) / repeats
        spread = math.sqrt(sum((it - mean) ** 2 for it in logs) / (repeats - 1))
        half = float(t.ppf(0.975, repeats - 1)) * spread * math.sqrt(1 + 1 / repeats)
        low, high = math.exp(mean - half), math.exp(mean + half)
        simulated = next(it for it in compared.figures if it.name == "goodput").simulated
        value = math.exp(sum(map(math.log, simulated)) / len(simulated))
        inside += low <= value <= high
        close += low <= value <= high or abs(math.log(value) - mean) <= CLOSE
        found, truth = measured(fit), case.truth(fit)
        errors = {
            name: None if found[name] is None else f"{found[name] / truth[name] - 1:+.2%}"
            for name in BOUNDS
        }
        word = "inside" if low <= value <= high else "OUTSIDE"
        print(
            f"{number} {case.preset} {truth} {case.channel}: simulated {value / 1e6:.4f} "
            f"{word} {low / 1e6:.4f} … {high / 1e6:.4f} Mbit/s; errors {errors}; check "
            f"{'holds' if compared.holds else outside(compared.content)}",
            flush=True,
        )
    print(f"{inside} of {count} inside; {close} inside or within {CLOSE:.0%} of the mean")


def outside(content: Mapping[str, Any]) -> str:
    """Figures outside their intervals, with the reasons."""
    names = (
        f"{it['name']} {it['captured']:.4g} not in {it['low']:.4g} … {it['high']:.4g}"
        for it in content["figures"]
        if not it["inside"]
    )
    return "; ".join([*names, *content["reasons"]])


def captures(names: Sequence[str]) -> None:
    """Prints the check of each capture."""
    held = tried = 0
    for name in names:
        file, colon, flow = name.rpartition(":")
        path, number = (file, int(flow)) if colon and flow.isdigit() else (name, None)
        try:
            fit = fit_capture(path, flow=number)
        except UsageError as error:
            print(f"{name}: {error}")
            continue
        tried += 1
        found = check(fit)
        held += found.holds
        print(f"{name}: {'holds' if found.holds else outside(found.content)}", flush=True)
    print(f"{held} of {tried}")


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["path", "kernel", "captures"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--variant", choices=VARIANTS, default="plain")
    asked = parser.parse_args(arguments)
    if asked.what == "path":
        path_closure(asked.count or 100, asked.first, asked.variant)
    elif asked.what == "kernel":
        kernel_closure(asked.count or 10, asked.first, asked.repeats)
    else:
        captures(asked.files)


if __name__ == "__main__":
    main(sys.argv[1:])
