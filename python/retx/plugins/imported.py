"""Finds the user's modules that user code imports."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import resolve_name
from pathlib import Path

from retx.files.python_source import parse
from retx.plugins.fingerprint import is_installed


def own_imports(sources: Mapping[str, bytes]) -> dict[str, str]:
    """Hash of each module, by its path, that these files import directly or indirectly.

    Installed modules are left out, and so are modules that are not imported yet.

    Args:
        sources: Contents of files, by their paths.
    """
    found: dict[str, str] = {}
    pending = [(content, "") for content in sources.values()]
    while pending:
        for name in _names(*pending.pop()):
            path = getattr(sys.modules.get(name), "__file__", None)
            if not path or is_installed(name) or path in found or path in sources:
                continue
            with suppress(OSError):
                content = Path(path).read_bytes()
                found[path] = hashlib.sha256(content).hexdigest()
                pending.append((content, getattr(sys.modules[name], "__package__", None) or ""))
    return found


def _names(content: bytes, package: str) -> Iterator[str]:
    """Names that a source text may import: `a`, `a.b` and their packages for `from a import b`."""
    try:
        tree = parse(content)
    except (SyntaxError, ValueError):  # such as a compiled module
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            with suppress(ImportError):  # more dots than packages
                start = resolve_name(module, package)
                names = [start, *(f"{start}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: end + 1]) for end in range(len(parts)))
