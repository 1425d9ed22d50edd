"""Reads the TOML files of a study into dataclasses; an error names the file and the key."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from retx.errors import UsageError
from retx.files.regular import read_regular

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")


class StudyError(UsageError):
    """A file of a study is invalid; the message says where and why."""


class Printed(float):
    """Number with its text, whose last digit determines the rounding."""

    text: str

    def __new__(cls, text: str) -> Printed:
        """Reads a number."""
        made = super().__new__(cls, text)
        made.text = text
        return made


@dataclass(frozen=True)
class Target:
    """A published number."""

    value: float
    rounding: float = 0.0
    """Maximum difference between `value` and the unrounded number."""


def last_digit(value: float) -> float:
    """Size of one unit in the last digit of a number as written; 0 for a computed number."""
    if isinstance(value, int):
        return 1.0
    if not isinstance(value, Printed):
        return 0.0
    mantissa, _, exponent = value.text.lower().replace("_", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals))


def rounded(value: float) -> Target:
    """A published number as target, with a rounding of half a unit of its last digit."""
    return Target(float(value), last_digit(value) / 2)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file; numbers with a decimal point keep their digits (`Printed`).

    Raises:
        StudyError: The file is missing, or is not TOML.
    """
    try:
        text = read_regular(path)
        tables: dict[str, Any] = tomllib.loads(text, parse_float=Printed)
    except FileNotFoundError:
        raise StudyError(f"{path}: a study needs this file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {error}") from None
    return tables


def read_head(path: Path) -> dict[str, Any]:
    """The tables before the first list of tables (`[[…]]`).

    Reading only these is ten times as fast as reading the whole file.

    Raises:
        StudyError: The file is missing, or is not TOML.
    """
    try:
        head = read_regular(path).partition("\n[[")[0]
        tables: dict[str, Any] = tomllib.loads(head)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return read_toml(path)
    return tables


def build(made: type[T], values: object, where: str) -> T:
    """An instance of a dataclass from a table with the same keys.

    Raises:
        StudyError: A key is unknown or missing, or the dataclass refuses a value.
    """
    if not isinstance(values, Mapping):
        raise StudyError(f"{where}: expected a table; found {values!r}")
    known = {field.name: field for field in fields(made)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise StudyError(f"{where}.{unknown[0]}: unknown key (keys here: {', '.join(known)})")
    for name, field in known.items():
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and name not in values:
            raise StudyError(f"{where}: lacks `{name}`")
    try:
        return made(**values)
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from None


def check_address(url: object) -> None:
    """Refuses addresses that would be run as code in a report, such as `javascript:`.

    Raises:
        StudyError: The value is neither empty nor a web address.
    """
    if url and not (isinstance(url, str) and re.match(r"https?://", url)):
        raise StudyError(f"paper.url: {url!r} is refused: write https://… or http://…")
