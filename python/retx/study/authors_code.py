"""Runs the Python files of a study; an error in one is shown with the author's traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from retx._native import RunError, UserCodeError
from retx.errors import UsageError
from retx.study.data import StudyError, unknown

if TYPE_CHECKING:
    from retx.sweeps.derive import Function

QUANTITIES = "quantities"
"""Name of the file, and of its function, that derives quantities from the tables of a run."""


class Code:
    """The Python files of a study, which form a package; each is loaded when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._package: ModuleType | None = None

    @property
    def quantities(self) -> Function | None:
        """The function that derives quantities of each run; None without its file."""
        if not (self.folder / f"{QUANTITIES}.py").is_file():
            return None
        found: Function = self.function(f"{QUANTITIES}.{QUANTITIES}")
        return found

    def function(self, name: str) -> Callable[..., Any]:
        """The function that a file names as `FILE.FUNCTION`.

        Raises:
            StudyError: There is no such file or function.
            UserCodeError: The file cannot be loaded.
        """
        file, _, function = name.partition(".")
        if not (self.folder / f"{file}.py").is_file():
            raise StudyError(f"python: {name!r}: write FILE.FUNCTION; there is no {file}.py")
        module = self.module(file)
        if not callable(getattr(module, function, None)):
            raise StudyError(f"python: {unknown('function', function, vars(module), listed=False)}")
        found: Callable[..., Any] = getattr(module, function)
        return found

    def module(self, file: str) -> ModuleType:
        """A file as a module, without its ending.

        Raises:
            UserCodeError: The file cannot be loaded.
        """
        # No caches are written into the folder, which may be read-only.
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            with authors_errors(self.folder, f"{file}.py: cannot be loaded"):
                return import_module(f"{self._own_package().__name__}.{file}")
        finally:
            sys.dont_write_bytecode = before

    def _own_package(self) -> ModuleType:
        """The package of these files, without modules of an earlier state of the folder."""
        if self._package is None:
            digest = sha256(str(self.folder.resolve()).encode()).hexdigest()[:12]
            name = f"retx_study_{digest}"
            for loaded in [key for key in list(sys.modules) if key.partition(".")[0] == name]:
                del sys.modules[loaded]
            invalidate_caches()
            self._package = sys.modules[name] = ModuleType(name)
            self._package.__path__ = [str(self.folder)]
        return self._package

    def call(self, name: str, *arguments: Any) -> Any:  # noqa: ANN401
        """The result of a function `FILE.FUNCTION`; a list of what it yields.

        Raises:
            StudyError: There is no such function.
            UserCodeError: It fails.
        """
        function = self.function(name)
        with authors_errors(self.folder, f"{name.partition('.')[0]}.py: {function.__name__}"):
            found = function(*arguments)
            return list(found) if isinstance(found, Iterator) else found


@contextmanager
def authors_errors(folder: Path, what: str) -> Iterator[None]:
    """Runs code of a study.

    Args:
        folder: The study's folder.
        what: The file, and the function that runs or what has failed.

    Raises:
        UserCodeError: The code fails; the cause has the traceback from its first frame.
    """
    try:
        yield
    except (UsageError, RunError, MemoryError):
        raise
    except Exception as error:
        said = str(error).partition("\n")[0]
        raise UserCodeError(f"{folder / what}: {type(error).__name__}: {said}") from (
            error.with_traceback(_since(folder, error.__traceback__))
        )


def _since(folder: Path, traceback: TracebackType | None) -> TracebackType | None:
    """Part of a traceback from the first frame in a file of the study."""
    home = folder.resolve()
    while traceback and Path(traceback.tb_frame.f_code.co_filename).resolve().parent != home:
        traceback = traceback.tb_next
    return traceback
