"""User code that a scenario names."""

from __future__ import annotations

from collections.abc import Mapping


class UserCodeHashes:
    """User code that has run or will run.

    Args:
        files: Text of each named file, by its full path.
        classes: Hash of each class that is not defined in a file, by the class's name; None if the
            class cannot be hashed.
        imported: Hash of each user module that the files import, by the module's full path.
    """

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        classes: Mapping[str, str | None] | None = None,
        imported: Mapping[str, str] | None = None,
    ) -> None:
        self.files = files or {}
        self.classes = classes or {}
        self.imported = imported or {}

    @property
    def hashes(self) -> dict[str, str | None]:
        """Hashes of all user code, by file, class or module."""
        import hashlib

        files = {path: hashlib.sha256(text).hexdigest() for path, text in self.files.items()}
        return {**files, **self.classes, **self.imported}

    def digests(self, scenario: str) -> list[str]:
        """The files, modules and classes named in the text of a scenario, each with its hash."""
        return [
            f"{name} {content}"
            for name, content in sorted(self.hashes.items())
            if name not in self.classes or name in scenario
        ]

    @property
    def unhashable(self) -> list[str]:
        """Classes without a hash: changes to them before the next run cannot be detected."""
        return [name for name, content in self.classes.items() if content is None]


def unhashable_message(names: list[str]) -> str:
    """Error message: results of runs with these classes cannot be stored."""
    return (
        f"the class {names[0]} uses an object that cannot be hashed, such as a lock or an open "
        "file: define the class in a file of its own"
    )
