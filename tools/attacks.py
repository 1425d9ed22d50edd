#!/usr/bin/env python3
"""Attacks the simulator with random scenarios.

    .venv/bin/python tools/attacks.py extremes --count 20000 --seed 1
    .venv/bin/python tools/attacks.py mutants --count 20000 --seed 1

`extremes` takes a small network and replaces some of its parts (queue, channel, rate, TCP,
application, …) by random values that the JSON Schema allows: every choice, some optional keys,
numbers from zero to the largest. Cases are drawn until `--count` of them have been accepted.
`mutants` damages the text of shipped scenarios: bytes, numbers, words and lines.

A case is refused in a sentence, runs to its end, or is stopped after `--limit` seconds of CPU time.
An internal error, a crash, a stop that takes three seconds longer, or a case that lasts a minute is
a failure, whose scenario is printed. The extension must be built with overflow checks, as
`make test` builds it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import retx
from retx import _native

UNIT = re.compile(r"\\s\*\((?P<units>[^)]*)\)\\s\*(?P<rest>[\w/]*)")
"""The units in the pattern of a number with its unit."""
CODE = {"file", "python", "class", "path", "program", "command"}
"""Keys that name files or code, which other tests attack."""
PARTS = ("queue", "channel", "link", "tcp", "app", "run", "flow")
GRACE_S = 3.0
"""CPU time within which a run must stop."""
WALL_S = 60.0
"""Time within which a case must end, even if it uses no CPU time."""

Node = dict[str, Any]


class Generator:
    """Draws values that a JSON Schema allows.

    Args:
        schema: The whole schema, with its `$defs`.
        draws: Source of randomness.
    """

    def __init__(self, schema: Node, draws: random.Random) -> None:
        self._defs = schema["$defs"]
        self._draws = draws

    def value(self, node: Node, depth: int = 0) -> object:
        """A value for one node of the schema."""
        draws = self._draws
        if "$ref" in node:
            return self.value(self._defs[node["$ref"].rsplit("/", 1)[1]], depth)
        for choice in ("anyOf", "oneOf"):
            if choice in node:
                options = [option for option in node[choice] if option.get("type") != "null"]
                return self.value(draws.choice(options), depth)
        if "const" in node:
            return node["const"]
        if "enum" in node:
            return draws.choice(node["enum"])
        match node.get("type"):
            case "boolean":
                return draws.random() < 0.5
            case "integer":
                return self._integer(node)
            case "number":
                return self._number(node)
            case "string":
                return self._string(node)
            case "array":
                count = max(node.get("minItems", 0), draws.choice((0, 1, 2, 3)))
                return [self.value(node.get("items", {}), depth + 1) for _ in range(count)]
            case "object":
                return self.table(node, depth)
        return 0

    def table(self, node: Node, depth: int = 0, often: float = 0.3) -> Node:
        """An object with its required keys, and some of the others."""
        required = node.get("required", ())
        wanted = {
            key: child
            for key, child in node.get("properties", {}).items()
            if key in required
            or "const" in child
            or (depth < 6 and key not in CODE and self._draws.random() < often)
        }
        return {key: self.value(child, depth + 1) for key, child in wanted.items()}

    def _integer(self, node: Node) -> int:
        least = int(node.get("minimum", -(2**31)))
        bits = 63 if "64" in node.get("format", "uint64") else 32
        most = int(node.get("maximum", 2**bits - 1))
        near = (least, least + 1, 2, 3, 10, 1000, 65535, 65536, most - 1, most)
        drawn = int(2 ** (self._draws.random() * bits))
        return min(max(self._draws.choice((*near, drawn, drawn)), least), most)

    def _number(self, node: Node) -> float:
        least = float(node.get("minimum", -1e300))
        most = float(node.get("maximum", 1e300))
        drawn = 10 ** self._draws.uniform(-18, 18)
        near = (0.0, 1.0, 0.5, 1e-300, 1e300, least, most)
        return min(max(self._draws.choice((*near, drawn, drawn, drawn)), least), most)

    def _string(self, node: Node) -> str:
        match = UNIT.search(node.get("pattern", ""))
        if not match:
            return self._draws.choice(("a", "b", "wire", "ftp", ""))
        unit = self._draws.choice(match["units"].split("|"))
        number = self._draws.choice(
            ("0", "1", "2", "1e-9", "1e9", f"{10 ** self._draws.uniform(-6, 9):.4g}")
        )
        return f"{number} {unit}{match['rest']}"


def extreme(schema: Node, draws: random.Random) -> Node:
    """A small network with some of its parts replaced."""
    made = Generator(schema, draws)
    link: Node = {"name": "wire", "ends": ["a", "b"], "rate": "2 Mbit/s", "delay": "10 ms"}
    flow: Node = {"name": "ftp", "from": "a", "to": "b", "tcp": "mine"}
    flow["app"] = {"kind": "transfer", "bytes": 300_000}
    tcp: Node = {"like": draws.choice(("newreno", "sack", "rack", "cubic", "linux", "linux_bbr"))}
    scenario: Node = {"duration": "20 s", "link": [link], "flow": [flow], "tcp": {"mine": tcp}}
    tables = schema["$defs"]
    for part in draws.sample(PARTS, draws.choice((1, 1, 2, 3))):
        match part:
            case "queue":
                link["queue"] = made.value(tables["Queue"])
            case "channel":
                side = draws.choice(("forward", "reverse"))
                link[side] = {"channel": made.value(tables["Channels"])}
            case "link":
                keys = made.table(tables["LinkKeys"], often=0.15)
                link |= {key: value for key, value in keys.items() if key not in ("name", "ends")}
            case "tcp":
                node = schema["properties"]["tcp"]["additionalProperties"]
                keys = made.table(node, often=draws.choice((0.05, 0.2)))
                tcp |= {key: value for key, value in keys.items() if key != "like"}
            case "app":
                flow["app"] = made.value(tables["App"])
            case "flow":
                keys = made.table(tables["FlowKeys"], often=0.15)
                kept = ("name", "from", "to", "tcp", "count")
                flow |= {key: value for key, value in keys.items() if key not in kept}
            case "run":
                for key in draws.sample(
                    ("duration", "stop", "warmup", "seed", "sample_interval"), 2
                ):
                    scenario[key] = made.value(schema["properties"][key])
    scenario["link"], scenario["flow"] = [link], [flow]
    return scenario


def mutant(texts: Sequence[str], draws: random.Random) -> str:
    """A shipped scenario with one to four pieces damaged."""
    text = draws.choice(texts)
    for _ in range(draws.choice((1, 1, 2, 4))):
        text = draws.choice(DAMAGES)(text, draws)
    return text


def _byte(text: str, draws: random.Random) -> str:
    at = draws.randrange(len(text) + 1)
    end = at + draws.choice((0, 0, 1, 1, 5))
    return text[:at] + draws.choice(("", *"\"'[]{}=,.\n#\0\x1b-0é\U0001f600")) + text[end:]


def _number(text: str, draws: random.Random) -> str:
    found = list(re.finditer(r"\d[\d_.]*", text))
    if not found:
        return text
    match = draws.choice(found)
    number = draws.choice(("0", "-1", "1e400", "nan", "inf", str(2**63), str(2**64), "1e-400", "7"))
    return text[: match.start()] + number + text[match.end() :]


def _word(text: str, draws: random.Random) -> str:
    words = list(re.finditer(r"[A-Za-z_]+", text))
    if len(words) < 2:
        return text
    one, other = draws.choice(words), draws.choice(words)
    return text[: one.start()] + other[0] + text[one.end() :]


def _line(text: str, draws: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        moved = lines.pop(draws.randrange(len(lines)))
        for _ in range(draws.choice((0, 1, 2))):
            lines.insert(draws.randrange(len(lines) + 1), moved)
    return "".join(lines)


DAMAGES = (_byte, _number, _word, _line)


class StoppedError(BaseException):
    """The time of a case is over. Like KeyboardInterrupt, this must not be caught on the way."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise StoppedError


