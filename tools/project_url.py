#!/usr/bin/env python3
"""Writes the URL of the repository into CITATION.cff and pyproject.toml.

    tools/project_url.py https://example.org/team/retx

The sources name no URL, since copies of them live at several places; a release names the one that
it was made at. The workflow of a release (.github/workflows/wheels.yml) runs this before it builds,
so that the wheels, the source distribution and the released CITATION.cff all carry the same URL.
A second run replaces the URL of the first.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]


class URLError(Exception):
    """A text that cannot be cited as the URL of a repository."""


def checked(url: str) -> str:
    """The URL without a slash at its end."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or not parts.path.strip("/"):
        raise URLError(f"{url!r} is not the URL of a repository, such as https://HOST/OWNER/retx")
    if re.search(r'[\s"\\]', url):
        raise URLError(f"{url!r} contains a space, a quotation mark or a backslash")
    return url.rstrip("/")


def cited(citation: str, url: str) -> str:
    """The text of CITATION.cff with this URL."""
    lines = [line for line in citation.splitlines() if not line.startswith(("url:", "repository-"))]
    return "\n".join([*lines, f'url: "{url}"', f'repository-code: "{url}"']) + "\n"


def packaged(project: str, url: str) -> str:
    """The text of pyproject.toml with this URL among the package's metadata."""
    table = f'[project.urls]\nRepository = "{url}"\n'
    if "[project.urls]\n" in project:
        return re.sub(r'\[project\.urls\]\nRepository = ".*"\n', lambda _: table, project)
    return project.replace("[project.scripts]\n", f"{table}\n[project.scripts]\n", 1)


def main() -> None:
    """Rewrites both files, or ends with status 1 and a sentence."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of both files")
    options = parser.parse_args()
    try:
        url = checked(options.url)
    except URLError as error:
        sys.exit(str(error))
    for name, rewrite in (("CITATION.cff", cited), ("pyproject.toml", packaged)):
        path = options.root / name
        path.write_text(rewrite(path.read_text(encoding="utf-8"), url), encoding="utf-8")


if __name__ == "__main__":
    main()
