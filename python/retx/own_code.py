"""User code that a scenario names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class OwnCode:
    """User code that ran or is to run."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """The text of each file that was named, by its full path."""
    classes: Mapping[str, str | None] = field(default_factory=dict)
    """A hash of each class that is in no file, by its name; None if it cannot be hashed."""
    imported: Mapping[str, str] = field(default_factory=dict)
    """A hash of each module of the user that the files import, by its full path."""

    @property
    def hashes(self) -> dict[str, str | None]:
        """Hash of each content, by file, class or module."""
        import hashlib

        files = {path: hashlib.sha256(text).hexdigest() for path, text in self.files.items()}
        return {**files, **self.classes, **self.imported}

    def digests(self, scenario: str) -> list[str]:
        """Files, modules and classes that a scenario's text names, each with its hash."""
        return [
            f"{name} {content}"
            for name, content in sorted(self.hashes.items())
            if name not in self.classes or name in scenario
        ]

    @property
    def unknown(self) -> list[str]:
        """Classes without a hash, which may differ at the next run."""
        return [name for name, content in self.classes.items() if content is None]


def unknown_code(names: list[str]) -> str:
    """Message that results cannot be stored for runs with these classes."""
    return (
        f"the class {names[0]} uses what cannot be compared with another time, such as a lock or "
        "an open file: put it into a file of its own"
    )
