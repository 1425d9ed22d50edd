"""csg-htsim: a fourth simulator, which the user has built."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from peers.fat_tree import Tree
from peers.measuring import PeerError
from peers.scenarios import FatTree, Link, Scenario, Wired
from peers.simulators import Job, Outcome, summed

__all__ = ["Htsim", "network_text"]

SOURCE = Path(__file__).with_name("htsim.cc")


class Htsim:
    """htsim from a checkout in which `make -C sim libhtsim.a` has been run.

    Args:
        folder: Folder in which our program is built.
        checkout: Folder of csg-htsim, which is only read.
    """

    name = "htsim"

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.sources = checkout.absolute() / "sim"
        self.program = folder / "htsim"

    def prepare(self) -> str:
        """Compiles our program; returns the commit of the checkout."""
        library = self.sources / "libhtsim.a"
        if not library.is_file():
            raise PeerError(f"there is no {library}: run `make -C {self.sources} libhtsim.a`")
        compiler = shutil.which("g++")
        if compiler is None:
            raise PeerError("htsim's program needs a C++ compiler: install g++")
        self.program.parent.mkdir(parents=True, exist_ok=True)
        options = ["-std=c++17", "-O3", "-march=native", "-w", f"-I{self.sources}"]
        command = [compiler, *options, str(SOURCE), str(library), "-o", str(self.program)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise PeerError(f"htsim.cc does not compile: {errors[0] if errors else done.stderr}")
        git = ["git", "-C", str(self.sources), "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(git, capture_output=True, text=True).stdout.strip()
        return f"csg-htsim {commit or 'of unknown version'} (built here)"

    def commands(self, job: Job) -> list[list[str]]:
        """Writes the network's file, which is not part of the measurement."""
        scenario = job.scenario
        if not isinstance(scenario, Wired | FatTree):
            raise PeerError("there is no program of it for this scenario")
        if scenario.tcp.sack or scenario.tcp.delayed_ack:
            raise PeerError("its TCP has neither SACK nor delayed ACKs")
        file = job.folder / f"{scenario.name}.htsim"
        file.write_text("\n".join(network_text(scenario, job.seed)) + "\n", encoding="utf-8")
        windows = scenario.tcp.window, scenario.tcp.initial_window
        numbers = (scenario.duration_s, job.limit_s, *windows)
        return [[str(self.program), str(file), *map(str, numbers)]]

    def outcome(self, job: Job, outputs: list[str]) -> Outcome:
        """The line of JSON that the program prints."""
        return summed(outputs)


def network_text(scenario: Scenario, seed: int) -> Iterator[str]:
    """Lines of the file that `htsim.cc` reads: links of one direction, and flows with their paths.

    The two directions of a link have numbers 2 n and 2 n + 1.

    Raises:
        PeerError: A link loses packets.
    """
    if isinstance(scenario, FatTree):
        tree = Tree.draw(scenario, seed)
        for _ in tree.links:
            yield from _both(scenario.link)
        for path in tree.paths:
            steps = zip(path.links, path.forward, strict=True)
            out = [2 * link + (not forward) for link, forward in steps]
            yield _flow(0.0, scenario.transfer, out)
        return
    assert isinstance(scenario, Wired)
    pairs = scenario.pairs if scenario.access else 0
    for link in scenario.path:
        yield from _both(link, scenario.free_acks)
    for _ in range(pairs):
        assert scenario.access is not None
        yield from _both(scenario.access)
        yield from _both(scenario.access)
    row = list(range(len(scenario.path)))
    for flow in range(scenario.flows):
        left = len(row) + 2 * (flow % scenario.pairs)
        hops = [left, *row, left + 1] if pairs else row
        start_s = scenario.stagger_s * flow / scenario.flows
        yield _flow(start_s, scenario.transfer, [2 * hop for hop in hops])


def _both(link: Link, free_acks: bool = False) -> Iterator[str]:
    if link.loss:
        raise PeerError("there is no program of it for links that lose packets")
    for rate in (link.mbit_s, 0.0 if free_acks else link.mbit_s):
        yield f"link {rate:g} {link.delay_ms:g} {link.queue}"


def _flow(start_s: float, transfer: int, out: Sequence[int]) -> str:
    back = [number ^ 1 for number in reversed(out)]
    texts = (f"{len(way)} {' '.join(map(str, way))}" for way in (out, back))
    return f"flow {start_s:.6f} {transfer} {' '.join(texts)}"
