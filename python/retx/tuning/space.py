"""What a tuning may vary: ranges of numbers, with a unit or without, and choices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retx.assignment import assignment
from retx.errors import UsageError
from retx.source import TomlText

if TYPE_CHECKING:
    import optuna

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"\s*({NUMBER})\s*\.\.\s*({NUMBER})\s*([A-Za-zµ/]*)\s*(:log)?\s*")


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; whole ones when both are.

    With a unit, `Range(5, 100, "ms")`, they are written as scenarios have them. `log` searches
    evenly over orders of magnitude.
    """

    low: float
    high: float
    unit: str = ""
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise UsageError(f"range {self}: the first number must be the smaller one")
        if self.log and not self.low > 0:
            raise UsageError(f"range {self}: on a logarithmic scale it must begin above 0")

    @property
    def whole(self) -> bool:
        """Only whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def suggest(self, trial: optuna.Trial, key: str) -> Any:  # noqa: ANN401
        """A number for a trial."""
        if self.whole:
            return trial.suggest_int(key, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(key, self.low, self.high, log=self.log)

    def written(self, value: float) -> object:
        """A number as the scenario has it."""
        return f"{value!r} {self.unit}" if self.unit else value

    @property
    def ends(self) -> list[object]:
        """The values that show whether the scenario takes the range."""
        return [self.low, self.high]

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.low}..{self.high}{unit}{':log' if self.log else ''}"


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[object, ...]

    def suggest(self, trial: optuna.Trial, key: str) -> Any:  # noqa: ANN401
        """The name of a value for a trial."""
        return trial.suggest_categorical(key, [str(value) for value in self.values])

    def written(self, value: object) -> object:
        """The value of that name as the scenario has it."""
        return next(one for one in self.values if str(one) == value)

    @property
    def ends(self) -> list[object]:
        """The values that show whether the scenario takes the choice: all."""
        return [str(value) for value in self.values]

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


Space = dict[str, Range | Choice]


def space_of(vary: Mapping[str, Range | Choice | Sequence[object]]) -> Space:
    """The space; a list is a choice.

    Raises:
        UsageError: Nothing varies, or a choice has one value only, or two of one name.
    """
    if not vary:
        raise UsageError("nothing to vary: name a key of the scenario and its values")
    space = {
        key: values if isinstance(values, Range | Choice) else Choice(tuple(values))
        for key, values in vary.items()
    }
    for key, values in space.items():
        if isinstance(values, Choice) and len(set(map(str, values.values))) < 2:
            raise UsageError(f"{key}: a choice needs two different values at least")
        if isinstance(values, Choice):
            _check_names(key, values)
    return space


def _check_names(key: str, choice: Choice) -> None:
    named: dict[str, object] = {}
    for value in choice.values:
        if named.setdefault(str(value), value) != value:
            raise UsageError(f"{key}: two values are called {value}: give one another name")


def parsed(word: str) -> tuple[str, Range | Choice]:
    """What `--vary KEY=LOW..HIGH` or `--vary KEY=A,B` says.

    Raises:
        UsageError: It is neither.
    """
    key, text = assignment(word) or ("", "")
    if not text:
        raise UsageError(f'--vary {word}: write KEY=LOW..HIGH, KEY="5..100 ms:log" or KEY=A,B')
    found = RANGE.fullmatch(text)
    if found:
        low, high, unit, log = found.groups()
        return key, Range(_number(low), _number(high), unit, bool(log))
    if ".." in text:
        raise UsageError(
            f"--vary {word}: a range is two numbers, with one unit after the second: 5..100 ms"
        )
    values = tuple(TomlText(value.strip()) for value in text.split(","))
    return key, space_of({key: Choice(values)})[key]


def _number(text: str) -> float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
