"""Files of the repository, for the tests that read all of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tracked(*patterns: str) -> list[Path]:
    """The files of the repository, those not yet committed included."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in sorted(set(listed.stdout.split("\n"))) if name]