def outcome(scenario: Node | str, limit_s: float) -> str:
    """Outcome of a case: `ran`, `refused`, `stopped`, or the failure."""
    began, used = time.monotonic(), time.process_time()
    # CPU time, so that a machine with other work tries as much of each case.
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    signal.setitimer(signal.ITIMER_REAL, WALL_S)
    try:
        result = retx.run(scenario, tables=False, code=False)
        json.dumps(result.summary, allow_nan=False)
        found = "ran"
    except StoppedError:
        found = "stopped"
    except (retx.ScenarioError, retx.RunError, retx.UsageError) as error:
        found = "refused" if str(error) else "an error without a sentence"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        found = f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    used, lasted = time.process_time() - used, time.monotonic() - began
    if used > limit_s + GRACE_S or lasted > WALL_S:
        return f"ended only after {lasted:.1f} s, {used:.1f} s of CPU time"
    return found


Case = Callable[[int], "Node | str"]


def cases(kind: str, seed: int) -> Case:
    """The case of each number."""
    if kind == "extremes":
        schema = json.loads(_native.json_schema())
        return lambda number: extreme(schema, random.Random(f"{seed} {number}"))
    folder = Path(__file__).resolve().parent.parent / "scenarios"
    texts = [path.read_text() for path in sorted(folder.glob("*.toml"))]
    return lambda number: mutant(texts, random.Random(f"{seed} {number}"))


