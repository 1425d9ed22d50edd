"""Changes scripts where today's Linux, or retx, differs from the system that they were written for.

README.md lists the changes and their reasons.
"""

from __future__ import annotations

import re

from conformance.scripts import Script

NUMBERS = r"(\d+):(\d+)\((\d+)\)"
INBOUND_DATA = re.compile(rf"^[+\d.]+\s+<\s+(?P<flags>[FPS.]+)\s+{NUMBERS}")
OUTBOUND = re.compile(r"^[+\d.]+\s+>")


RACK_TIMER = {
    "fr-4pkt-fack-last-mss.pkt",
    "sack-shift-sacked-7-3-4-8-9-fack.pkt",
    "sack-shift-sacked-7-5-6-8-9-fack.pkt",
}
"""Scripts that wait for RACK's reordering timer."""


def adapted(script: Script) -> str:
    """The text to play."""
    text = script.text
    if script.project == "nplab":
        text = text.replace("wscale 6>", "wscale 8>")
        if script.path.name == "undo-fr-acks-dropped-then-dsack.pkt":
            text = with_growth_after_undo(text)
        text = with_defaults(text)
    elif script.project == "freebsd":
        text = with_defaults(for_linux_receiver(text))
    if script.path.name in RACK_TIMER:
        text = f"--tolerance_usecs=10000\n{text}"
    return without_push(without_restoring(text))


def without_push(text: str) -> str:
    """Removes PSH: the segment that carries it depends on the segmentation of a write."""
    return re.sub(r"(>\s+(?:\[\w+\]\s+)?)P\.", r"\1.", text)


def without_restoring(text: str) -> str:
    """Removes commands that restore settings, because no setting of the machine was changed."""
    return re.sub(r"^`/tmp/sysctl_restore_\$\{PPID\}\.sh`\s*$", "", text, flags=re.MULTILINE)


def with_defaults(text: str) -> str:
    """Inserts the initial settings of Google's scripts, after the flags."""
    lines = text.splitlines()
    flags = [number for number, line in enumerate(lines) if line.startswith("--")]
    after = flags[-1] + 1 if flags else 0
    return "\n".join([*lines[:after], "`../common/defaults.sh`", *lines[after:], ""])


def with_growth_after_undo(text: str) -> str:
    """Adds growth of the window by acknowledged data after an undone reduction (Linux 6.18)."""
    before, after = text.split("// Receiver sends DSACK", maxsplit=1)
    after = after.replace("tcpi_snd_cwnd == 10", "tcpi_snd_cwnd == 18")
    after = after.replace("tcpi_unacked == 10", "tcpi_unacked == 11")
    return f"{before}// Receiver sends DSACK{after}"


def for_linux_receiver(text: str) -> str:
    """Adapts a script for FreeBSD's receiver to the replies of Linux."""
    text = re.sub(r"^.*`sysctl [^`]*`\n", "", text, flags=re.MULTILINE)
    text = text.replace("--tolerance_usecs=10000", "--tolerance_usecs=50000")
    text = re.sub(r"(>\s+S\.\s.*)<mss 1460,sackOK,eol,eol>", r"\1<mss 1460,nop,nop,sackOK>", text)
    # The buffer space of a segment differs between systems.
    text = re.sub(r"(>.*) win \d+", r"\1", text)
    return "\n".join(acknowledging_each(text.splitlines())) + "\n"


def acknowledging_each(lines: list[str]) -> list[str]:
    """Linux acknowledges the first segments of a connection one by one (quick ACKs)."""
    received: set[int] = set()
    result: list[str] = []
    promised = ""
    for number, line in enumerate(lines):
        if promised and OUTBOUND.match(line) and f"ack {promised}" in re.sub(r"\s+", " ", line):
            # The acknowledgment may arrive as late as that of FreeBSD.
            promised = ""
            continue
        result.append(line)
        segment = INBOUND_DATA.match(line)
        if not segment or "S" in segment["flags"]:
            continue
        promised = ""
        first, last = int(segment[2]), int(segment[3])
        if first == last:
            continue
        received.update(range(first, last))
        if not OUTBOUND.match(lines[number + 1]):
            promised = str(next_missing(received))
            result.append(f"+0.00 > . 1:1(0) ack {promised}")
    return result


def next_missing(received: set[int]) -> int:
    """The smallest number, from 1, that has not been received."""
    number = 1
    while number in received:
        number += 1
    return number
