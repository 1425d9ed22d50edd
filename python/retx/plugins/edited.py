"""Detects whether the file of a class has been edited since its import."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

from retx.files.python_source import parse
from retx.plugins.fingerprint import Walk, alone, globals_used


def edited(cls: type, path: str, content: bytes) -> str | None:
    """Name of the first part of an imported class that differs from its file; None if all agree.

    The comparison covers the functions of the file that the class uses. It also covers the
    constants that these functions and the body of the class name. A constant is a name that is
    bound only once, to a number or text.
    """
    module = sys.modules.get(cls.__module__)
    loader = getattr(module, "__loader__", None)
    if type(loader) is not SourceFileLoader:
        return None  # such as pytest's, which rewrites what it loads
    walk = Walk()
    with suppress(Exception):  # as in `fingerprint`; what was read before is compared
        walk.take(cls)
    try:
        tree = parse(content)
        compiled = compile(content, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return path
    written = set(map(_standing, _codes(compiled)))
    used: set[str] = set()
    for function in walk.functions:
        if os.path.abspath(function.__code__.co_filename) != path:  # noqa: PTH100
            continue
        if _standing(function.__code__) not in written:
            return function.__qualname__
        used.update(globals_used(function.__code__))
    scopes = [(vars(module), tree.body, used), *_bodies(cls, tree)]
    return next((name for scope in scopes for name in _differing(*scope, tree)), None)


Scope = tuple[Any, "list[ast.stmt]", "set[str]"]
"""Namespace in memory, statements of the file, and the names to compare."""


def _bodies(cls: type, tree: ast.Module) -> Iterator[Scope]:
    body: list[ast.stmt] = tree.body
    for name in cls.__qualname__.split("."):
        found = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name]
        if len(found) != 1:
            return
        body = found[0].body
    yield vars(cls), body, set(vars(cls))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _standing(code: CodeType) -> tuple[str, int]:
    """Hash of a code object, and the number of its first line in the file."""
    return alone(code), code.co_firstlineno


def _differing(
    memory: Any,  # noqa: ANN401
    body: list[ast.stmt],
    names: set[str],
    tree: ast.Module,
) -> Iterator[str]:
    """Constants that differ between memory and file, unless the code itself assigns them."""
    stored = [
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    stored += [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if len(targets) != 1 or not isinstance(targets[0], ast.Name):
            continue
        if not isinstance(value, ast.expr) or not _is_constant(value):
            continue
        name = targets[0].id
        if name in names and stored.count(name) == 1 and name in memory:
            try:
                differs = alone(memory[name]) != alone(_evaluated(value))
            except Exception:  # of the value in memory, which may be anything by now
                differs = True
            if differs:
                yield name


def _is_constant(node: ast.AST | None) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    if isinstance(node, ast.Tuple):
        return all(map(_is_constant, node.elts))
    return isinstance(node, ast.Constant)


def _evaluated(node: ast.expr) -> object:
    """Value of an expression that consists of constants."""
    return eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
