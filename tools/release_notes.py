#!/usr/bin/env python3
"""Prints the notes of a release: its part of CHANGELOG.md.

    tools/release_notes.py            # of the version in Cargo.toml
    tools/release_notes.py v0.1.0     # of a tag, which must be that version
    tools/release_notes.py --version  # 0.1.0

The version is written in Cargo.toml alone; a tag is `v` and the version. Until the changelog has a
part with the version's name, its part *Unreleased* is printed only with `--draft`.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class ReleaseError(Exception):
    """Parts missing before a release."""


def version(manifest: str) -> str:
    """The version of the workspace, from the text of Cargo.toml."""
    part = manifest.split("[workspace.package]", 1)[-1].split("\n[", 1)[0]
    found = re.search(r'^version = "([^"]+)"$', part, re.MULTILINE)
    if found is None:
        raise ReleaseError("Cargo.toml: no version in [workspace.package]")
    return found[1]


def notes(changelog: str, name: str) -> str:
    """The part of a changelog with this name, without its heading."""
    for part in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        # "## 0.2.0 (2027-01-31)" or "## 0.2.0"
        if heading.split() and heading.split()[0] == name:
            if not text.strip():
                raise ReleaseError(f"CHANGELOG.md: the part {name} is empty")
            return text.strip() + "\n"
    raise ReleaseError(f"CHANGELOG.md has no part {name}: rename Unreleased, or give --draft")


def main() -> None:
    """Prints the requested text, or ends with status 1 and a sentence."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tag", nargs="?")
    parser.add_argument("--draft", action="store_true", help="of what is not released yet")
    parser.add_argument("--version", action="store_true", help="prints the version alone")
    options = parser.parse_args()
    try:
        number = version((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
        if options.tag not in (None, f"v{number}"):
            raise ReleaseError(f"the tag {options.tag} is not v{number}, the version in Cargo.toml")
        if options.version:
            print(number)
            return
        name = "Unreleased" if options.draft else number
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        print(notes(changelog, name), end="")
    except ReleaseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