def attack(first: int, count: int, asked: argparse.Namespace, report: int) -> None:
    """Runs cases until `count` were accepted; writes number and outcome of each to a pipe."""
    case = cases(asked.kind, asked.seed)
    signal.signal(signal.SIGPROF, _stop)
    signal.signal(signal.SIGALRM, _stop)
    number = first
    while count > 0:
        os.write(report, f"{number}\n".encode())
        try:
            found = outcome(case(number), asked.limit)
        except StoppedError:  # as it ended by itself
            found = "stopped"
        os.write(report, f"{number} {json.dumps(found)}\n".encode())
        count -= asked.kind == "mutants" or found != "refused"
        number += 1


def main() -> int:
    """Runs the attacks requested on the command line; returns 1 if one failed."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("kind", choices=("extremes", "mutants"))
    arguments.add_argument("--count", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--first", type=int, default=0, help="number of the first case")
    arguments.add_argument("--limit", type=float, default=0.2, help="CPU seconds for a case")
    asked = arguments.parse_args()
    found, failed = Counter[str](), dict[int, str]()
    at = asked.first
    uncounted = "refused" if asked.kind == "extremes" else ""
    while (left := asked.count - found.total() + found[uncounted]) > 0:
        at = _attack_apart(at, left, asked, found, failed)
    case = cases(asked.kind, asked.seed)
    for number, verdict in failed.items():
        print(f"case {number}: {verdict}\n{json.dumps(case(number))}\n")
    print(", ".join(f"{count} {name}" for name, count in sorted(found.items())))
    return 1 if failed else 0


def _attack_apart(
    at: int, left: int, asked: argparse.Namespace, found: Counter[str], failed: dict[int, str]
) -> int:
    """Attacks in a separate process, so that a crash ends no other; returns the next case."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 2)  # panics print where they arose
        attack(at, left, asked, writing)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        for line in lines:
            number, _, text = line.partition(" ")
            at = int(number)
            if text:
                at += 1
                verdict = json.loads(text)
                known = verdict in ("ran", "refused", "stopped")
                found[verdict if known else "failed"] += 1
                if not known:
                    failed[int(number)] = verdict
    _, status = os.waitpid(child, 0)
    if status:
        failed[at] = f"the process died: status {status}"
        found["failed"] += 1
        return at + 1
    return at


if __name__ == "__main__":
    sys.exit(main())
