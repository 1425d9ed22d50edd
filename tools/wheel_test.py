#!/usr/bin/env python3
"""Installs a wheel in an environment with only Python, and uses the command as documented.

    tools/wheel_test.py WHEEL [--python python3.12] [--quick]

Creates an empty virtual environment; the only environment variables are HOME and PATH, without Rust
on the PATH. Fails if a command fails, or if the first answer of `retx why` takes longer than a
minute from the beginning of the installation.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST_ANSWER_S = 60.0
WINDOWS = sys.platform == "win32"

DRILL = """\
0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0  bind(3, ..., ...) = 0
+0  listen(3, 1) = 0
+0  < S 0:0(0) win 32792 <mss 1000>
+0  > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 257
+0  accept(3, ..., ...) = 4
"""

COMMANDS = (
    "retx init",
    "retx why scenario.toml",
    "retx run scenario.toml --out run --plot cwnd --json",
    "retx drill handshake.pkt",
    "retx sweep scenario.toml --vary link.radio.forward.channel.p=0,0.01 --out sweep",
)
SLOW = ("retx study high-ber --quick --out study",)
LEAVES = ("scenario.toml", "run/summary.json", "run/cwnd.png", "sweep")
"""Files that must exist at the end."""


class Bare:
    """A virtual environment in a separate directory, and nothing else."""

    def __init__(self, home: Path, python: str) -> None:
        self.home = home
        self.bin = home / "venv" / ("Scripts" if WINDOWS else "bin")
        path = os.pathsep.join([str(self.bin), *(() if WINDOWS else ("/usr/bin", "/bin"))])
        self.environment = {"HOME": str(home), "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        if WINDOWS:  # Python does not start without
            self.environment |= {"SYSTEMROOT": os.environ["SYSTEMROOT"], "USERPROFILE": str(home)}
        for tool in ("cargo", "rustc"):
            if found := shutil.which(tool, path=path):
                sys.exit(f"{found} is on the bare PATH: this would not show that no Rust is needed")
        subprocess.run([python, "-m", "venv", home / "venv"], check=True)

    def call(self, command: list[str], settings: dict[str, str] | None = None) -> float:
        """Runs a command and returns how long it took; ends the test if it fails."""
        print("$", *command, flush=True)
        begin = time.monotonic()
        program = shutil.which(command[0], path=self.environment["PATH"]) or command[0]
        done = subprocess.run(
            [program, *command[1:]],
            cwd=self.home,
            env=self.environment | (settings or {}),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        seconds = time.monotonic() - begin
        if done.returncode:
            sys.exit(
                f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
            )
        print(f"  {seconds:.1f} s", flush=True)
        return seconds


def main() -> None:
    """Reads the command line, and ends with 1 and a sentence if a step fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=getattr(sys, "_base_executable", sys.executable))
    parser.add_argument("--quick", action="store_true", help="without the study")
    options = parser.parse_args()
    # Settings of pip, such as a mirror of the package index, are not part of the test.
    settings = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_"))}
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        settings |= {key: os.environ[key] for key in (name, name.upper()) if key in os.environ}
    if configuration := next((path for path in pip_files() if path.is_file()), None):
        settings.setdefault("PIP_CONFIG_FILE", str(configuration))

    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        bare = Bare(home, options.python)
        (home / "handshake.pkt").write_text(DRILL)
        wheel = str(options.wheel.resolve())
        first = bare.call(["python", "-m", "pip", "install", "--quiet", wheel], settings)
        for command in (*COMMANDS, *(() if options.quick else SLOW)):
            seconds = bare.call(command.split())
            first += seconds if command in COMMANDS[:2] else 0
        for name in LEAVES:
            if not (home / name).exists():
                sys.exit(f"{name} is missing")
    print(f"From the wheel to the first answer of retx why: {first:.0f} s")
    if first > FIRST_ANSWER_S:
        sys.exit(f"That is more than {FIRST_ANSWER_S:.0f} s.")


def pip_files() -> list[Path]:
    """Files in which pip looks for settings of the user and of the machine."""
    home = Path.home()
    return [home / ".config/pip/pip.conf", home / ".pip/pip.conf", Path("/etc/pip.conf")]


if __name__ == "__main__":
    main()
