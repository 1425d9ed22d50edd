"""Search space of a tuning: ranges of numbers, with or without a unit, and choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from retx.errors import UsageError
from retx.scenarios.varied import Span, quantity, read_vary

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, inclusive; whole numbers if both are whole.

    With a unit, as in `Range(5, 100, "ms")`, they are written as in scenarios. `log` samples
    uniformly on a logarithmic scale.
    """

    low: float
    high: float
    unit: str = ""
    log: bool = False

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            if isinstance(end, bool) or not isinstance(end, Real):
                raise UsageError(f"range {self}: {end!r} is not a number")
        if not self.low < self.high:
            raise UsageError(f"range {self}: the first number must be the smaller one")
        if self.log and not self.low > 0:
            raise UsageError(
                f"range {self}: on a logarithmic scale the first number must be above 0"
            )

    @property
    def whole(self) -> bool:
        """True if only whole numbers are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def suggest(self, trial: optuna.Trial, key: str) -> Any:  # noqa: ANN401
        """A number for a trial."""
        if self.whole:
            return trial.suggest_int(key, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(key, self.low, self.high, log=self.log)

    def written(self, value: float) -> object:
        """Number as written in the scenario."""
        return f"{value!r} {self.unit}" if self.unit else value

    def shown(self, value: float) -> object:
        """Entry of the table of trials."""
        return value

    @property
    def ends(self) -> list[object]:
        """Values to check in the scenario: both ends of the range."""
        return [self.low, self.high]

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.low}..{self.high}{unit}{':log' if self.log else ''}"


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[object, ...]

    def suggest(self, trial: optuna.Trial, key: str) -> Any:  # noqa: ANN401
        """Name of a value for a trial."""
        return trial.suggest_categorical(key, [str(value) for value in self.values])

    def written(self, value: object) -> object:
        """Value with this name, or this number, as written in the scenario."""
        return next(one for one in self.values if str(one) == str(value) or one == value)

    def shown(self, name: str) -> object:
        """Entry of the table of trials: the name of the value, or the value if all are numbers."""
        are_numbers = all(
            isinstance(one, int | float) and not isinstance(one, bool) for one in self.values
        )
        return self.written(name) if are_numbers else name

    @property
    def ends(self) -> list[object]:
        """Values to check in the scenario: all choices."""
        return [str(value) for value in self.values]

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


Space = dict[str, Range | Choice]


def space_of(vary: Mapping[str, Range | Choice | Sequence[object]]) -> Space:
    """Search space of the varied keys; a list is a choice.

    Raises:
        UsageError: Nothing varies, a choice has only one value, or two values have the same name.
    """
    for key, values in vary.items():
        if isinstance(values, str) or not isinstance(values, Range | Choice | Iterable):
            raise UsageError(
                f"{key}: {values!r} is one value: write a list of values, or retx.Range(5, 20)"
            )
    if not vary:
        raise UsageError("nothing to vary: name a key of the scenario and its values")
    space = {
        key: values if isinstance(values, Range | Choice) else Choice(tuple(values))
        for key, values in vary.items()
    }
    for key, values in space.items():
        if isinstance(values, Choice) and len(set(map(str, values.values))) < 2:
            raise UsageError(f"{key}: a choice needs at least two different values")
        if isinstance(values, Choice):
            _check_names(key, values)
    return space


def _check_names(key: str, choice: Choice) -> None:
    named: dict[str, object] = {}
    for value in choice.values:
        if named.setdefault(str(value), value) != value:
            raise UsageError(f"{key}: two values are called {value}: rename one of them")


def parsed(word: str) -> tuple[str, Range | Choice]:
    """Parses a `--vary`: see `retx.scenarios.varied`. A range with a number of steps is a choice.

    Raises:
        UsageError: The text has none of the accepted forms.
        ScenarioError: A range has no values.
    """
    key, varied = read_vary(word)
    if isinstance(varied, dict):
        varied = _span_of(word, varied) or _points(key, varied)
    elif isinstance(varied, Span) and varied.steps is not None:
        varied = _points(key, varied.table)
    if isinstance(varied, Span):
        return key, Range(varied.low, varied.high, varied.unit, varied.log)
    return key, space_of({key: Choice(tuple(varied))})[key]


def _span_of(word: str, table: Mapping[str, Any]) -> Span | None:
    """Range from a table as in `[sweep]`; None if the table has `steps` or `step`.

    Raises:
        UsageError: The ends are not numbers of one unit.
    """
    if {"steps", "step"} & table.keys():
        return None
    low, high = quantity(table["from"]), quantity(table["to"])
    if low is None or high is None or low[1] != high[1]:
        raise UsageError(f"--vary {word}: `from` and `to` are two numbers of one unit")
    return Span(low[0], high[0], low[1], log=table.get("scale") == "log")


def _points(key: str, table: Mapping[str, Any]) -> list[object]:
    """Values of a range, as in a sweep."""
    from retx.sweeps.grid import read_grid

    return [value for (value,) in read_grid({key: dict(table)}).points]
