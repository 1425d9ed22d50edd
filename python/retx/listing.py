"""Names that a scenario can use: presets, models, applications, with their parameters."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from retx import _native
from retx.errors import UsageError
from retx.errors.meant import meant

Entry = dict[str, Any]
"""`name`, `summary` and `parameters`; see `describe`."""


def describe() -> dict[str, list[Entry]]:
    """All choices by kind: `tcp` (presets), `congestion_control`, `channel`, `template`, ….

    Each entry has `name`, `summary` and `parameters`. Each parameter has `name`, `type`, `required`
    and `doc`, and, where they apply, `default` and `values`.
    """
    kinds: dict[str, list[Entry]] = json.loads(_native.describe())
    if find_spec("retx.study"):
        kinds["study"] = import_module("retx.study").describe()
    kinds["template"] = import_module("retx.scenarios.templates").describe()
    kinds["model"] = import_module("retx.models.listing").describe()
    return kinds


def schema() -> dict[str, Any]:
    """JSON Schema of scenario files, with which editors complete keys and check values."""
    parsed: dict[str, Any] = json.loads(_native.json_schema())
    return parsed


def find(kind: str, name: str | None = None) -> list[Entry]:
    """Entries of a kind, or the entry of this name; a module of models has several entries.

    Raises:
        UsageError: The kind or name is unknown.
    """
    kinds = describe()
    if kind not in kinds and kind.removesuffix("s") in kinds:
        kind = kind.removesuffix("s")  # "models", as people say it
    if kind not in kinds:
        raise UsageError(f"no kind {kind!r}{_named(kind, kinds) or _meant(kind, list(kinds))}")
    entries = kinds[kind]
    if name is None:
        return entries
    named = [entry for entry in entries if entry["name"] == name]
    # The name of a module stands for all its closed forms.
    named = named or [entry for entry in entries if entry["name"].startswith(f"{name}.")]
    if not named:
        names = [entry["name"] for entry in entries]
        raise UsageError(f"no {kind} is named {name!r}{_meant(name, names)}")
    return named


def _named(word: str, kinds: dict[str, list[Entry]]) -> str:
    """Words that show the entries of this name; empty if there are none."""
    found = [kind for kind, entries in kinds.items() if any(it["name"] == word for it in entries)]
    return f"; write {' or '.join(f'{kind} {word}' for kind in found)}" if found else ""


def _meant(word: str, known: list[str]) -> str:
    hint = meant(word, known)
    return f"{hint} (there are {', '.join(known)})" if known else hint
