r"""Protects the output from control characters in foreign texts.

Scripts, file names, scenarios and stores may contain escape sequences, which move the cursor,
change the title or the colours of a terminal, or hide text. `protect` makes the standard streams
show such characters as escapes (`\x1b`). retx's own control sequences are written through
`unfiltered`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO, cast

WIDTH = 120
"""Width in columns of output to a file or pipe, where no terminal gives a width."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All control characters except tab and line feed."""
MARK = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Marks that change the direction of text. One pattern for all characters would take a fraction of
a millisecond to compile.
"""


def clean(text: str) -> str:
    """Text with control characters shown as escapes."""
    return _escaped(text, "\\x{:02x}")


def _escaped(text: str, form: str) -> str:
    text = CONTROL.sub(lambda found: _escape(found[0], form), text)
    return text if text.isascii() else MARK.sub(lambda found: _escape(found[0], form), text)


def _escape(character: str, form: str) -> str:
    number = ord(character)
    return form.format(number) if number < 0x100 else f"\\u{number:04x}"


class _CleanStream(TextIOWrapper):
    """Text stream whose `write` shows control characters as escapes."""

    as_json = False

    def write(self, text: str) -> int:
        form = "\\u{:04x}" if self.as_json else "\\x{:02x}"
        return super().write(_escaped(text, form))


class _Unfiltered:
    """Stream without the filter."""

    def __init__(self, stream: TextIOWrapper) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def protect() -> None:
    """Makes the standard output and error streams show control characters as escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if type(stream) is TextIOWrapper:
            clean_stream = _CleanStream(
                stream.detach(),
                encoding=stream.encoding,
                errors=stream.errors,
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            )
            setattr(sys, name, clean_stream)


class _Reserved:
    """Standard output that is reserved for JSON: everything printed goes to the standard error."""

    def __init__(self, json: TextIO) -> None:
        self.json = json

    def __getattr__(self, name: str) -> object:
        return getattr(sys.stderr, name)


@contextmanager
def reserved_output() -> Iterator[None]:
    """Sends what user code prints to the standard error; `json_output` is the standard output."""
    stdout = sys.stdout
    sys.stdout = reserved = cast("TextIO", _Reserved(stdout))
    try:
        yield
    finally:
        if sys.stdout is reserved:
            sys.stdout = stdout
        else:  # click has wrapped the stream, as its pipe is closed
            vars(sys.stdout)["wrapped"] = stdout


def json_output() -> TextIO:
    """Standard output, which from then on escapes control characters as JSON does."""
    stream: TextIO = getattr(sys.stdout, "json", sys.stdout)
    if isinstance(stream, _CleanStream):
        stream.as_json = True
    return stream


def unfiltered(stream: TextIO) -> TextIO:
    """Stream for retx's own control sequences."""
    return cast("TextIO", _Unfiltered(stream)) if isinstance(stream, _CleanStream) else stream


def show_status(text: str, end: str = "") -> None:
    """Shows a line on the terminal that replaces the previous one."""
    stream = unfiltered(sys.stderr)
    stream.write(f"\r\x1b[2K{clean(text)}{end}")
    stream.flush()


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints a text at once, so that it keeps its place among the other stream's lines."""
    print(text, end="\n" if nl else "", file=sys.stderr if err else sys.stdout, flush=True)
