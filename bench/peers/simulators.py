"""The compared programs: installation, commands and output of each."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from peers.measuring import PeerError
from peers.retx_scenarios import scenario_text
from peers.scenarios import FatTree, Scenario, Sweep, Wired, Wlan

__all__ = ["Job", "Ns2", "Ns3", "Outcome", "Retx", "Simulator", "arguments", "summed"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGES = ROOT / "tools" / "packages.sh"
NS3_WHEEL = "ns3==3.44.post0"
# The tag for any version of Python, since the Python parts of the wheel are not used.
NS3_TAG = [
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
    "--platform=manylinux_2_28_x86_64",
]
NS3_MODULES = {
    "wired": ["core", "network", "internet", "point-to-point", "applications"],
    "wlan": ["core", "network", "internet", "mobility", "propagation", "wifi", "applications"],
}


@dataclass(frozen=True)
class Job:
    """One execution of a scenario.

    Attributes:
        scenario: What is simulated.
        seed: Seed of the first run.
        limit_s: CPU seconds after which a peer stops and reports its simulated time.
        folder: Folder for files.
    """

    scenario: Scenario
    seed: int
    limit_s: float
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """Result of a simulation, as the simulator reports it.

    Attributes:
        segments: Data segments delivered in order.
        simulated_s: Simulated time; the sum over runs.
        setup_s: User CPU seconds before the first event, if reported.
    """

    segments: int
    simulated_s: float
    setup_s: float | None = None


class Simulator(Protocol):
    """One of the programs."""

    name: str

    def prepare(self) -> str:
        """Installs and builds the simulator; returns its version.

        Raises `PeerError` with a sentence.
        """

    def commands(self, job: Job) -> list[list[str]]:
        """Commands to execute; several commands make one measurement."""

    def outcome(self, job: Job, outputs: list[str]) -> Outcome:
        """Result of the simulation, from the output of the commands."""


class Ns2:
    """ns-2 as packaged by Debian.

    Its packets have room for the headers of all its protocols, unless a script lists those that it
    needs: then ns-2 is "lean", and several times as fast. Few scripts do this.
    """

    def __init__(self, name: str, *, lean: bool) -> None:
        self.name = name
        self.lean = lean

    def prepare(self) -> str:
        """Installs ns-2 if possible."""
        done = subprocess.run([PACKAGES, "ns=ns2"], capture_output=True, text=True)
        if done.returncode != 0:
            raise PeerError("ns-2 is missing, and only root on a machine with apt-get installs it")
        asked = subprocess.run(["ns"], input="puts [ns-version]", capture_output=True, text=True)
        if not re.fullmatch(r"2\.\d+", asked.stdout.strip()):
            raise PeerError("the command `ns` on this machine is not ns-2")
        return f"{asked.stdout.strip()} (Debian)"

    def commands(self, job: Job) -> list[list[str]]:
        """One process per run, because ns-2 cannot be reset to an empty simulator."""
        if isinstance(job.scenario, Sweep):
            return [
                self._command(point, job, job.seed + run)
                for point in job.scenario.points
                for run in range(job.scenario.runs)
            ]
        if isinstance(job.scenario, Wired) and job.scenario.tcp.congestion_control == "bbr":
            raise PeerError("it has no BBR")
        return [self._command(wired_or_wlan(job.scenario), job, job.seed)]

    def _command(self, scenario: Wired | Wlan, job: Job, seed: int) -> list[str]:
        script = "wired.tcl" if isinstance(scenario, Wired) else "wlan.tcl"
        options = arguments(scenario) | {"seed": str(seed), "limit": str(job.limit_s)}
        options["lean"] = str(int(self.lean))
        pairs = [text for pair in options.items() for text in pair]
        return ["ns", str(HERE / script), *pairs]

    def outcome(self, job: Job, outputs: list[str]) -> Outcome:
        """The sum of its lines of JSON."""
        return summed(outputs)


class Ns3:
    """ns-3 from PyPI, whose wheel contains the C++ headers and libraries, or built on this machine.

    Args:
        folder: Folder in which our programs are built and the wheel is installed.
        prefix: Folder in which `cmake --install` has installed the user's ns-3.
    """

    def __init__(self, folder: Path, prefix: Path | None = None) -> None:
        self.name = "ns3" if prefix is None else "ns3-native"
        self.folder = folder if prefix is None else folder / "native"
        self.prefix = prefix.absolute() if prefix else folder / "wheel" / "ns3"
        self.from_wheel = prefix is None

    def prepare(self) -> str:
        """Installs the wheel if requested, and compiles our programs; returns the version."""
        compiler = shutil.which("g++")
        if compiler is None:
            raise PeerError("ns-3's programs need a C++ compiler: install g++")
        if self.from_wheel and not self._include.is_dir():
            self._install()
        self.folder.mkdir(parents=True, exist_ok=True)
        for program in NS3_MODULES:
            self._build(compiler, program)
        if self.from_wheel:
            return f"{NS3_WHEEL.partition('==')[2]} (PyPI)"
        built = self.library("core").stem.removeprefix("lib").replace("-core", "")
        return f"{built} (built here)"

    @property
    def _include(self) -> Path:
        return self.prefix / "include"

    def _install(self) -> None:
        wheel = self.prefix.parent
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        into = ["--target", str(wheel), "--only-binary=:all:", *NS3_TAG]
        done = subprocess.run([*pip, *into, NS3_WHEEL], capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(wheel, ignore_errors=True)
            lines = done.stderr.strip().splitlines()
            raise PeerError(f"pip could not install {NS3_WHEEL}: {lines[-1] if lines else ''}")

    def library(self, module: str) -> Path:
        """File of a module: libns3.44-core.so, or libns3-dev-core-optimized.so with a profile.

        Raises:
            PeerError: There is none.
        """
        name = re.compile(rf"libns3[^-]*(-dev)?-{module}(-[a-z]+)?\.so")
        profiles = ("", "-debug", "-default", "-release", "-optimized", "-relwithdebinfo")
        found = [
            file
            for file in sorted(self.prefix.glob("lib*/libns3*.so"))
            if (match := name.fullmatch(file.name)) and (match[2] or "") in profiles
        ]
        if not found:
            raise PeerError(
                f"{self.prefix} holds no library of ns-3's module {module}: `cmake --install` an "
                f"ns-3 there, with the modules {', '.join(NS3_MODULES['wlan'])} and point-to-point"
            )
        return found[-1]

    def _build(self, compiler: str, program: str) -> None:
        target = self.folder / program
        libraries = [self.library(module) for module in NS3_MODULES[program]]
        sources = [HERE / f"{program}.cc", HERE / "run.h", *libraries]
        if target.exists() and all(
            source.stat().st_mtime < target.stat().st_mtime for source in sources
        ):
            return
        options = ["-std=c++20", "-O3", f"-I{self._include}"]
        if not self.from_wheel:
            options.append("-march=native")
        folder = libraries[0].parent
        linked = [f"-l{library.stem.removeprefix('lib')}" for library in libraries]
        linking = [f"-L{folder}", f"-Wl,-rpath,{folder}", *linked]
        done = subprocess.run(
            [compiler, *options, sources[0], "-o", target, *linking],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise PeerError(
                f"{program}.cc does not compile: {errors[0] if errors else done.stderr}"
            )

    def commands(self, job: Job) -> list[list[str]]:
        """The runs at one point of a sweep share a process, one after the other."""
        if isinstance(job.scenario, Sweep):
            runs = f"--runs={job.scenario.runs}"
            return [[*self._command(point, job), runs] for point in job.scenario.points]
        return [self._command(wired_or_wlan(job.scenario), job)]

    def _command(self, scenario: Wired | Wlan, job: Job) -> list[str]:
        program = "wired" if isinstance(scenario, Wired) else "wlan"
        options = arguments(scenario) | {"seed": str(job.seed), "limit": str(job.limit_s)}
        return [str(self.folder / program), *(f"--{key}={text}" for key, text in options.items())]

    def outcome(self, job: Job, outputs: list[str]) -> Outcome:
        """The sum of its lines of JSON."""
        return summed(outputs)


class Retx:
    """retx by its command line, as for users."""

    name = "retx"

    def __init__(self, command: Path) -> None:
        self.command = command.absolute()

    def prepare(self) -> str:
        """Version of the command, and the commit of the repository."""
        try:
            done = subprocess.run([self.command, "--version"], capture_output=True, text=True)
        except OSError as error:
            raise PeerError(f"there is no {self.command}; `make build` makes it") from error
        if done.returncode != 0:
            raise PeerError(f"{self.command} --version: {done.stderr.strip()}")
        git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(git, capture_output=True, text=True)
        version: str = done.stdout.split()[-1]
        return f"{version} ({commit.stdout.strip()})" if commit.returncode == 0 else version

    def commands(self, job: Job) -> list[list[str]]:
        """Writes the scenario file, which is not part of the measurement."""
        file = job.folder / f"{job.scenario.name}.toml"
        file.write_text(scenario_text(job.scenario, job.seed), encoding="utf-8")
        if isinstance(job.scenario, Sweep):
            out = ["--out", str(self._directory(job)), "--force"]
            return [[str(self.command), "sweep", str(file), *out]]
        return [[str(self.command), "run", str(file), "--json"]]

    def outcome(self, job: Job, outputs: list[str]) -> Outcome:
        """Result of the simulation, from the run's JSON or the sweep's directory."""
        if isinstance(job.scenario, Sweep):
            import retx

            flows = retx.load_sweep(self._directory(job)).flows
            segments = int(flows["bytes_delivered"].sum()) // job.scenario.of.tcp.segment
            return Outcome(segments, float(flows["finish_s"].sum()))
        summary: dict[str, Any] = json.loads(outputs[0])
        flows = summary["flows"]
        delivered = sum(flow["bytes_delivered"] for flow in flows)
        segments = delivered // job.scenario.tcp.segment
        ends = [flow["finish_s"] for flow in flows]
        over = None not in ends
        return Outcome(segments, max(ends) if over else summary["engine"]["simulated_s"])

    def _directory(self, job: Job) -> Path:
        return job.folder / f"{job.scenario.name}-{job.seed}"


def wired_or_wlan(scenario: Scenario) -> Wired | Wlan:
    """The scenario, if the programs for ns-2 and ns-3 can simulate it.

    Raises:
        PeerError: They cannot.
    """
    if isinstance(scenario, FatTree):
        raise PeerError("there is no program of it for a fat tree")
    if isinstance(scenario, Wired) and scenario.free_acks:
        raise PeerError("there is no program of it for links with a rate one way only")
    assert not isinstance(scenario, Sweep)
    return scenario


def arguments(scenario: Wired | Wlan) -> dict[str, str]:
    """Arguments of the programs for ns-2 and ns-3, which have the same names in both."""
    tcp = scenario.tcp
    shared = {
        "window": tcp.window,
        "initial_window": tcp.initial_window,
        "min_rto": tcp.min_rto_s,
        "initial_rto": tcp.initial_rto_s,
        "delayed_ack": int(tcp.delayed_ack),
        "duration": scenario.duration_s,
    }
    if isinstance(scenario, Wlan):
        own: dict[str, object] = {"hops": scenario.hops, "queue": scenario.queue}
    else:
        links = [*scenario.path, *([scenario.access] if scenario.access else [])]
        texts = [f"{link.mbit_s:g}:{link.delay_ms:g}:{link.queue}:{link.loss:g}" for link in links]
        own = {
            "path": ",".join(texts[: len(scenario.path)]),
            "access": texts[-1] if scenario.access else "none",
            "flows": scenario.flows,
            "pairs": scenario.pairs,
            "transfer": scenario.transfer,
            "stagger": scenario.stagger_s,
            "sack": int(tcp.sack),
            "timestamps": int(tcp.timestamps),
            "congestion_control": tcp.congestion_control,
        }
    return {key: f"{value}" for key, value in (shared | own).items()}


def summed(outputs: list[str]) -> Outcome:
    """Sum of the results that the outputs hold, each in a line of JSON."""
    found = [json.loads(line) for line in re.findall(r"^\{.*\}$", "\n".join(outputs), re.MULTILINE)]
    if len(found) != len(outputs):
        raise PeerError(f"it printed no result but {outputs[0][-200:]!r}")
    return Outcome(
        segments=sum(each["segments"] for each in found),
        simulated_s=sum(each["simulated_s"] for each in found),
        setup_s=sum(each["setup_s"] for each in found) if len(found) == 1 else None,
    )
