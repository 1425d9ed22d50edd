"""Arguments of the wrong kind are refused by one sentence."""

from __future__ import annotations

from operator import index
from typing import Any

from retx.errors import UsageError

MOST = 2**63 - 1


def whole(name: str, value: Any, least: int) -> int:  # noqa: ANN401
    """A whole number of at least `least`.

    Raises:
        UsageError: It is none.
    """
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}: a whole number from {least} is needed")
    if number < least:
        raise UsageError(f"{name} is {number}: at least {least} is needed")
    if number > MOST:
        raise UsageError(f"{name} is {number}: at most {MOST} is possible")
    return number
