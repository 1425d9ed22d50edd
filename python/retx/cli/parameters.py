"""Declaration of the options and arguments of commands, and the reading of plain command lines.

Importing typer takes longer than a short run. Therefore commands declare their parameters by the
classes below, and `plain_values` reads the usual command lines without typer. Whatever it does not
read, such as `--help`, an abbreviation or a mistake, is left to typer, which reads the same
declarations. A test compares the two.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from types import FunctionType, UnionType
from typing import Annotated, Any, get_args, get_origin

DIGITS_OF_INTEGERS = 18
"""Longer numbers are left to typer."""


class Option:
    """Declaration of an option.

    Args:
        names: As on the command line; by default the name of the parameter with two hyphens.
        help: Explanation for `--help`.
        metavar: Placeholder of the value in `--help`.
        min: Smallest permitted number.
        callback: Function that is called with the value before the command.
        completion: Function that completes the value, as `module:function`.
        is_eager: True for an option that is handled before all others.
        show_default: False to leave the default value out of `--help`.
    """

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002
        metavar: str | None = None,
        min: int | None = None,  # noqa: A002
        callback: Callable[[Any], Any] | None = None,
        completion: str | None = None,
        is_eager: bool = False,
        show_default: bool = True,
    ) -> None:
        self.names = names
        self.min = min
        self.callback = callback
        self._completion = completion
        self._settings: dict[str, Any] = {
            "help": help,
            "metavar": metavar,
            "min": min,
            "callback": callback,
            "is_eager": is_eager,
            "show_default": show_default,
        }

    def for_typer(self) -> object:
        """Declaration in the form of typer."""
        import typer

        completion = _function(self._completion)
        return typer.Option(*self.names, **self._settings, autocompletion=completion)


class Argument:
    """Declaration of an argument, which is a word without a preceding option.

    Args:
        help: Explanation for `--help`.
        metavar: Placeholder of the word in `--help`.
        show_default: False to leave the default value out of `--help`.
        completion: Function that completes the value, as `module:function`.
    """

    names: tuple[str, ...] = ()
    min: int | None = None
    callback: Callable[[Any], Any] | None = None

    def __init__(
        self,
        *,
        help: str,  # noqa: A002
        metavar: str | None = None,
        show_default: bool = True,
        completion: str | None = None,
    ) -> None:
        self._completion = completion
        self._settings: dict[str, Any] = {
            "help": help,
            "metavar": metavar,
            "show_default": show_default,
        }

    def for_typer(self) -> object:
        """Declaration in the form of typer."""
        import typer

        return typer.Argument(**self._settings, autocompletion=_function(self._completion))


def for_typer(command: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of the command with the declarations of its parameters in the form of typer."""
    assert isinstance(command, FunctionType)
    copy = FunctionType(
        command.__code__, command.__globals__, command.__name__, command.__defaults__
    )
    copy.__annotations__ = {
        name: Annotated[kind, declared.for_typer()]
        for name, (kind, declared) in parameters_of(command).items()
    }
    return copy


def plain_values(command: FunctionType, words: Sequence[str]) -> dict[str, Any] | None:
    """Values of the parameters of a command; None if typer has to read the words.

    Parameters that the words do not name are left out.
    """
    parameters = parameters_of(command)
    arguments = [name for name, (_, it) in parameters.items() if isinstance(it, Argument)]
    if any(get_origin(without_none(parameters[name][0])) for name in arguments):
        return None  # an argument that takes several words
    named = names_of_options(parameters)
    needed = list(parameters)[: len(parameters) - len(command.__defaults__ or ())]
    found: dict[str, Any] = {}
    rest = iter(words)
    try:
        for word in rest:
            if not word.startswith("-"):
                name = arguments.pop(0)
                found[name] = _value(parameters[name], word)
                continue
            option, equals, value = word.partition("=")
            name = named[option]
            kind, declared = parameters[name]
            if kind is bool:
                if equals:
                    return None
                found[name] = True
            elif get_origin(without_none(kind)) is tuple:
                if equals:
                    return None
                items = get_args(without_none(kind))
                found[name] = tuple([_value((item, declared), next(rest)) for item in items])
            elif get_origin(without_none(kind)) is list:
                value = value if equals else next(rest)
                item = get_args(without_none(kind))[0]
                found.setdefault(name, []).append(_value((item, declared), value))
            else:
                found[name] = _value((kind, declared), value if equals else next(rest))
    except (LookupError, StopIteration, ValueError):
        return None
    if any(name not in found for name in needed):
        return None
    for name, value in found.items():
        if (call := parameters[name][1].callback) is not None:
            found[name] = call(value)
    return found


_Parameter = tuple[Any, Option | Argument]
"""Type of the value, and the declaration."""


def parameters_of(command: FunctionType) -> dict[str, _Parameter]:
    """Parameters of a command by name, from its annotations, which are still texts."""
    found = {}
    for name, text in command.__annotations__.items():
        if name != "return":
            first, *rest = text.split(".")  # a name, or that of a module and a name in it
            annotated = reduce(getattr, rest, command.__globals__[first])
            found[name] = (annotated.__origin__, annotated.__metadata__[0])
    return found


def names_of_options(parameters: dict[str, _Parameter]) -> dict[str, str]:
    """Parameter of each option, by the name of the option on the command line."""
    found = {}
    for name, (_, declared) in parameters.items():
        if isinstance(declared, Option):
            for word in declared.names or (f"--{name.replace('_', '-')}",):
                found[word] = name
    return found


def without_none(kind: Any) -> Any:  # noqa: ANN401
    """The type without `None`."""
    if isinstance(kind, UnionType):
        return next(it for it in get_args(kind) if it is not type(None))
    return kind


def _value(parameter: _Parameter, word: str) -> Any:  # noqa: ANN401
    """Value of a word.

    Raises:
        ValueError: The word is not plain: typer accepts or refuses it.
    """
    kind, declared = without_none(parameter[0]), parameter[1]
    if word.startswith("-"):
        raise ValueError
    if kind is str:
        return word
    if kind is Path:
        if not os.access(word, os.R_OK) and Path(word).exists():
            raise ValueError
        return Path(word)
    if kind is float and declared.min is None:
        return float(word)
    if kind is int and word.isascii() and word.isdigit() and len(word) <= DIGITS_OF_INTEGERS:
        number = int(word)
        if declared.min is None or number >= declared.min:
            return number
    raise ValueError


def _function(place: str | None) -> Any:  # noqa: ANN401
    if place is None:
        return None
    from importlib import import_module

    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
