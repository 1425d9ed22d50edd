"""The code of the user's own that a scenario names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class OwnCode:
    """What of the user's own ran, or is to run."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """The text of each file that was named, by its full path."""
    classes: Mapping[str, str | None] = field(default_factory=dict)
    """A hash of each class that is in no file, by its name; None where it cannot be had."""

    def digests(self, scenario: str) -> list[str]:
        """Each file, and each class that a scenario's text names, with a hash of its content."""
        found: dict[str, str | None] = {
            path: hashlib.sha256(text).hexdigest() for path, text in self.files.items()
        }
        found |= {name: content for name, content in self.classes.items() if name in scenario}
        return [f"{name} {content}" for name, content in sorted(found.items())]

    @property
    def unknown(self) -> list[str]:
        """Classes of which it cannot be told whether they are the same another time."""
        return [name for name, content in self.classes.items() if content is None]
