"""Runs the Python file of a study; an error in it is shown with the author's traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, TracebackType

from retx._native import RunError, UserCodeError
from retx.errors import UsageError
from retx.study.library import Study

FILE = "figures.py"


def module_of(study: Study) -> ModuleType:
    """The study's figures.py as part of a package, so that it can import neighbouring files.

    Without the file, the module is empty.

    Raises:
        UserCodeError: The file cannot be loaded.
    """
    path = study.folder / FILE
    name = f"retx_study_{study.name.replace('-', '_')}"
    spec = spec_from_file_location(name, path, submodule_search_locations=[str(study.folder)])
    if not path.is_file():
        return ModuleType(name)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]  # of another folder of the same name
    sys.modules[name] = module
    # No caches are written into the folder, which may be read-only.
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with authors_errors(study.folder, "cannot be loaded"):
            spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


@contextmanager
def authors_errors(folder: Path, what: str) -> Iterator[None]:
    """Runs code of a study.

    Args:
        folder: The study's folder.
        what: The function that runs, or what has failed.

    Raises:
        UserCodeError: The code fails; the cause has the traceback from its first frame.
    """
    try:
        yield
    except (UsageError, RunError, MemoryError):
        raise
    except Exception as error:
        said = str(error).partition("\n")[0]
        raise UserCodeError(f"{folder / FILE}: {what}: {type(error).__name__}: {said}") from (
            error.with_traceback(_since(folder, error.__traceback__))
        )


def _since(folder: Path, traceback: TracebackType | None) -> TracebackType | None:
    """Part of a traceback from the first frame in a file of the study."""
    home = folder.resolve()
    while traceback and Path(traceback.tb_frame.f_code.co_filename).resolve().parent != home:
        traceback = traceback.tb_next
    return traceback
