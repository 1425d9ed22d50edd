"""Files that a command opens before long work and writes after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from retx.errors import UsageError
from retx.files.directory import new_file, reason_of, writing


class OpenedFiles:
    """Files of an answer, under temporary names until they are complete.

    Attributes:
        written: Files that have been written.
        faults: Reasons why others could not be written, with their paths.
    """

    def __init__(self, partial: dict[Path, Path]) -> None:
        self._partial = partial
        self.written: list[Path] = []
        self.faults: list[str] = []

    def write(self, file: Path | None, write: Callable[[Path], object]) -> None:
        """Writes a file, if it was requested. If that fails, as on a full disk, leaves no file.

        Args:
            file: Path that the user named; None if the file was not requested.
            write: Function that writes to the path that it is given.
        """
        if file is None:
            return
        partial = self._partial[file]
        try:
            with writing(partial):
                write(partial)
        except OSError as error:
            partial.unlink(missing_ok=True)
            self.faults.append(f"{file}: {reason_of(error)}")
        else:
            self.written.append(file)

    def attempt(self, work: Callable[[], object], target: Path | None = None) -> None:
        """Does work that writes further files. If that fails, the answer is still printed.

        Args:
            work: Function that writes and names the file in its errors.
            target: Path that is listed as written afterwards; None if the work lists its own.
        """
        try:
            work()
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            self.faults.append(f"{place}{reason_of(error)}")
        except UsageError as error:
            self.faults.append(str(error.args[0]))
        else:
            if target:
                self.written.append(target)

    def raise_faults(self) -> None:
        """Raises an error that names the files that are missing.

        Raises:
            UsageError: A file could not be written.
        """
        if self.faults:
            raise UsageError("; ".join(self.faults))


@contextmanager
def opened_files(files: Iterable[Path | None]) -> Iterator[OpenedFiles]:
    """Opens the files that were requested, for a `with` block that works and then writes them.

    Raises:
        OSError: A file cannot be created.
    """
    with ExitStack() as stack:
        yield OpenedFiles({file: stack.enter_context(new_file(file)) for file in files if file})
