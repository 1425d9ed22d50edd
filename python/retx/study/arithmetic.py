"""Arithmetic in the files of a study, such as `100 * (1 - a / b)`."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from retx.study.data import StudyError

FUNCTIONS: Mapping[str, Any] = {
    "abs": abs, "exp": math.exp, "log": math.log, "max": max, "min": min, "sqrt": math.sqrt,
    "sum": sum,
}  # fmt: skip
CONSTANTS = {"inf": math.inf}
ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Name, ast.Constant,
    ast.Call, ast.Load, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
"""Nodes of an expression: no attributes, no subscripts, no functions except those above."""


@cache
def arithmetic(text: str) -> Callable[..., float]:
    """Function of the numbers that an expression names, which are given as keyword arguments.

    Raises:
        StudyError: The text is not arithmetic.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise StudyError(f"{text!r}: {error.msg}") from None
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and (
            node.keywords or not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS
        )
        constant = isinstance(node, ast.Constant) and not isinstance(node.value, int | float)
        if called or constant or not isinstance(node, ALLOWED):
            known = ", ".join(FUNCTIONS)
            raise StudyError(f"{text!r}: only numbers, names, + - * / **, if, and {known}")
    code = compile(tree, text, "eval")

    def evaluate(**numbers: Any) -> float:  # noqa: ANN401 - lists of numbers, for sums
        given = {"__builtins__": {}} | dict(FUNCTIONS) | CONSTANTS | numbers
        try:
            return float(eval(code, given))
        except NameError as error:
            raise StudyError(f"{text!r}: {error}") from None

    return evaluate
