"""Reads the TOML files of a study into dataclasses; an error names the file and the key."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from math import isclose
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from retx.errors import UsageError
from retx.errors.meant import meant
from retx.files.regular import read_regular

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")


class StudyError(UsageError):
    """A file of a study is invalid; the message says where and why."""


@contextmanager
def located(where: str) -> Iterator[None]:
    """Adds the place, such as file and key, to an error."""
    try:
        yield
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from None


def unknown(what: str, name: str, known: Iterable[str], *, listed: bool = True) -> str:
    """Message about a name that does not exist: the nearest name, and those that exist.

    Args:
        what: Kind of thing that the name should name.
        name: The name.
        known: The existing names.
        listed: False if there are too many names for a message.
    """
    there = sorted(known, key=str.casefold) if isinstance(known, set) else list(known)
    hint = meant(name, there)
    names = f" (there are: {', '.join(there) or 'none'})" if listed else ""
    return f"no {what} {name!r}{hint}{names}"


def look_up(what: str, name: str, known: Mapping[str, T], *, listed: bool = True) -> T:
    """The value with a name; the arguments are those of `unknown`.

    Raises:
        StudyError: There is no such name.
    """
    if name not in known:
        raise StudyError(unknown(what, name, known, listed=listed))
    return known[name]


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


def same(there: object, wanted: object) -> bool:
    """True if two values agree to nine digits, the precision of the values of a range."""
    if isinstance(there, float) and isinstance(wanted, int | float):
        return isclose(there, wanted, rel_tol=1e-8)
    return there == wanted


def read_toml(path: Path, *, optional: bool = False) -> dict[str, Any]:
    """The tables of a file; numbers with a decimal point keep their digits (`Printed`).

    Args:
        path: The file.
        optional: True if a missing file has no tables.

    Raises:
        StudyError: The file is missing, or is not TOML.
    """
    if optional and not path.is_file():
        return {}
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
    """An instance of a dataclass from a table with the same keys, whose values have its types.

    A field whose name is a word of Python ends in `_`; its key in the file does not. The function
    `check_keys` of a dataclass may refuse keys that do not belong together.

    Raises:
        StudyError: A key is unknown or missing, or a value is refused.
    """
    if not isinstance(values, Mapping):
        raise StudyError(f"{where}: expected a table; found {values!r}")
    check_keys: Callable[..., None] | None = getattr(made, "check_keys", None)
    if check_keys:
        check_keys(values, where)
    known = {field.name.rstrip("_"): field for field in fields(made)}  # type: ignore[arg-type]
    strange = sorted(set(values) - set(known))
    if strange:
        keys = ", ".join(known)
        raise StudyError(f"{_within(where, strange[0])}: unknown key (keys here: {keys})")
    given: dict[str, Any] = {}
    for key, field in known.items():
        if key in values:
            hint = _hints(made)[field.name]
            given[field.name] = _typed(values[key], hint, _within(where, key))
        elif field.default is MISSING and field.default_factory is MISSING:
            raise StudyError(f"{where}: lacks `{key}`")
    with located(where):
        return made(**given)


def read_file(made: type[T], path: Path, *, optional: bool = False) -> T:
    """A file as an instance of a dataclass; `optional` for a file that may be missing.

    Raises:
        StudyError: The file is missing, is not TOML, or a key or a value is wrong.
    """
    return build(made, read_toml(path, optional=optional), str(path))


_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)
WORDS: Mapping[Any, str] = {
    str: "a text", float: "a number", int: "a whole number", bool: "true or false",
    list: "a list", dict: "a table",
}  # fmt: skip
"""Types of values as readers of a file know them."""


def _within(where: str, key: str) -> str:
    """Place of a key; a file and its keys are separated by a colon."""
    return f"{where}.{key}" if ": " in where else f"{where}: {key}"


def _typed(value: Any, hint: Any, where: str) -> Any:  # noqa: ANN401
    """A value of the type of a field; tables become dataclasses where the field has these."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    tables: list[Any] = [option for option in options if is_dataclass(option)]
    if tables and isinstance(value, Mapping):
        # A table is of the kind whose first key it has, and otherwise of the last kind.
        named = (it for it in tables if fields(it)[0].name.rstrip("_") in value)
        return build(next(named, tables[-1]), value, where)
    for option in options:
        kind: Any = get_origin(option) or option
        inside = get_args(option)
        if kind is Any:
            return value
        if kind is Literal:
            if value not in inside:
                key = where.rpartition(".")[2]
                raise StudyError(f"{where}: {unknown(key, str(value), filter(None, inside))}")
            return value
        number = kind is float and isinstance(value, int)
        if not (isinstance(value, kind) or number) or isinstance(value, bool) is not (kind is bool):
            continue
        if kind is list and inside:
            return [_typed(it, inside[0], f"{where}[{n}]") for n, it in enumerate(value)]
        if kind is dict and inside:
            return {key: _typed(it, inside[1], f"{where}.{key}") for key, it in value.items()}
        return value
    words = [WORDS.get(get_origin(it) or it, "a table" if it in tables else "") for it in options]
    wanted = " or ".join(dict.fromkeys(filter(None, words)))
    raise StudyError(f"{where}: expected {wanted}; found {value!r}")


def check_address(url: object) -> None:
    """Refuses addresses that would be run as code in a report, such as `javascript:`.

    Raises:
        StudyError: The value is neither empty nor a web address.
    """
    if url and not (isinstance(url, str) and re.match(r"https?://", url)):
        raise StudyError(f"paper.url: {url!r} is refused: write https://… or http://…")
