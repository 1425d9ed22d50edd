"""Checks that an emulation, like a simulation, finds the limit built into a scenario.

The scenarios of python/tests/test_known_limits.py, with the TCP of Linux, in real time: prints the
largest share of a flow's lifetime in the emulation and in a simulation of the same file, and the
difference between the sum of the shares and the lifetime.

    tools/emulated_limits.py --seconds 20
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import retx
from retx.analysis.limits import flat, shares
from retx.scenarios.units import seconds_of

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "python" / "tests"))

from test_known_limits import BASE, KNOWN, NETWORK  # noqa: E402

KERNEL: dict[str, dict[str, str]] = {
    # Autotuning is off, because it would enlarge the kernel's buffers.
    "receive window": {"tcp": 'receive_buffer = 20000\nreceive_autotuning = "none"'},
    # A small send buffer of a kernel contains one more burst, which would fill a link of 20 Mbit/s.
    "send buffer": {
        "tcp": 'send_buffer = 20000\nsend_autotuning = "none"',
        "rate": "100 Mbit/s",
    },
    # No kernel can be configured not to undo timeouts. The scenario therefore has short files,
    # after which an undone timeout has no effect, and a queue that never overflows.
    "spurious timeouts": {
        "tcp": "",
        "app": '{ kind = "ftp", files = 1000, bytes = 100000 }',
        "link": 'forward.channel = { model = "random_delay", share = 0.01, law = "constant", '
        'delay = "3 s" }',
    },
}
"""Keys of the scenarios that differ for a kernel."""
SUM = 0.001
"""Largest difference between the sum of all shares and the lifetime, as a fraction of it."""


def scenario(changes: dict[str, str], seconds: float) -> str:
    """The scenario with the TCP of Linux, limited to this number of seconds."""
    merged = BASE | changes
    merged["duration"] = f"{min(seconds, seconds_of(merged['duration'])):g} s"
    return NETWORK.format(**merged | {"like": "linux"})


def life_of(flow: dict[str, float | None], end: float) -> float:
    """Seconds from the flow's start to its finish, or to the end of the run."""
    finish = flow["finish_s"]
    return (end if finish is None else finish) - (flow["start_s"] or 0.0)


def main() -> None:
    """Prints both shares of each scenario, and the number of scenarios that agree."""
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
