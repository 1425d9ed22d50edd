"""Parser of `KEY=VALUE` options of the command line."""

from __future__ import annotations

import re

PARTS = re.compile(r"""((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'=])*)=(.*)""", re.DOTALL)
"""The key ends at the first equals sign outside of quotes, because quoted names may contain one."""


def assignment(text: str) -> tuple[str, str] | None:
    """Key and value without surrounding spaces; None if the text has no key or no `=`."""
    found = PARTS.fullmatch(text)
    key, value = (part.strip() for part in found.groups()) if found else ("", "")
    return (key, value) if key else None
