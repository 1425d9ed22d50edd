"""Sends user code to the workers of a cluster.

Classes, and the user modules that they use, are sent by value, so that workers do not need their
files. Installed packages are sent by name; workers must have the same versions.
"""

from __future__ import annotations

import dis
import io
import marshal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from retx.errors import UsageError
from retx.plugins.fingerprint import is_installed, is_installed_file
from retx.plugins.user_code import Found, Place, constructor
from retx.sweeps.remote import UnfitWorkerError


@dataclass(frozen=True)
class SentCode:
    """Classes, with the information that a worker needs to run them as this machine does."""

    classes: bytes
    """Pickled classes, by file and name."""
    versions: tuple[tuple[str, str], ...]
    """Versions, by name, of Python and of the installed packages that the classes use."""

    def load(self) -> Loaded:
        """Loads the classes in a worker.

        Raises:
            UnfitWorkerError: The worker lacks something that the classes need.
        """
        for name, wanted in self.versions:
            found = _version(name)
            if found != wanted:
                raise UnfitWorkerError(
                    f"a worker has {f'{name} {found}' if found else f'no {name}'}, this machine "
                    f"{wanted}: your code needs the same on both"
                )
        try:
            return _loaded(self.classes)
        except Exception as error:  # whatever objects raise when they are put together
            raise UnfitWorkerError(
                f"a worker cannot load your code: {type(error).__name__}: {error}"
            ) from None


class Loaded:
    """Finds the classes that were sent; see `_native.parse`."""

    def __init__(self, classes: Mapping[Place, type]) -> None:
        self._classes = classes

    def __call__(self, kind: str, file: str | None, name: str, parameters: str) -> Found:
        """Returns the class, which was checked on the machine that started the sweep."""
        return file, *constructor(kind, self._classes[file, name], parameters)


@lru_cache(maxsize=8)
def _loaded(classes: bytes) -> Loaded:
    import pickle

    return Loaded(pickle.loads(classes))


def sent_code(classes: Mapping[Place, type]) -> SentCode | None:
    """Code for the workers; None if there are no classes.

    Raises:
        UsageError: The classes use something that cannot be sent.
    """
    if not classes:
        return None
    import cloudpickle

    content = io.BytesIO()
    pickler = _pickler(content)
    by_value: set[ModuleType] = pickler.by_value
    try:
        pickler.dump(dict(classes))
    except UsageError:
        raise
    except Exception as error:  # whatever the user's objects raise when they are taken apart
        raise UsageError(f"dask: your code cannot be sent to workers: {error}") from None
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)
    names = {"Python", *(name for top in pickler.packages for name in _distributions(top))}
    versions = ((name, _version(name)) for name in sorted(names))
    return SentCode(content.getvalue(), tuple((name, it) for name, it in versions if it))


def _pickler(content: io.BytesIO) -> Any:  # noqa: ANN401
    """Pickler that sends user modules by value, and records the packages in use."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(content)
            self.by_value: set[ModuleType] = set()
            self.packages: set[str] = set()

        def reducer_override(self, value: Any) -> Any:  # noqa: ANN401
            if isinstance(value, ModuleType | type | FunctionType | BuiltinFunctionType):
                self._note(value)
            if isinstance(value, CodeType):
                # cloudpickle omits the file name, which tracebacks need.
                return marshal.loads, (marshal.dumps(value),)
            return super().reducer_override(value)

        def _note(self, value: Any) -> None:  # noqa: ANN401
            name = value.__name__ if isinstance(value, ModuleType) else value.__module__
            if is_installed(name):
                self.packages.add(name.partition(".")[0])
                return
            module = sys.modules.get(name or "")
            if module and module not in self.by_value and name != "__main__":
                cloudpickle.register_pickle_by_value(module)
                self.by_value.add(module)
            if isinstance(value, FunctionType):
                self._check_imports(value)

        def _check_imports(self, function: FunctionType) -> None:
            """Records packages that a function imports when it runs.

            User modules are refused: on a worker they would be missing, or differ.
            """
            for name, is_relative in _imports(function.__code__):
                top = name.partition(".")[0]
                if is_relative or not _is_installed_top(top):
                    raise UsageError(
                        f"dask: {function.__qualname__} imports {name} as it runs, which workers "
                        "do not have: import it at the top of the file"
                    )
                self.packages.add(top)

    return Pickler()


def _imports(code: CodeType) -> Iterator[tuple[str, bool]]:
    """Modules imported by a function or one nested in it, with a flag for relative imports."""
    instructions = list(dis.get_instructions(code))
    for index, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME":
            # The two preceding instructions push the level of the import and the names to import.
            yield str(instruction.argval), instructions[index - 2].argval != 0
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imports(constant)


def _is_installed_top(top: str) -> bool:
    """True for modules that do not belong to the user, also before they are imported."""
    if is_installed(top):
        return True
    try:
        spec = find_spec(top)
    except ValueError:  # a module without a spec, such as __main__
        return False
    return bool(spec and is_installed_file(spec.origin))


def _distributions(top: str) -> list[str]:
    """Installed packages that hold a module."""
    return [] if top == "retx" else _all_distributions().get(top, [])


@cache
def _all_distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def _version(name: str) -> str | None:
    if name == "Python":
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        return version(name)
    except PackageNotFoundError:
        return None
