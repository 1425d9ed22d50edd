"""Limits on the side effects of a scenario, which may come from a stranger.

A scenario can name Python files, which are run, and data files, which are read. By default code is
run, and data files are read only below the scenario's folder. `code=False` (`--no-code`) refuses
code before it is loaded; `files_anywhere=True` (`--files-anywhere`) permits data files in any
folder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from retx._native import CodeRefusedError
from retx.files.regular import open_regular

LIMIT_BYTES = 64 << 20
"""Maximum size of a data file."""


Refuse = Callable[[], Exception]
"""Function that makes an error."""


class Trust:
    """Limits that apply to scenarios when they are read.

    Args:
        refuse_code: Function that returns the error for a scenario that names code; None if code
            may run.
        files_anywhere: Data files may lie outside the scenario's folder.
    """

    def __init__(self, refuse_code: Refuse | None = None, files_anywhere: bool = False) -> None:
        self.refuse_code = refuse_code
        self.files_anywhere = files_anywhere


_TRUST: ContextVar[Trust | None] = ContextVar("trust", default=None)


@contextmanager
def trusting(*, code: bool = True, files_anywhere: bool = False) -> Iterator[None]:
    """Sets limits for the scenarios that are read in the block; stricter limits remain in force.

    Args:
        code: Code that a scenario names may be run.
        files_anywhere: Data files may lie outside the scenario's folder.
    """
    refuse = current().refuse_code if code else _no_code
    anywhere = files_anywhere or current().files_anywhere
    token = _TRUST.set(Trust(refuse, anywhere))
    try:
        yield
    finally:
        _TRUST.reset(token)


@contextmanager
def without_code(refuse: Refuse) -> Iterator[None]:
    """Refuses scenarios that name code with this error, within the block."""
    before = current()
    token = _TRUST.set(Trust(before.refuse_code or refuse, before.files_anywhere))
    try:
        yield
    finally:
        _TRUST.reset(token)


def limit_process(*, code: bool = True, files_anywhere: bool = False) -> None:
    """Sets limits until the process ends, for the options of the command line."""
    before = current()
    refuse = before.refuse_code if code else _no_code
    _TRUST.set(Trust(refuse, files_anywhere or before.files_anywhere))


def current() -> Trust:
    """Limits in force."""
    return _TRUST.get() or Trust()


def _no_code() -> Exception:
    return CodeRefusedError(
        "", "names code of its own, which does not run with --no-code (code=False)"
    )


def read_data(trust: Trust, base: Path, file: str, named_by_user: Collection[str]) -> str:
    """Text of a data file that a scenario names.

    Args:
        trust: The limits.
        base: The scenario's folder.
        file: Path as in the scenario.
        named_by_user: Files that the user named in overrides. They may lie in any folder.

    Raises:
        DataFileError: The file lies where reading is not permitted, cannot be read, is too large,
            or is not text; the message says why.
    """
    path = base / file
    anywhere = trust.files_anywhere or file in named_by_user
    if not (anywhere or path.resolve().is_relative_to(base.resolve())):
        raise DataFileError(
            "is outside the scenario's folder: copy it there, or allow it by --files-anywhere "
            "(files_anywhere=True)"
        )
    try:
        with open_regular(path) as opened:
            content = opened.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise DataFileError(f"cannot be read: {error.strerror}") from None
    if len(content) > LIMIT_BYTES:
        raise DataFileError(f"larger than {LIMIT_BYTES >> 20} MiB, the limit for a trace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DataFileError("not a text in UTF-8") from None


class DataFileError(Exception):
    """A data file cannot be used; the error about the scenario gives this message as the reason."""
