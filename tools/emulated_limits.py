"""Checks that an emulation finds the limit built into a scenario, as a simulation does.

The scenarios of python/tests/test_known_limits.py, with the TCP of Linux, in real time: the largest
share of a life in the emulation beside that in a simulation of the same file, and how far the
shares are from summing to the life.

    tools/emulated_limits.py --seconds 20
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import retx
from retx.explaining.units import seconds_of
from retx.shares import flat, shares

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "python" / "tests"))

from test_known_limits import BASE, KNOWN, NETWORK  # noqa: E402

KERNEL: dict[str, dict[str, str]] = {
    # Without autotuning, with which a kernel enlarges its buffers.
    "receive window": {"tcp": 'receive_buffer = 20000\nreceive_autotuning = "none"'},
    # A small send buffer of a kernel holds a burst more: at 20 Mbit/s that would fill the link.
    "send buffer": {
        "tcp": 'send_buffer = 20000\nsend_autotuning = "none"',
        "rate": "100 Mbit/s",
    },
    # No kernel can be told to believe every timeout: short files, after each of which nothing is
    # left of an undone one, and no queue that overflows.
    "spurious timeouts": {
        "tcp": "",
        "app": '{ kind = "ftp", files = 1000, bytes = 100000 }',
        "link": 'forward.channel = { model = "random_delay", share = 0.01, law = "constant", '
        'delay = "3 s" }',
    },
}
"""Keys of the scenarios that differ on a kernel."""
SUM = 0.001
"""Largest distance of the sum of all shares from the life, as a part of it."""


def scenario(changes: dict[str, str], seconds: float) -> str:
    """The scenario with the TCP of Linux, and no longer than so many seconds."""
    merged = BASE | changes
    merged["duration"] = f"{min(seconds, seconds_of(merged['duration'])):g} s"
    return NETWORK.format(**merged | {"like": "linux"})


def life_of(flow: dict[str, float | None], end: float) -> float:
    """Seconds from the flow's start to its finish, or to the end of the run."""
    finish = flow["finish_s"]
    return (end if finish is None else finish) - (flow["start_s"] or 0.0)


def main() -> None:
    """Prints both shares of each scenario, and how many agree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="longest emulation")
    chosen = parser.parse_args()
    same = 0
    for name, (changes, key, _) in KNOWN.items():
        text = scenario(changes | KERNEL.get(name, {}), chosen.seconds)
        model = shares(flat(retx.run(text).summary["flows"][0]["limited_by"]))
        real = retx.emulate(text, progress=False).summary
        flow = real["flows"][0]
        seconds = flat(flow["limited_by"])
        life = life_of(flow, real["engine"]["simulated_s"])
        off = abs(sum(seconds.values()) - life) / life
        ours = shares(seconds)
        tops = [max(of, key=lambda limit: of[limit]) for of in (model, ours)]
        same += tops[0] == tops[1] and off <= SUM
        print(
            f"{name} ({key}): simulated {tops[0]} {model[tops[0]]:.1%}, emulated {tops[1]} "
            f"{ours[tops[1]]:.1%} (of the simulation's {ours[tops[0]]:.1%}); the sum is "
            f"{off:.3%} off",
            flush=True,
        )
    print(f"{same} of {len(KNOWN)} agree")


if __name__ == "__main__":
    main()
