"""Arithmetic in the files of a study, such as `100 * (1 - a / b)`."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import cache
from statistics import fmean
from typing import Any

from retx.study.data import StudyError

FUNCTIONS: Mapping[str, Any] = {
    "abs": abs, "exp": math.exp, "log": math.log, "max": max, "mean": fmean, "min": min,
    "sqrt": math.sqrt, "sum": sum,
}  # fmt: skip
CONSTANTS = {"inf": math.inf}
ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Name, ast.Constant,
    ast.Call, ast.Load, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip
"""Nodes of an expression: no attributes, no subscripts, no functions except those above."""


@cache
def arithmetic(text: str, names: str | tuple[str, ...]) -> Callable[..., float]:
    """Function of the numbers that an expression names, which are given as keyword arguments.

    The function raises `ZeroDivisionError`, and `StudyError` if the result is no number.

    Args:
        text: The expression.
        names: The names that it may contain; a text has one letter for each.

    Raises:
        StudyError: The text is not arithmetic.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        for node in ast.walk(tree):
            _check(node, names)
    except StudyError as error:
        raise StudyError(f"{text!r}: {error}") from None
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        said = getattr(error, "msg", "") or "a number is too large, or it is nested too deeply"
        raise StudyError(f"{text!r}: {said}") from None
    code = compile(tree, text, "eval")

    def evaluate(**numbers: Any) -> float:  # noqa: ANN401 - lists of numbers, for sums
        floats = {
            name: [float(it) for it in given] if isinstance(given, list) else float(given)
            for name, given in numbers.items()
        }
        try:
            return float(eval(code, {"__builtins__": {}} | dict(FUNCTIONS) | CONSTANTS | floats))
        except ZeroDivisionError:
            raise
        except (ArithmeticError, ValueError, TypeError) as error:
            given = ", ".join(f"{name} = {number}" for name, number in floats.items())
            raise StudyError(f"{text!r} with {given}: {error}") from None

    return evaluate


def _check(node: ast.AST, names: str | tuple[str, ...]) -> None:
    """Refuses a node that is not arithmetic; integers become floats, whose powers are bounded."""
    known = (*FUNCTIONS, *CONSTANTS, *names)
    called = isinstance(node, ast.Call) and (
        node.keywords or not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS
    )
    constant = isinstance(node, ast.Constant) and type(node.value) not in (int, float)
    if called or constant or not isinstance(node, ALLOWED):
        raise StudyError(f"only numbers, names, + - * / ** < >, if, and {', '.join(FUNCTIONS)}")
    if isinstance(node, ast.Name) and node.id not in known:
        raise StudyError(f"no {node.id!r} here (there are {', '.join(names)})")
    if isinstance(node, ast.Constant):
        node.value = float(node.value)  # type: ignore[arg-type]
