"""Checks that removing the limit with the largest share of a flow's life helps it most.

The scenarios are random, with one bulk flow and several limits each. Each is run unchanged, and
without each of its limits. The shares are right in this sense when the largest gain comes from
removing the limit that had the largest share. A faster link removes two limits at once, its rate
and the losses in its queue, so these count as one, `link`. `spurious` is the reaction of the sender
to losses that did not happen: it disappears if the sender detects this and undoes its reaction.
Removing the delays themselves removes more than that, since a late packet is awaited under any
limit; this is counted separately. Each miss has a class, and the gain without both limits: if that
exceeds the best single gain, the limit with the largest share was effective. The result is in
docs/how-to/why.md.

    tools/removed_limits.py --scenarios 500
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import retx
from retx.analysis.limits import flat, shares

EQUAL = 0.98
"""Gains whose ratio is above this are considered equal."""
LITTLE = 1.05
"""Smallest gain of a change that is significant."""
SECONDS = 30


def scenario(random: Random) -> dict[str, Any]:
    """A random path of one flow."""
    rate = 10 ** random.uniform(6.3, 8)
    delay_s = 10 ** random.uniform(-2.7, -0.9)
    product = rate * 2 * delay_s / 8
    link: dict[str, Any] = {
        "name": "way",
        "ends": ["server", "client"],
        "rate": f"{rate / 1e6:.3f} Mbit/s",
        "delay": f"{1e3 * delay_s:.3f} ms",
        "queue": {
            "discipline": "droptail",
            "packets": max(3, int(product / 1500 * 10 ** random.uniform(-1, 0.5))),
        },
    }
    models: list[dict[str, Any]] = []
    if random.random() < 0.5:
        models.append({"model": "bernoulli", "p": 10 ** random.uniform(-4.5, -1.7)})
    if random.random() < 0.3:
        models.append(
            {
                "model": "random_delay",
                "share": 10 ** random.uniform(-4, -2.5),
                "law": "constant",
                "delay": f"{random.uniform(0.2, 2):.3f} s",
            }
        )
    if models:
        link["forward"] = {"channel": models}
    tcp: dict[str, Any] = {"like": random.choice(["sack", "rack", "newreno"])}
    for name in ("send_buffer", "receive_buffer"):
        if random.random() < 0.4:
            tcp[name] = max(6000, int(product * 10 ** random.uniform(-1.2, 0.5)))
    return {
        "duration": f"{SECONDS} s",
        "seed": random.randrange(1 << 30),
        "tcp": {"ours": tcp},
        "link": [link],
        "flow": [{"name": "data", "from": "server", "to": "client", "tcp": "ours", "app": "bulk"}],
    }


def without(data: dict[str, Any], limit: str) -> dict[str, Any]:
    """The scenario without one limit."""
    changed: dict[str, Any] = json.loads(json.dumps(data))
    link, tcp = changed["link"][0], changed["tcp"]["ours"]
    rate = float(link["rate"].split()[0])
    product = rate * 1e6 * 2e-3 * float(link["delay"].split()[0]) / 8
    models = link.get("forward", {}).get("channel", [])
    match limit:
        case "spurious":
            tcp |= {"spurious": "linux", "timestamps": True}
        case "send_buffer" | "receive_window":
            tcp[limit.replace("window", "buffer")] = 1 << 27
        case "link":
            # Ten times the rate, with the same round-trip time.
            link["rate"] = f"{10 * rate:.3f} Mbit/s"
            delay_ms = float(link["delay"].split()[0]) + 0.9 * 12 / rate
            link["delay"] = f"{delay_ms:.3f} ms"
            link["queue"]["packets"] = 1 << 20
        case "slow_start":
            tcp["initial_window"] = max(10, int(product / 1460))
        case "wireless" | "delays":
            # Models without effect are kept, because the draws of a model depend on its position.
            for model in models:
                if limit == "wireless" and model["model"] == "bernoulli":
                    model["p"] = 0
                if limit == "delays" and model["model"] == "random_delay":
                    model["share"] = 0
    return changed


LIMITS = (
    "send_buffer",
    "receive_window",
    "link",
    "slow_start",
    "wireless",
    "spurious",
)


def kind_of_miss(top: str, best: str, gain: float) -> str:
    """Class of a scenario in which another limit's removal gained more.

    Args:
        top: The limit with the largest share.
        best: The limit whose removal gained most.
        gain: That gain.
    """
    if gain < LITTLE:
        return "little to gain"
    if top == "spurious":
        return "silences until a late packet, which no sender shortens"
    if top in ("send_buffer", "receive_window"):
        return "another limit right behind the buffer"
    if best == "link":
        return "a faster link without a queue lets the window grow further"
    if best in ("send_buffer", "receive_window"):
        return "a small window turns losses into timeouts, or limits right behind"
    return "a narrow link beside losses, or beside delays taken for losses"


def goodput(data: dict[str, Any]) -> tuple[float, dict[str, float]]:
    """Goodput of the flow, and its shares by limit, with all kinds of a cause together."""
    flow = retx.run(data, tables=False).summary["flows"][0]
    found = dict.fromkeys(LIMITS, 0.0)
    for key, share in shares(flat(flow["limited_by"])).items():
        name = key.rpartition(".")[2]
        name = "link" if name in ("bottleneck", "congestion") else name
        if name in found:
            found[name] += share
    return flow["goodput_bit_s"], found


@dataclass
class Tally:
    """Counts over all scenarios."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    bound: Counter[str] = field(default_factory=Counter)
    """Number of scenarios, by class, in which both removals together gain more than the best
    one."""
    without_delays: int = 0
    """Number of scenarios in which the largest share is right if `spurious` is removed with the
    delays."""

    def add(self, number: int, data: dict[str, Any]) -> None:
        """Runs a scenario without each limit."""
        base, found = goodput(data)
        top = max(found, key=lambda limit: found[limit])
        changed = {limit: without(data, limit) for limit in (*LIMITS, "delays")}
        gains = {
            limit: 1.0 if change == data else goodput(change)[0] / base
            for limit, change in changed.items()
        }
        delays = gains.pop("delays")
        if not found["spurious"]:
            # Nothing can be undone: without needless recoveries only the timestamps would differ.
            gains["spurious"] = 1.0
        others = gains | {"spurious": delays}
        self.without_delays += others[top] >= EQUAL * max(others.values())
        best = max(gains, key=lambda limit: gains[limit])
        if gains[top] >= EQUAL * gains[best]:
            self.right[top] += 1
            return
        self.wrong[top, best] += 1
        kind = kind_of_miss(top, best, gains[best])
        self.kinds[kind] += 1
        both = goodput(without(without(data, top), best))[0] / base
        self.bound[kind] += both > gains[best] / EQUAL
        print(
            f"{number}: {top} has {found[top]:.0%}, gain {gains[top]:.2f}; "
            f"{best} has {found[best]:.0%}, gain {gains[best]:.2f}; both {both:.2f}; "
            f"without delays {delays:.2f}; {kind}",
            flush=True,
        )


def main() -> None:
    """Prints how often the largest share was right, and by which limits it was not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scenarios", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    random = Random(chosen.seed)
    tally = Tally()
    for number in range(chosen.scenarios):
        tally.add(number, scenario(random))
    count = sum(tally.right.values())
    print(f"{count} of {chosen.scenarios}: the largest share was the largest gain")
    print(f"{tally.without_delays} if the delays are removed instead of the reaction to them")
    for limit, number in tally.right.most_common():
        print(f"  {limit}: {number}")
    for (top, best), number in tally.wrong.most_common():
        print(f"  not: {top} had the largest share, {best} the largest gain: {number}")
    for kind, number in tally.kinds.most_common():
        print(f"  {kind}: {number}; in {tally.bound[kind]} both gain more than the best alone")


if __name__ == "__main__":
    main()
