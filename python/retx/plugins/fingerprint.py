"""Hashes of code. Equal code has equal hashes in all processes of one version of Python."""

from __future__ import annotations

import dis
import hashlib
import os
import sys
from collections.abc import Iterator
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

LIMIT = 200_000
"""Maximum number of values that are examined. Code that uses more values has no fingerprint."""

_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
# Two equal values of these types may or may not be the same object, so they are hashed by value.
_BY_VALUE = (tuple, frozenset, CodeType)
_NAMED = (
    BuiltinFunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
_WRAPPED: dict[type, tuple[str, ...]] = {
    classmethod: ("__func__",),
    staticmethod: ("__func__",),
    MethodType: ("__func__", "__self__"),
    property: ("fget", "fset", "fdel"),
    partial: ("func", "args", "keywords"),
}
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


class _UnknownError(Exception):
    """Raised for a value that cannot be hashed, such as a lock."""


def fingerprint(cls: type) -> str | None:
    """Hash of a class's code and of the values that it uses; None if a value cannot be hashed.

    The hash covers bytecode, constants, names, defaults, closures, globals and base classes,
    recursively. Installed modules and classes are hashed by their names only.
    """
    walk = Walk()
    try:
        walk.take(cls)
    except Exception:  # whatever the user's objects raise when they are taken apart
        return None
    return walk.hash.hexdigest()


class Walk:
    """Hashes values one after another, each object once."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.functions: list[FunctionType] = []
        """Functions written by the user."""
        self._taken = 0
        self._seen: dict[int, int] = {}
        # The objects are kept alive, because ids are unique only among living objects.
        self._alive: list[object] = []

    def take(self, value: Any) -> None:  # noqa: ANN401
        """Hashes a value and its parts."""
        if isinstance(value, _ATOMS) and type(value).__module__ == "builtins":
            self._count()
            if isinstance(value, bytes):
                self._say("bytes", str(len(value)))
                self.hash.update(value)
            else:
                self._say(type(value).__name__, repr(value))
            return
        self._count()
        if type(value) not in _BY_VALUE:
            if id(value) in self._seen:
                self._say("again", str(self._seen[id(value)]))
                return
            self._seen[id(value)] = len(self._seen)
            self._alive.append(value)
        self._say("value", type(value).__qualname__)
        self._take_new(value)

    def _count(self) -> None:
        self._taken += 1
        if self._taken > LIMIT:
            raise _UnknownError

    def _take_new(self, value: Any) -> None:  # noqa: ANN401
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, CodeType):
            self._code(value)
        elif isinstance(value, ModuleType):
            self._module(value)
        elif isinstance(value, _NAMED):
            self._say(str(getattr(value, "__module__", "")), value.__qualname__)
        elif type(value) in _WRAPPED:
            self._each(getattr(value, name) for name in _WRAPPED[type(value)])
        elif type(value) in (tuple, list):
            self._each(value)
        elif type(value) is dict:
            self._each(part for item in value.items() for part in item)
        elif type(value) in (set, frozenset):
            self._each(sorted(alone(item) for item in value))
        else:
            self._reduced(value)

    def _say(self, *words: str) -> None:
        self.hash.update("\0".join(words).encode(errors="surrogatepass") + b"\1")

    def _each(self, values: Any) -> None:  # noqa: ANN401
        parts = list(values)
        self._alive.append(parts)
        self._say("parts", str(len(parts)))
        for part in parts:
            self.take(part)

    def _function(self, function: FunctionType) -> None:
        cells = [_content(cell) for cell in function.__closure__ or ()]
        self._each([function.__defaults__, function.__kwdefaults__, *cells])
        module = function.__globals__.get("__name__")
        if is_installed(module):
            self._say(str(module), function.__qualname__)
            return
        self.functions.append(function)
        self.take(function.__code__)
        for name in sorted(set(globals_used(function.__code__))):
            if name in function.__globals__:
                self._each([name, function.__globals__[name]])

    def _class(self, cls: type) -> None:
        self._say(cls.__qualname__)
        # A class created by type() may have the module of its metaclass.
        if is_installed(cls.__module__) and is_found(cls):
            self._say(cls.__module__)
            return
        self._each(cls.__bases__)
        for name, value in vars(cls).items():
            # Attributes that Python itself adds, such as __module__, __dict__ and __annotations__,
            # are not code of the user.
            if name.startswith("_abc_") or (_is_special(name) and not _is_code(value)):
                continue
            self._each([name, value])

    def _code(self, code: CodeType) -> None:
        self._each([code.co_code, code.co_names, code.co_varnames, code.co_consts, code.co_flags])
        self._each([code.co_freevars, code.co_cellvars, code.co_argcount])
        self._each([code.co_kwonlyargcount, getattr(code, "co_exceptiontable", b"")])

    def _module(self, module: ModuleType) -> None:
        self._say(module.__name__)
        file = getattr(module, "__file__", None)
        if file and not is_installed(module.__name__):
            with open(file, "rb") as opened:  # noqa: PTH123
                self.hash.update(opened.read())

    def _reduced(self, value: Any) -> None:  # noqa: ANN401
        """Hashes an object of any other type by its pickle reduction."""
        parts = value.__reduce_ex__(4)
        if isinstance(parts, str):
            self._say(type(value).__module__, parts)
            return
        self._each(list(part) if isinstance(part, Iterator) else part for part in parts)


def is_found(cls: type) -> bool:
    """True if a class's module and name lead to this class."""
    found: object = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def alone(value: object) -> str:
    """Hash of a single value."""
    walk = Walk()
    walk.take(value)
    return walk.hash.hexdigest()


def _content(cell: Any) -> object:  # noqa: ANN401
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return "empty"


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_code(value: object) -> bool:
    return isinstance(value, FunctionType) or type(value) in _WRAPPED


def is_installed(name: str | None) -> bool:
    """True for a module of Python, of retx or of an installed package; false for a user module."""
    top = (name or "").partition(".")[0]
    if top == "__main__":
        return False
    if top in ("retx", "builtins") or top in sys.stdlib_module_names:
        return True
    return is_installed_file(getattr(sys.modules.get(name or ""), "__file__", None))


def is_installed_file(file: str | None) -> bool:
    """True for a file of a package that was installed by pip."""
    return any(folder in (file or "") for folder in _INSTALLED)


def globals_used(code: CodeType) -> Iterator[str]:
    """Names that a function, or a function nested in it, looks up in its module or in builtins."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from globals_used(constant)
