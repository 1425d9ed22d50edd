"""Plays packetdrill scripts against retx's TCP in virtual time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from retx import _native
from retx.errors import UsageError
from retx.scenarios.source import override_pairs

LIMIT_BYTES = 1 << 20
"""Size limit of a script, far above the size of any real one. The limit ends the reading of endless
files such as /dev/zero.
"""


@dataclass(frozen=True)
class Drill:
    """Result of one script."""

    file: str
    """Path of the script."""
    verdict: str
    """`passed`; `failed` if the endpoint did something else; `refused` if the script could not be
    played."""
    line: int | None
    """Line at which the script failed or was refused, counted from 1."""
    message: str
    """Reason of the verdict."""
    expected: str | None
    """Event that the script expects at `line`."""
    actual: str | None
    """Event that happened instead, in the notation of scripts."""
    printed: list[str]
    """Output of the script's code blocks."""
    trace: list[str]
    """Packets and calls with their times, if they were requested."""
    simulated_s: float
    """Virtual time that has passed."""

    @property
    def passed(self) -> bool:
        """True if the endpoint did everything that the script expects."""
        return self.verdict == "passed"

    def to_dict(self) -> dict[str, Any]:
        """Result as plain data."""
        return asdict(self)


def drill(
    *paths: str | os.PathLike[str],
    tcp: str = "reno",
    overrides: Mapping[str, Any] | None = None,
    trace: bool = False,
) -> Iterator[Drill]:
    """Plays scripts one after another.

    Args:
        paths: Files, and directories whose `.pkt` files are all played, in the order of their
            names.
        tcp: Preset for scripts that name none with `--retx-tcp`.
        overrides: Fields of the preset, such as `{"delayed_ack.segments": 1}`.
        trace: Keep packets and calls with their times.

    Raises:
        OSError: A file cannot be read.
        UsageError: A directory has no scripts, a file is not text, or the TCP is unknown.
    """
    settings = override_pairs(overrides)
    _check(tcp, settings)
    for path in _files(paths):
        played = _native.play_drill(_text(path), tcp, settings, trace=trace)
        yield Drill(
            str(path),
            played.verdict,
            played.line,
            played.message,
            played.expected,
            played.actual,
            played.printed,
            played.trace,
            played.simulated_s,
        )


NOTHING = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
"""Script that every TCP passes. It is played to check whether the settings of the TCP are valid."""


def _check(tcp: str, settings: list[tuple[str, str]]) -> None:
    """Refuses an invalid TCP before any script is played, so that the error names no script."""
    played = _native.play_drill(NOTHING, tcp, settings, trace=False)
    if played.verdict != "passed":
        raise UsageError(played.message)


def _files(paths: tuple[str | os.PathLike[str], ...]) -> Iterator[Path]:
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.rglob("*.pkt"))
        if not found:
            raise UsageError(f"{path}: there is no .pkt file in this directory")
        yield from found


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LIMIT_BYTES + 1)
    if len(content) > LIMIT_BYTES:
        raise UsageError(f"{path}: larger than {LIMIT_BYTES >> 20} MiB, the limit for a script")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}:{line}: not text: byte 0x{content[error.start]:02x} is not UTF-8"
        ) from None
