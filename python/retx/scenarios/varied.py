"""Parses `--vary KEY=VALUES` of `sweep` and `tune`.

- `KEY=A,B,C`: values, as for `--set`.
- `KEY=[1, 2]`: a list of values in TOML.
- `KEY=5..100`: numbers from 5 to 100; whole numbers, since both ends are.
- `KEY=5..100 ms:log:4`: the same range with a unit, as 4 values at equal ratios.
- `KEY={ from = 5, to = 100, steps = 4 }`: a range in the form of `[sweep]`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from retx.errors import UsageError
from retx.scenarios.assignment import assignment
from retx.scenarios.source import TomlText

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHOSEN_BY = ("model", "name", "discipline", "kind")
"""Keys whose value determines the kind of a table, such as a model."""
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
RANGE = re.compile(
    rf"\s*({NUMBER})\s*\.\.\s*({NUMBER})\s*([A-Za-zµ/%]*)\s*(:log)?\s*(?::(\d+))?\s*"
)
UNREAD = re.compile(rf"({NUMBER}\s*\.\.\s*{NUMBER}\s*[A-Za-zµ/%]*\s*(?::log)?\s*):([^,]*)")
"""A range that ends in something else."""
QUANTITY = re.compile(rf"\s*({NUMBER})\s*([A-Za-zµ/%]*)\s*")
OPENING, CLOSING = "[{", "]}"


@dataclass(frozen=True)
class Span:
    """Numbers from `low` to `high`, inclusive."""

    low: float
    high: float
    unit: str = ""
    log: bool = False
    steps: int | None = None
    """Number of values; None if any value in between may be chosen."""

    @property
    def whole(self) -> bool:
        """True if the span contains only whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def table(self) -> dict[str, object]:
        """Range as in `[sweep]`."""
        ends = (f"{it} {self.unit}" if self.unit else it for it in (self.low, self.high))
        found: dict[str, object] = dict(zip(("from", "to"), ends, strict=True))
        if self.steps is not None:
            found["steps"] = self.steps
        if self.log:
            found["scale"] = "log"
        return found | ({"round": True} if self.whole and not self.unit else {})

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.low}..{self.high}{unit}{':log' if self.log else ''}"


Varied = list[Any] | Span | dict[str, Any]
"""A list of values, a range, or a range in the form of `[sweep]`."""


def read_vary(word: str) -> tuple[str, Varied]:
    """Key and values of one `--vary`; values of a list without brackets are `TomlText`.

    Raises:
        UsageError: The text has none of the forms above.
    """
    key, text = assignment(word) or ("", "")
    if not text:
        raise UsageError(
            f'--vary {word}: write KEY=LOW..HIGH, KEY="5..100 ms:log" or KEY=A,B, such as '
            "flow.download.tcp=reno,cubic"
        )
    if text[0] == "[" or (text[0] == "{" and len(list(split_values(text))) == 1):
        found = _toml(word, text)
        return key, _checked(word, found)
    range_ = RANGE.fullmatch(text)
    if range_:
        low, high, unit, log, steps = range_.groups()
        count = int(steps) if steps else None
        return key, Span(number(low), number(high), unit, bool(log), count)
    if more := UNREAD.fullmatch(text):
        raise UsageError(
            f"--vary {word}: {more[2]!r} is unknown after the range {more[1].strip()}: only `:log` "
            "and a number of values are possible, such as 5..100:log:4"
        )
    if re.search(rf"{NUMBER}[^,\"']*\.\.\s*{NUMBER}", text):
        raise UsageError(
            f"--vary {word}: a range has two numbers, and one unit after the second: 5..100 ms"
        )
    values = [value.strip() for value in split_values(text)]
    if not all(values):
        raise UsageError(f"--vary {word}: a value is missing between commas")
    return key, [TomlText(value) for value in values]


def plain_value(value: object) -> object:
    """Python value; text that is not TOML remains text, as for `--set`."""
    if not isinstance(value, TomlText):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return str(value)


def value_name(value: object) -> str:
    """Value as shown to a reader; a table with a Python class becomes `Aimd, decrease = 0.8`."""
    table = plain_value(TomlText(str(value)))
    if not isinstance(table, dict):
        return str(value)
    name = next((table.pop(key) for key in CHOSEN_BY if key in table), None)
    if name == "python":
        table.pop("file", None)
        name = table.pop("class", name)
    words = [str(name)] if name is not None else []
    return ", ".join([*words, *(f"{key} = {it}" for key, it in table.items())])


def quantity(value: object) -> tuple[float, str] | None:
    """Number and unit of an end of a range; None if the value is not a quantity."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, ""
    found = QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return (number(found[1]), found[2]) if found else None


def number(text: str) -> float:
    """Number in a text: int if whole, otherwise float."""
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def read_grid_options(words: Sequence[str]) -> dict[str, Any] | None:
    """All `--vary` options of a sweep as a `[sweep]`; None without any.

    Raises:
        UsageError: An option is invalid, or a range lacks its number of values.
    """
    grid: dict[str, Any] = {}
    for word in words:
        key, varied = read_vary(word)
        if key in grid:
            raise UsageError(f"--vary {word}: {key} varies already: write one list")
        if isinstance(varied, Span):
            if varied.steps is None:
                raise UsageError(
                    f"--vary {word}: a sweep takes a number of values from a range: "
                    f'"{key}={varied}:5" takes 5'
                )
            grid[key] = varied.table
        elif isinstance(varied, list):
            grid[key] = [plain_value(value) for value in varied]
        else:
            grid[key] = varied
    return grid or None


def _toml(word: str, text: str) -> Any:  # noqa: ANN401
    try:
        return tomllib.loads(f"values = {text}")["values"]
    except tomllib.TOMLDecodeError:
        raise UsageError(
            f"--vary {word}: {text!r} is not TOML: texts within brackets need quotes: [0.1, 0.2], "
            '["reno", "cubic"]; without brackets they need none: reno,cubic'
        ) from None


def _checked(word: str, found: Any) -> Varied:  # noqa: ANN401
    """Parsed values, checked: a list, a range, or a list of one table.

    A table that is not a range is a single value, such as a choice with parameters.
    """
    if isinstance(found, list) and not found:
        raise UsageError(f"--vary {word}: the list is empty: write the values")
    if isinstance(found, dict) and not {"from", "to"} <= found.keys():
        return [found]
    varied: Varied = found
    return varied


def split_values(text: str) -> Iterator[str]:
    """Parts between commas outside quotes and brackets."""
    part, depth, quote = "", 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in OPENING) - (character in CLOSING)
        if character == "," and not quote and not depth:
            yield part
            part = ""
        else:
            part += character
    yield part
