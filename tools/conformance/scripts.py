"""The scripts, and their places in the checkouts of their projects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDERS = {
    "google": "gtests/net/tcp",
    "linux": "tools/testing/selftests/net/packetdrill",
    "nplab": "gtests/net/packetdrill/tests/linux",
    "freebsd": "rcv-data-segments",
}
"""The projects, each with the folder of its scripts: google/packetdrill, torvalds/linux,
nplab/packetdrill, freebsd-net/tcp-testsuite."""

MUST_PASS = {
    "google": """
        cubic/cubic-rto-ss-ca-cwnd-bump
        cwnd_moderation/cwnd-moderation-disorder-no-moderation
        fast_recovery/prr-ss-10pkt-lost-1
        fast_recovery/prr-ss-30pkt-lost-1_4-11_16
        fast_recovery/prr-ss-30pkt-lost1_4
        fast_recovery/prr-ss-ack-below-snd_una-cubic
        fast_retransmit/fr-4pkt
        fast_retransmit/fr-4pkt-fack-last-byte
        fast_retransmit/fr-4pkt-fack-last-mss
        fast_retransmit/fr-4pkt-sack
        limited_transmit/limited-transmit-no-sack
        limited_transmit/limited-transmit-sack
        sack/sack-shift-sacked-2-6-8-3-9-nofack
        sack/sack-shift-sacked-7-3-4-8-9-fack
        sack/sack-shift-sacked-7-5-6-8-9-fack
        slow_start/slow-start-ack-per-1pkt
        slow_start/slow-start-ack-per-2pkt
        slow_start/slow-start-ack-per-2pkt-send-5pkt
        slow_start/slow-start-ack-per-2pkt-send-6pkt
        slow_start/slow-start-ack-per-4pkt
        slow_start/slow-start-after-idle
        slow_start/slow-start-after-win-update
        slow_start/slow-start-app-limited
        slow_start/slow-start-app-limited-9-packets-out
    """,
    "linux": "tcp_basic_client tcp_basic_server tcp_dsack_mult",
    "nplab": """
        init_rto/init_rto_passive_open
        initial_window/iw10-base-case
        initial_window/iw10-short-response
        sack/sack-shift-sacked-1-2-3-fack
        sack/sack-shift-sacked-1-2:6-fack
        undo/undo-fr-ack-then-dsack-on-ack-below-snd_una
        undo/undo-fr-acks-dropped-then-dsack
    """,
}
"""Scripts that Linux 6.18 passes as a sender: all must pass."""

RECEIVER = ("overlapping-*.pkt", "reordering-*.pkt")
"""Scripts for a receiver, of `freebsd`. The kernel passes 215 of the 217 scripts."""

RECEIVER_COUNT, RECEIVER_MUST_PASS = 217, 215


class MissingError(Exception):
    """A checkout or a script is missing."""


@dataclass(frozen=True)
class Script:
    """A script of another project."""

    project: str
    """The project, as `FOLDERS` has it."""
    path: Path
    """Below the project's folder of scripts."""
    text: str
    """Original text of the script."""

    @property
    def is_receiver(self) -> bool:
        """True for a receiver script; not all of these must pass."""
        return self.project == "freebsd"


def find(checkouts: Mapping[str, Path]) -> list[Script]:
    """All scripts, in the order of the lists.

    Raises:
        MissingError: A checkout lacks a script.
    """
    scripts = []
    for project, names in MUST_PASS.items():
        folder = folder_of(project, checkouts[project])
        for name in names.split():
            path = Path(f"{name}.pkt")
            if not (folder / path).is_file():
                raise MissingError(
                    f"{folder / path} is not there: is {project}'s checkout complete?"
                )
            scripts.append(Script(project, path, (folder / path).read_text(encoding="utf-8")))
    folder = folder_of("freebsd", checkouts["freebsd"])
    found = sorted(path for pattern in RECEIVER for path in folder.glob(pattern))
    if len(found) != RECEIVER_COUNT:
        raise MissingError(
            f"{folder} has {len(found)} scripts of the receiver, not {RECEIVER_COUNT}"
        )
    for path in found:
        scripts.append(Script("freebsd", Path(path.name), path.read_text(encoding="utf-8")))
    return scripts


def folder_of(project: str, checkout: Path) -> Path:
    """Folder of a checkout that holds its scripts.

    Raises:
        MissingError: It has no such folder.
    """
    folder = checkout / FOLDERS[project]
    if not folder.is_dir():
        raise MissingError(f"{project}: {checkout} has no folder {FOLDERS[project]}")
    return folder
