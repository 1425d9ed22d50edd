"""Replacements for characters that an output cannot show."""

from __future__ import annotations

import codecs
import sys
import unicodedata
from io import TextIOWrapper
from typing import TextIO

from retx.terminal.streams import json_output, protect

PLAIN, IN_JSON = "retx.plain", "retx.json"
"""Names of the error handlers. The first writes similar ASCII characters, the second JSON
escapes."""
REPLACEMENTS = {
    "×": "x", "·": "*", "±": "+-", "−": "-", "–": "-", "—": "-", "─": "-", "│": "|", "…": "...",
    "→": "->", "≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "√": "sqrt ", "§": "section ",
    "✓": "+", "µ": "u", "μ": "u", "ß": "ss", "“": '"', "”": '"', "‘": "'", "’": "'",
}  # fmt: skip
GREEK = "GREEK SMALL LETTER "


def replace_unencodable() -> None:
    """Replaces characters that an output cannot encode instead of raising an error."""
    codecs.register_error(PLAIN, _plainly)
    codecs.register_error(IN_JSON, _escaped)
    protect()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=PLAIN)


def output_of_json() -> TextIO:
    """Standard output for JSON, in which characters must not be replaced."""
    stream = json_output()
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors=IN_JSON)
    return stream


def replacement_for(character: str) -> str:
    """ASCII approximation of a character, or a question mark."""
    if character in REPLACEMENTS:
        return REPLACEMENTS[character]
    if "\udc80" <= character <= "\udcff":  # a byte of a file's name that is not UTF-8
        return f"\\x{ord(character) & 0xFF:02x}"
    name = unicodedata.name(character, "")
    if name.startswith(GREEK):
        return name.removeprefix(GREEK).lower()
    # Thin spaces are spaces, ü is u, ² is 2.
    parts = unicodedata.normalize("NFKD", character)
    if parts != character:
        return "".join(replacement_for(part) for part in parts if not unicodedata.combining(part))
    return character if character.isascii() else "?"


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(replacement_for, error.object[error.start : error.end])), error.end


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs), error.end
