"""Sections of RFCs that are cited anywhere exist: `docs/rfc-sections.toml` lists them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from repository import ROOT, tracked

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


SECTION = r"\d+(?:\.\d+)*"
CITATION = re.compile(
    rf"RFC (\d+)((?:,? \(?(?:§|[Ss]ections? ){SECTION}(?: \([\w.]+\))?(?: \([^()§]*\))?)"
    rf"(?:(?:,|;)?(?: and| or| to)? ?§{SECTION})*)"
)
"""An RFC and the sections after it: `RFC 6298 §5.5`, `RFC 8033 §4.1 and §5.1`."""

CONTINUED = re.compile(r"\n\s*(?://[/!]?|#)?\s*")
"""End of a line within a comment or paragraph."""


def cited(text: str) -> set[tuple[str, str]]:
    """Pairs of RFC and section in a text."""
    return {
        (match[1], section)
        for match in CITATION.finditer(CONTINUED.sub(" ", text))
        for section in re.findall(rf"(?:§|[Ss]ections? )({SECTION})", match[2])
    }


def all_citations() -> dict[tuple[str, str], str]:
    """Each section that the repository cites, with a file that cites it."""
    patterns = ["*.rs", "*.py", "*.pyi", "*.md", "*.pkt", "*.toml", "*.html"]
    paths = [path for path in tracked(*patterns) if path.name != Path(__file__).name]
    return {
        section: str(path.relative_to(ROOT))
        for path in paths
        if path.exists()
        for section in cited(path.read_text(encoding="utf-8"))
    }


def test_citations_are_found_in_all_their_forms() -> None:
    text = """RFC 6298 (§5.5), RFC 8985
//! §5.1. RFC 5681,
    /// section 3.1; RFC 8033 §4.1 and §5.1, RFC 3135
    // §2.4 (split connections) and §4.1; RFC 6675 §5 (C)."""
    assert cited(text) == {
        ("6298", "5.5"),
        ("8985", "5.1"),
        ("5681", "3.1"),
        ("8033", "4.1"),
        ("8033", "5.1"),
        ("3135", "2.4"),
        ("3135", "4.1"),
        ("6675", "5"),
    }


def test_cited_sections_exist() -> None:
    listed = tomllib.loads((ROOT / "docs/rfc-sections.toml").read_text(encoding="utf-8"))
    known = {(rfc, section) for rfc, titles in listed.items() for section in titles}
    found = all_citations()
    assert len(found) > 100
    unknown = {f"RFC {rfc} §{at}: {found[rfc, at]}" for rfc, at in found.keys() - known}
    assert not unknown, "cited, but not in docs/rfc-sections.toml:\n" + "\n".join(sorted(unknown))
    stale = {f"RFC {rfc} §{at}" for rfc, at in known - found.keys()}
    assert not stale, f"in docs/rfc-sections.toml, but cited nowhere: {sorted(stale)}"
