#!/usr/bin/env python3
"""Runs scripts of drills/linux on the kernel of this machine, with packetdrill.

    tools/certify.py --packetdrill PATH [--runs 10] [SCRIPT or DIRECTORY]…

PATH is google's packetdrill (github.com/google/packetdrill, built by `./configure && make` in
gtests/net/packetdrill), or its checkout. Each run has a separate network namespace, which no
traffic leaves and which is removed afterwards. Needs Linux, root, /dev/net/tun, iproute2 and
python3.

The scripts are unchanged, except that flags of retx are removed. The preset determines the
congestion control of the kernel: Reno for `linux_reno`, BBR for `linux_bbr`, else CUBIC. Timers of
the kernel are late, by up to an eighth with HZ = 250. The scripts contain ranges for this, which a
busy machine may miss.

Exit code 0: every run of every script passed. 1: a run failed. 2: no script could be run.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

DRILLS = Path(__file__).parents[1] / "drills" / "linux"
IN_CHECKOUT = ("packetdrill", "gtests/net/packetdrill/packetdrill")

# A route's congestion control holds for a namespace, too, where the setting would be refused. No
# queueing discipline that paces, and no memory of earlier runs.
PREPARE = """\
#!/bin/sh
set -e
ip tcp_metrics flush all >/dev/null 2>&1 || true
ip -4 route change $(ip -4 route show | grep via) congctl lock {congestion_control}
tc qdisc add dev tun0 root pfifo
"""


def main() -> int:
    """Plays them all; the exit code."""
    arguments = parsed()
    tool = packetdrill(arguments.packetdrill)
    scripts = sorted(found(arguments.scripts or [DRILLS]))
    if not scripts:
        refuse("no .pkt files there")
    print(f"Linux {platform.release()}, {arguments.runs} runs each")
    failed = 0
    for script in scripts:
        faults = [fault for _ in range(arguments.runs) if (fault := played(tool, script))]
        passed = arguments.runs - len(faults)
        failed += bool(faults)
        print(f"{script}: {passed} of {arguments.runs}", flush=True)
        for fault in sorted(set(faults))[:3]:
            print("    " + fault.replace("\n", "\n    "))
    return 1 if failed else 0


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--packetdrill", required=True, type=Path, metavar="PATH")
    parser.add_argument("--runs", type=int, default=10, metavar="N")
    parser.add_argument("scripts", nargs="*", type=Path, metavar="SCRIPT")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error(f"--runs {arguments.runs}: at least 1")
    return arguments


def refuse(message: str) -> NoReturn:
    """Ends with a message and exit code 2."""
    print(f"tools/certify.py: {message}", file=sys.stderr)
    raise SystemExit(2)


def packetdrill(path: Path) -> Path:
    """Path of packetdrill, after a check that all its requirements are met."""
    if platform.system() != "Linux" or os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        refuse("needs Linux, root and /dev/net/tun")
    for candidate in (path, *(path / name for name in IN_CHECKOUT)):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    refuse(f"--packetdrill {path}: no program packetdrill there; is it built?")


def found(paths: list[Path]) -> set[Path]:
    """The scripts at these paths, including those in directories."""
    scripts: set[Path] = set()
    for path in paths:
        if not path.exists():
            refuse(f"{path}: does not exist")
        scripts.update(path.rglob("*.pkt") if path.is_dir() else [path])
    return scripts


def played(tool: Path, script: Path) -> str:
    """Error message of a script; empty if it passed."""
    namespace = f"certify-{os.getpid()}"
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / script.name
        copy.write_text(for_the_kernel(script.read_text(encoding="utf-8"), Path(directory)))
        subprocess.run(["ip", "netns", "add", namespace], check=True)
        try:
            subprocess.run(["ip", "-netns", namespace, "link", "set", "lo", "up"], check=True)
            command = ["ip", "netns", "exec", namespace, tool, "--ip_version=ipv4", copy]
            run = subprocess.run(command, capture_output=True, text=True)
        finally:
            subprocess.run(["ip", "netns", "delete", namespace], check=True)
        said = (run.stdout + run.stderr).replace(f"{directory}/", "").strip()
    return (said or f"exit code {run.returncode}") if run.returncode else ""


def for_the_kernel(text: str, directory: Path) -> str:
    """Text of a script without retx's flags, whose first command prepares the namespace."""
    control = next((it for it in ("reno", "bbr") if f"--retx-tcp=linux_{it}" in text), "cubic")
    prepare = directory / "prepare.sh"
    prepare.write_text(PREPARE.format(congestion_control=control))
    prepare.chmod(0o755)
    # Lines keep their numbers.
    lines = ["" if line.startswith("--retx-") else line for line in text.split("\n")]
    first = next(n for n, line in enumerate(lines) if line and not line.startswith(("//", "--")))
    if lines[first].startswith("`"):
        lines[first] = f"`{prepare}; {lines[first][1:]}"
    else:
        lines[first] = f"`{prepare}` {lines[first]}"
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
