"""Finds user classes, checks them, and creates instances for the simulation."""

from __future__ import annotations

import inspect
import json
import os
import sys
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from retx._native import CodeRefusedError, UserCodeError
from retx.errors.meant import meant
from retx.files.regular import open_regular
from retx.plugins.fingerprint import fingerprint, is_found
from retx.plugins.methods import fault_of, own_methods

LIMIT_BYTES = 16 << 20
"""Size limit, above the size of any module. The limit ends the reading of endless files such as
/dev/zero.
"""

Place = tuple[str | None, str]
"""Full path of a file (None if there is none), and name of a class."""

Found = tuple[str | None, Callable[[], object], list[str]]
"""Full path of the file, a function that creates instances, and the methods to call."""

_registered: dict[str, type] = {}
_numbers: dict[type, str] = {}
NAME_DIGITS = 10
"""Number of digits of the hash at the end of the name of a class without a file."""


def register(cls: type, name: str | None = None) -> None:
    """Lets scenarios of this process name the class without a file."""
    _registered[name or cls.__qualname__] = cls


def place_of(cls: type) -> Place:
    """Place of a class: its file, unless it was defined in a function or an interactive session.

    A class without a file is registered, so that this process finds it. Its name ends in a hash of
    its code: different classes have different names, and equal code has the same name in another
    session.
    """
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file and is_found(cls) and Path(file).is_file():
        return str(Path(file).absolute()), cls.__qualname__
    name = f"{cls.__qualname__}#{(fingerprint(cls) or _number(cls))[:NAME_DIGITS]}"
    register(cls, name)
    return None, name


def _number(cls: type) -> str:
    """Number that distinguishes classes whose hash cannot be computed."""
    return _numbers.setdefault(cls, str(len(_numbers) + 1))


def named(cls: type, classes: dict[Place, type]) -> dict[str, str]:
    """Keys with which a scenario names this class, which is added to `classes`."""
    file, first = place_of(cls)
    name, number = first, 1
    # The same code may be loaded twice, with different objects.
    while classes.get((file, name), cls) is not cls:
        number += 1
        name = f"{first}.{number}"
    if not file:
        register(cls, name)
    classes[file, name] = cls
    return {"name": "python", "class": name} | ({"file": file} if file else {})


class Finder:
    """Finds the code that one scenario names; see `_native.parse`.

    Args:
        base: Base of relative paths.
        given: Classes in the scenario itself, which are used directly.
    """

    def __init__(self, base: Path, given: Mapping[Place, type]) -> None:
        self._base = base
        self._given = given
        self._modules: dict[str, ModuleType] = {}
        self._unedited: set[type] = set()
        self.sources: dict[str, bytes] = {}
        """Text of each named file, by its full path."""
        self.plain: dict[str, str] = {}
        """Qualified name of each class, by the name under which a decorator registered it."""
        self.nameless: dict[str, str | None] = {}
        """Hash of each class without a file, by its name."""
        self.classes: dict[Place, type] = {}
        """Each found class, by file and name."""

    def __call__(self, kind: str, file: str | None, name: str, parameters: str) -> Found:
        """Finds and checks the class.

        Raises:
            CodeRefusedError: The class is missing, or does not take these parameters.
            UserCodeError: User code failed.
        """
        path = os.path.normpath((self._base / file).absolute()) if file else None
        cls = self.classes[path, name] = self._class(path, name)
        fault = fault_of(kind, cls)
        if fault:
            raise CodeRefusedError("class", fault)
        _check_parameters(cls, json.loads(parameters))
        return path, *constructor(kind, cls, parameters)

    def _class(self, path: str | None, name: str) -> type:
        if path:
            self._read(path)
        given = self._given.get((path, name))
        if given is None and not path:
            given = _of_this_process(name)
            if name == given.__qualname__:
                self.plain[name] = place_of(given)[1]
        if given:
            if path:
                self._check_unedited(given, path)
            elif name not in self.nameless:
                self.nameless[name] = fingerprint(given)
            return given
        assert path is not None
        module = self._modules.get(path) or self._run(path)
        found: object = module
        for part in name.split("."):
            found = getattr(found, part, None)
        if isinstance(found, type):
            return found
        defined = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
        what = "is no class" if found is not None else "is not defined"
        raise CodeRefusedError("class", f'"{name}" {what} in {path}{_meant(name, defined)}')

    def _check_unedited(self, cls: type, path: str) -> None:
        """Refuses a class that differs from its file, because a result stores the file."""
        if cls in self._unedited:
            return
        from retx.plugins.edited import edited

        what = edited(cls, path, self.sources[path])
        if what:
            raise CodeRefusedError(
                "class",
                f"{cls.__qualname__} differs from the class in {path} ({what} differs): the file "
                "was edited since it was imported, or the class changed; import it anew "
                "(importlib.reload), or name the file",
            )
        self._unedited.add(cls)

    def _read(self, path: str) -> None:
        if path in self.sources:
            return
        try:
            with open_regular(Path(path)) as file:
                content = file.read(LIMIT_BYTES + 1)
        except OSError as error:
            raise CodeRefusedError("file", f"{path}: {error.strerror}") from None
        if len(content) > LIMIT_BYTES:
            raise CodeRefusedError("file", f"{path}: larger than {LIMIT_BYTES >> 20} MiB")
        self.sources[path] = content

    def _run(self, path: str) -> ModuleType:
        """The file as a separate module, compiled anew each time, so that no stale code is run."""
        module = ModuleType(f"retx_user_code.{Path(path).stem}")
        module.__file__ = path
        # Dataclasses and other code look up the module in `sys.modules`.
        sys.modules[module.__name__] = module
        try:
            exec(compile(self.sources[path], path, "exec", dont_inherit=True), vars(module))
        except Exception as error:
            raise UserCodeError(f"{path} could not be loaded: {_one_line(error)}") from (
                error.with_traceback(_since(path, error.__traceback__))
            )
        self._modules[path] = module
        return module


