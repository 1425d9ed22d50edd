"""Arguments of the closed forms: numbers or arrays of them, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from retx.errors import UsageError

Numbers = npt.NDArray[np.float64]
"""Result of the functions: an array of the arguments' common shape, or one number."""
Given = npt.ArrayLike
"""Argument of the functions: a number, or anything that NumPy takes for an array of numbers."""


class ModelError(UsageError):
    """A closed form is undefined for these arguments; the message states the valid range."""


def positive(name: str, value: Given) -> Numbers:
    """Finite numbers above zero."""
    given = _numbers(name, value)
    return _checked(name, given, (given > 0) & np.isfinite(given), "above 0")


def not_negative(name: str, value: Given) -> Numbers:
    """Finite numbers that are zero or above."""
    given = _numbers(name, value)
    return _checked(name, given, (given >= 0) & np.isfinite(given), "0 or above")


def at_least(name: str, value: Given, least: float) -> Numbers:
    """Numbers of at least `least`; infinity is allowed."""
    given = _numbers(name, value)
    return _checked(name, given, given >= least, f"{least:g} or above")


def probability(name: str, value: Given) -> Numbers:
    """Numbers from 0 to 1."""
    given = _numbers(name, value)
    return _checked(name, given, (given >= 0) & (given <= 1), "from 0 to 1")


def below(name: str, value: Given, limit: float = 1.0) -> Numbers:
    """Numbers from 0 to below `limit`."""
    given = _numbers(name, value)
    inside = (given >= 0) & (given < limit)
    return _checked(name, given, inside, f"0 or above, and less than {limit:g}")


def count(name: str, value: Given, least: int = 1, *, endless: bool = False) -> Numbers:
    """Whole numbers of at least `least`; with `endless` also infinity."""
    given = _numbers(name, value)
    is_whole = (given >= least) & (given == np.floor(given)) & (endless | np.isfinite(given))
    return _checked(name, given, is_whole, f"a whole number, {least} or above")


def _numbers(name: str, value: Given) -> Numbers:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{name} is {value!r}: it must be a number, or an array of them") from None


def _checked(name: str, given: Numbers, holds: Any, allowed: str) -> Numbers:  # noqa: ANN401
    if not np.all(holds):
        wrong = given[np.logical_not(holds)].flat[0]
        raise ModelError(f"{name} is {wrong:g}: it must be {allowed}")
    return given
