"""Two players of scripts: `retx drill`, and packetdrill with the shared object of retx."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT_S = 60
"""Far more than any script takes."""

RECORDED = ("sysctl", "tc", "ip", "nstat", "set_sysctls.py")
"""Programs that scripts run to set up a kernel. They are replaced by one that records its arguments
for the shared object."""

RECORDER = """\
#!/bin/sh
# Writes down how it was called.
{ printf '%s' "${0##*/}"; printf ' "%s"' "$@"; printf '\\n'; } >> "$RETX_COMMANDS"
"""


@dataclass(frozen=True)
class Verdict:
    """Result of a script."""

    passed: bool
    message: str
    """Reason of a failure; empty for a pass."""


@dataclass(frozen=True)
class Packetdrill:
    """The unmodified tool over the shared object."""

    program: Path
    library: Path
    tcp: str

    def play(self, files: Sequence[Path], scratch: Path) -> list[Verdict]:
        """Plays scripts, several at a time; `scratch` is an empty folder."""
        path = scratch / "bin"
        path.mkdir()
        for name in RECORDED:
            write_program(path / name)
        jobs = [(file, path, scratch / f"{number}.commands") for number, file in enumerate(files)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda job: self._play_one(*job), jobs))

    def _play_one(self, file: Path, path: Path, commands: Path) -> Verdict:
        environment = {
            **os.environ,
            "PATH": f"{path}{os.pathsep}{os.environ.get('PATH', '')}",
            "LD_PRELOAD": str(self.library),
            "RETX_COMMANDS": str(commands),
        }
        command = [
            str(self.program),
            f"--so_filename={self.library}",
            f"--so_flags=tcp={self.tcp}",
            file.name,
        ]
        try:
            done = subprocess.run(
                command,
                cwd=file.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIME_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Verdict(False, f"no end after {TIME_LIMIT_S} s")
        if done.returncode == 0:
            return Verdict(True, "")
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return Verdict(False, " | ".join(said) or f"packetdrill ended with {done.returncode}")


def write_program(file: Path) -> None:
    """Writes a program that records its arguments."""
    file.write_text(RECORDER, encoding="utf-8")
    file.chmod(0o755)


@dataclass(frozen=True)
class Drill:
    """`retx drill`, with all scripts in one call."""

    program: Path
    tcp: str

    def play(self, files: Sequence[Path], scratch: Path) -> list[Verdict]:
        """Plays scripts. `scratch` is not needed."""
        command = [str(self.program), "drill", f"--tcp={self.tcp}", "--json", *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            results = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise RuntimeError(f"retx drill says: {done.stderr.strip()}") from None
        by_file = {result["file"]: result for result in results}
        return [verdict_of(by_file[str(file)]) for file in files]


def verdict_of(result: dict[str, object]) -> Verdict:
    """One of `retx drill --json`'s."""
    if result["verdict"] == "passed":
        return Verdict(True, "")
    parts = [f"{result['verdict']}, line {result['line']}: {result['message']}"]
    parts += [f"{name} {result[name]}" for name in ("expected", "actual") if result[name]]
    return Verdict(False, " | ".join(parts))


def found(program: Path) -> Path:
    """The program's full path.

    Raises:
        FileNotFoundError: There is no such program.
    """
    path = shutil.which(program)
    if path is None:
        raise FileNotFoundError(f"{program} is no program")
    return Path(path).resolve()