def constructor(kind: str, cls: type, parameters: str) -> tuple[Callable[[], object], list[str]]:
    """Function that creates instances with these parameters (JSON), and the methods to call.

    Raises:
        CodeRefusedError: The constructor refuses a value by `ValueError`.
        UserCodeError: The constructor fails in another way.
    """

    def make() -> object:
        # The parameters are parsed for each instance, so that instances do not share lists and
        # tables.
        return cls(**json.loads(parameters))

    _try(cls, make)
    return make, own_methods(kind, cls)


def _of_this_process(name: str) -> type:
    if name in _registered:
        return _registered[name]
    raise CodeRefusedError(
        "class",
        f'"{name}" is not registered in this process{_meant(name, list(_registered))}; '
        'name its file: { name = "python", file = "….py", class = "…" }',
    )


def _check_parameters(cls: type, parameters: dict[str, Any]) -> None:
    """Refuses arguments that the constructor does not accept.

    Raises:
        CodeRefusedError: An argument is unknown, missing, or of another type than annotated.
    """
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):
        return
    name = cls.__qualname__
    taken = signature.parameters.values()
    by_name = [p for p in taken if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    names = [p.name for p in by_name]
    if not any(p.kind == p.VAR_KEYWORD for p in taken):
        for key in parameters:
            if key not in names:
                raise CodeRefusedError(key, f"{name} takes no such parameter{_meant(key, names)}")
    for parameter in by_name:
        if parameter.default is parameter.empty and parameter.name not in parameters:
            raise CodeRefusedError("", f"lacks `{parameter.name}`, a parameter of {name}")
    types = _types(cls)
    for key, value in parameters.items():
        wanted = types.get(key)
        if wanted and not _is_a(value, wanted):
            shown = json.dumps(value, ensure_ascii=False)
            raise CodeRefusedError(key, f"{shown} is refused: {name} takes {_TYPES[wanted]}")


_TYPES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _types(cls: type) -> dict[str, type]:
    """Parameters annotated with a plain type, which retx checks; the class checks all others."""
    constructor: Any = cls.__init__  # type: ignore[misc]
    try:
        hints = typing.get_type_hints(constructor)
    except Exception:  # whatever annotations may raise
        return {}
    return {name: hint for name, hint in hints.items() if hint in _TYPES}


def _is_a(value: object, wanted: type) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float) if wanted is float else wanted)


def _try(cls: type, make: Callable[[], object]) -> None:
    """Creates an instance as a check.

    Raises:
        CodeRefusedError: The constructor refuses a value by `ValueError`.
        UserCodeError: The constructor fails in another way.
    """
    try:
        make()
    except ValueError as error:
        raise CodeRefusedError("", f"{cls.__qualname__} refuses its parameters: {error}") from None
    except Exception as error:
        tail = error.__traceback__
        # All frames below this function and `make` belong to user code.
        for _ in range(2):
            tail = tail.tb_next if tail else None
        raise UserCodeError(
            f"{cls.__qualname__} failed when it was created: {_one_line(error)}"
        ) from (error.with_traceback(tail))


def _since(path: str, traceback: TracebackType | None) -> TracebackType | None:
    """Part of a traceback from the first frame in the user's file."""
    while traceback and traceback.tb_frame.f_code.co_filename != path:
        traceback = traceback.tb_next
    return traceback


def _one_line(error: BaseException) -> str:
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _meant(word: str, known: list[str]) -> str:
    hint = meant(word, known, '"')
    return f"{hint} (there are: {', '.join(known)})" if known else f"{hint} (there are none)"


def saved_names(files: Mapping[str, bytes]) -> dict[str, str]:
    """Name in the result directory for each file of code."""
    names: dict[str, str] = {}
    for path in files:
        stem, number = Path(path).stem, 1
        name = f"{FOLDER}/{stem}.py"
        while name in names.values():
            number += 1
            name = f"{FOLDER}/{stem}-{number}.py"
        names[path] = name
    return names


FOLDER = "user_code"
"""Folder of a result directory for the code that its scenario names."""
