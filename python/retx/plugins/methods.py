"""Checks the methods of a user class: names, parameters, and values that would be ignored."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from difflib import get_close_matches
from textwrap import dedent
from types import FunctionType

from retx import decisions

BASES: dict[str, type] = {
    "congestion_control": decisions.CongestionControl,
    "loss_cause": decisions.LossCause,
}
"""Base class of each kind of user class."""
LATE = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
"""Kinds of functions whose call does not run their body."""
ALIKE = 0.9
"""Least similarity of two names of which one is taken for a misspelling."""
VALUES = (ast.Attribute, ast.BinOp, ast.Compare, ast.Constant, ast.Name, ast.UnaryOp)
"""Expressions that yield a value; a call may return None."""
INNER = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Lambda)
"""Definitions within a function."""


def fault_of(kind: str, cls: type) -> str | None:
    """Reason why a class is not of that kind; None if it is."""
    needed = sorted(BASES[kind].__abstractmethods__)  # type: ignore[attr-defined]
    words = kind.replace("_", " ")
    for name in needed:
        method = getattr(cls, name, None)
        if not callable(method) or getattr(method, "__isabstractmethod__", False):
            return f"{cls.__qualname__} lacks {name}: a {words} has {', '.join(needed)}"
    faults = (_fault_of_method(BASES[kind], cls, name) for name in own_methods(kind, cls))
    return next(filter(None, faults), None) or _misspelt(kind, cls)


def own_methods(kind: str, cls: type) -> list[str]:
    """Methods of the base class of this kind that the class overrides."""
    base = BASES[kind]
    names = [name for name in vars(base) if not name.startswith("_")]
    return [
        name for name in names if getattr(cls, name, getattr(base, name)) is not vars(base)[name]
    ]


def _fault_of_method(base: type, cls: type, name: str) -> str | None:
    method, place = getattr(cls, name), f"{cls.__qualname__}.{name}"
    if any(is_late(method) for is_late in LATE):
        return f"{place} must be a plain function, without async or yield"
    signature = inspect.signature(getattr(base, name))
    arguments = list(signature.parameters)
    try:
        own = inspect.signature(method)
        own.bind(*arguments)
    except TypeError:
        return f"{place} must take ({', '.join(arguments)})"
    except ValueError:  # a method without a signature: it is called as it is
        return None
    pairs = zip(own.parameters, arguments, strict=False)
    if any(given != wanted and given in arguments for given, wanted in pairs):
        return f"{place} must take ({', '.join(arguments)}), in this order"
    if signature.return_annotation in (None, "None") and _returns_value(method):
        return f"{place} returns a value, which is ignored: set the attributes of its arguments"
    return None


def _returns_value(method: object) -> bool:
    """True if a function returns something other than None or the result of a call."""
    if not isinstance(method, FunctionType) or hasattr(method, "__wrapped__"):
        return False
    try:
        [tree] = ast.parse(dedent(inspect.getsource(method))).body
    except (OSError, SyntaxError, TypeError, ValueError):  # without readable source
        return False
    return isinstance(tree, ast.FunctionDef) and any(
        isinstance(value, VALUES) and getattr(value, "value", value) is not None
        for value in _returned(tree)
    )


def _returned(function: ast.AST) -> Iterator[ast.expr | None]:
    """Expressions that a function returns; those of functions within it are left out."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.Return):
            yield node.value
        elif not isinstance(node, INNER):
            yield from _returned(node)


def _misspelt(kind: str, cls: type) -> str | None:
    """Fault of a class with a method whose name is nearly that of a method of the base class."""
    base = BASES[kind]
    missing = [name for name in vars(base) if not name.startswith("_")]
    missing = [name for name in missing if name not in own_methods(kind, cls)]
    for owner in cls.__mro__:
        if owner in (base, object):
            continue
        for name, found in vars(owner).items():
            close = get_close_matches(name.lower(), missing, n=1, cutoff=ALIKE)
            if close and callable(found) and name not in vars(base) and not name.startswith("_"):
                return (
                    f"{cls.__qualname__}.{name} is never called; did you mean {close[0]}? (begin "
                    "the names of methods of your own with _)"
                )
    return None
