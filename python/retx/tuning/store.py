"""File that stores a tuning, so that it can be continued."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from retx.errors import UsageError
from retx.files.directory import writing
from retx.files.locks import take
from retx.files.regular import regular_handle

if TYPE_CHECKING:
    import optuna

Direction = Literal["minimize", "maximize"]

LOCK_CONTENT = b"held by retx tune\n"
STUDY = "retx"
SIGNATURE = "retx"
WITHOUT_VALUE = "without value"
"""Marks trials that were completed without a value, to distinguish them from interrupted trials."""


@contextmanager
def locked(path: Path | None) -> Iterator[None]:
    """Locks the file of a tuning while the block runs.

    Raises:
        IsADirectoryError: The path is a directory.
        UsageError: Another tuning uses the file.
    """
    if path is None:
        yield
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory: name a file", str(path))
    lock = path.with_name(f"{path.name}.lock")
    foreign = UsageError(f"{lock}: is in the way, and retx did not write it: name another file")
    if lock.is_symlink():
        raise foreign
    # A killed tuning leaves its lock file behind. The owner of an empty file is unknown, so such a
    # file is used as the lock, but not removed.
    is_new = not lock.exists()
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    handle = regular_handle(lock, flags)
    try:
        before = os.read(handle, len(LOCK_CONTENT) + 1)
        if before not in {b"", LOCK_CONTENT}:
            raise foreign
        if not take(handle):
            raise UsageError(f"{path}: another tuning is writing to it")
        if is_new:
            _write_lock(handle, lock)
        try:
            yield
        finally:
            if is_new or before == LOCK_CONTENT:
                lock.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _write_lock(handle: int, lock: Path) -> None:
    try:
        with writing(lock):
            os.write(handle, LOCK_CONTENT)
    except OSError:
        # An empty lock file would never be removed, because its owner is unknown.
        lock.unlink(missing_ok=True)
        raise


def open_study(
    path: Path | None, directions: list[Direction], signature: Mapping[str, Any]
) -> optuna.Study:
    """Optuna's study in the file, or a new one; without a file it is kept in memory.

    Raises:
        UsageError: The file holds another tuning, or another kind of data.
    """
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    if path is not None:
        _check_database(path)
    # Optuna would log all trials and missing values, which are also in the result.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = None if path is None else f"sqlite:///{path}"
    try:
        study = optuna.create_study(
            storage=storage,
            study_name=STUDY,
            directions=directions,
            load_if_exists=True,
        )
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        raise UsageError(f"{path}: not a file that can store a tuning: {reason}") from None
    wanted = json.loads(json.dumps(signature))
    found = study.user_attrs.get(SIGNATURE)
    if found is None:
        study.set_user_attr(SIGNATURE, wanted)
    elif found != wanted:
        different = [key for key in wanted if found.get(key) != wanted[key]]
        raise UsageError(
            f"{path}: holds another tuning ({', '.join(different)} differ): choose another file"
        )
    return study


def _check_database(path: Path) -> None:
    """Refuses a database of something else, to which Optuna would add its tables.

    Raises:
        UsageError: The file has tables, but none of Optuna's.
    """
    import sqlite3

    if not path.exists() or not path.stat().st_size:
        return
    with closing(sqlite3.connect(path)) as database, suppress(sqlite3.DatabaseError):
        rows = database.execute("select name from sqlite_master where type = 'table'")
        names = {name for (name,) in rows}
        if names and "studies" not in names:
            raise UsageError(
                f"{path}: a database of another program, with the table {min(names)}: "
                "name another file"
            )


def judged(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """Completed trials, with or without a value."""
    from optuna.trial import TrialState

    states = (TrialState.COMPLETE, TrialState.FAIL)
    return [
        trial
        for trial in study.get_trials(deepcopy=False, states=states)
        if trial.state == TrialState.COMPLETE or WITHOUT_VALUE in trial.user_attrs
    ]
