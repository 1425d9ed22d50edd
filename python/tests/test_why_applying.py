"""Lines of `retx why` that apply a remedy, given to the kernel of this machine in a namespace."""

from __future__ import annotations

import errno
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

import retx
from retx.analysis.limits import KEYS
from retx.explaining.proposals import proposals
from retx.explaining.remedies.congestion_control import FURTHER, MODULES, use_command
from retx.explaining.situation import Situation

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("why-*.toml"))
SET_UP = """
ip link add dev0 type veth peer name dev1
ip link set dev0 up
ip link set dev1 up
ip address add 10.0.0.1/24 dev dev0
ip route add default via 10.0.0.2
ip route add 10.9.0.0/16 via 10.0.0.2
"""
PLACES = {"DEV": "dev0", "PREFIX": "10.9.0.0/16", "GATEWAY": "10.0.0.2"}
NOT_HERE = (
    "kind is unknown",
    "cannot stat",
    "No such file or directory",
    "Unknown tcp congestion algorithm",
    # A namespace may choose only what `net.ipv4.tcp_allowed_congestion_control` lists.
    'tcp_congestion_control": Operation not permitted',
)
"""Parts of messages about things that a kernel may lack or refuse; other messages are faults."""
COMMAND = r'(?:sysctl -w|ip route change|tc qdisc|modprobe) (?:[^",]|"[^"]*")*'
LACKS = (errno.ENOPROTOOPT, errno.ENOENT, errno.EPERM)
"""Faults of an older kernel, and of a congestion control that is not loaded or not permitted."""
OPTION = r'setsockopt\(fd, (\w+), (\w+), (?:"(\w+)", (\d+)|(\d+))\)'
NUMBERS = {"TCP_THIN_LINEAR_TIMEOUTS": 16, "TCP_RTO_MAX_MS": 44}
"""Options without a name in Python's `socket` (include/uapi/linux/tcp.h)."""
SHIPPED = {
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
    "reno", "scalable", "vegas", "veno", "westwood", "yeah",
}  # fmt: skip
"""Congestion controls of Linux 6.18 (`net/ipv4/Kconfig`)."""


@pytest.fixture(scope="module")
def lines() -> set[str]:
    """Lines of every remedy for every question, whatever its shares are."""
    found: set[str] = set()
    for path in SCENARIOS:
        result = retx.run(path, overrides={"duration": "1 s"}, tables=False, segments=False)
        every = dict.fromkeys(KEYS, 1 / len(KEYS))
        here = Situation(result.scenario, result.scenario["flow"][0], every, result.summary)
        found |= {line for trial in proposals(here)[0] for line in trial.apply}
    return found


def in_namespace(script: str) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "--net", "bash", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_kernel_takes_every_command(lines: set[str]) -> None:
    tools = ("unshare", "ip", "tc", "sysctl")
    if not all(map(shutil.which, tools)) or in_namespace(SET_UP).returncode:
        pytest.skip("this machine does not let anybody make a namespace of the network")
    whole = [match for line in lines for match in re.findall(COMMAND, line)]
    # No module is loaded for a test: a congestion control that is not there is not judged.
    commands = sorted({re.sub(r"modprobe \w+; ", "", it).strip() for it in whole})
    assert len(commands) > 50
    script = SET_UP
    for number, command in enumerate(commands):
        for place, here in PLACES.items():
            command = command.replace(place, here)
        script += f"tc qdisc del dev dev0 root 2>/dev/null\nout=$( ( {command} ) 2>&1 )\n"
        script += f'echo "{number} $?" $out\n'
    done = in_namespace(script)
    results = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert [int(number) for number, *_ in results] == list(range(len(commands))), done.stderr
    failed = {
        commands[int(number)]: " ".join(said)
        for number, status, *said in results
        if status != "0" and not any(lack in " ".join(said) for lack in NOT_HERE)
    }
    assert not failed
    taken = {commands[int(number)].split()[0] for number, status, *_ in results if status == "0"}
    assert {"sysctl", "ip", "tc"} <= taken


def test_every_module_to_load_is_one_of_linux(lines: set[str]) -> None:
    """Reno is part of TCP itself: `modprobe tcp_reno` fails."""
    modules = {name for line in lines for name in re.findall(r"modprobe (\w+)", line)}
    assert modules == {f"tcp_{name}" for name in SHIPPED if name != "reno"}


def test_every_congestion_control_of_linux_has_its_lines(lines: set[str]) -> None:
    assert {*MODULES, *FURTHER, "dctcp"} == SHIPPED
    for name in SHIPPED:
        for wanted in (use_command(name), f"congctl {name}"):
            assert any(line.endswith(wanted) for line in lines), wanted


def test_the_kernel_takes_every_socket_option(lines: set[str]) -> None:
    options = {match for line in lines for match in re.findall(OPTION, line)}
    assert len(options) > 10
    taken = 0
    for level, name, word, length, number in sorted(options):
        assert not word or len(word) == int(length)
        value = word.encode() if word else int(number)
        option = NUMBERS.get(name) or getattr(socket, name)
        with socket.socket() as sock:
            try:
                sock.setsockopt(getattr(socket, level), option, value)
                taken += 1
            except OSError as error:
                if error.errno not in LACKS:
                    raise
    assert taken
