"""Report of an internal error: a block of lines that a user can copy."""

from __future__ import annotations

import platform
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from traceback import extract_tb

from retx import _native
from retx.files.regular import read_regular

FRAMES = 4
"""Number of frames of the traceback that are shown, from the innermost outwards."""


def report(error: BaseException, arguments: Sequence[str]) -> str:
    """Text of the report: error, location, command, versions, and where to send it."""
    text = str(error).partition("\n")[0]
    lines = [
        f"internal error: {type(error).__name__}: {text}",
        "",
        "This is a fault of retx, not yours. Please report it: copy the lines below, add the",
        "scenario if you can, and open an issue in the repository that you have retx from.",
        "",
        f"    version   retx {_native.__version__}, engine {_native.ENGINE}",
        f"    command   {shlex.join(['retx', *arguments])}",
        f"    seed      {_seed(arguments)}",
        f"    platform  {platform.platform()}, Python {platform.python_version()}",
        f"    error     {type(error).__name__}: {text}",
        *(f"    {'where' if not number else '':9} {frame}" for number, frame in _frames(error)),
        "",
        "With --debug the command shows the whole traceback.",
    ]
    return "\n".join(lines)


def _frames(error: BaseException) -> list[tuple[int, str]]:
    """Frames as file, line and function, the innermost one first."""
    frames = extract_tb(error.__traceback__)[: -FRAMES - 1 : -1]
    shown = (f"{Path(it.filename).name}:{it.lineno} in {it.name}" for it in frames)
    return list(enumerate(shown))


def _seed(arguments: Sequence[str]) -> str:
    """Seed of the run, from `--seed` or the scenario, if either can be read."""
    joined = "\0".join(arguments)
    found = re.search(r"--seed[\0=]([^\0]+)", joined) or re.search(r"\0seed=([^\0]+)", joined)
    if found:
        return found[1]
    for word in arguments:
        if word.endswith(".toml"):
            with suppress(OSError, UnicodeDecodeError):
                text = read_regular(Path(word))
                stated = re.search(r"^\s*seed\s*=\s*(\S+)", text, re.MULTILINE)
                return stated[1] if stated else "the default"
    return "none"
