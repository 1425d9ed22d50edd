"""Axis labels for keys of a scenario, made from the descriptions in the schema and the listing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from retx import _native
from retx.plots.labels import Label, axis, words
from retx.scenarios.varied import CHOSEN_BY

TABLES = {"link": "LinkTable", "flow": "FlowTable", "wlan": "WlanTable"}
"""Schema definitions that describe the keys of a section."""
KINDS = {"app": "application", "arq": "repair", "fec": "repair"}
"""Keys whose choices are listed under another name by `retx list`."""
SHORT = {
    "case": "case", "name": "flow", "seed": "seed", "tcp": "TCP", "app": "application",
    "retry_limit": "retry limit", "start": "start", "count": "number of flows", "queue": "queue",
    "channel": "channel", "mss": "MSS", "min_rto": "least RTO", "max_rto": "largest RTO",
    "initial_rto": "first RTO",
}  # fmt: skip
"""Keys with a special short name."""
LIMITS = {("queue", "packets"): "packets", ("queue", "bytes"): "bytes"}
"""Limits of a queue, whose descriptions differ between disciplines."""
UNIT = re.compile(r",? in (packets|bytes|segments|dB|Hz)$")
EACH = re.compile(r" of (?:both|each) directions?$")


def labels(keys: Sequence[str], scenario: Mapping[str, Any] | None = None) -> dict[str, Label]:
    """Axis labels of the keys of a grid.

    Args:
        keys: Keys as in the scenario, such as `link.radio.forward.channel.p`.
        scenario: Resolved scenario. It shows to which model a parameter belongs, so the label need
            not name the model.
    """
    return {key: _label(key, scenario) for key in keys}


def label_of(key: str, known: Mapping[str, Label] | None = None) -> Label:
    """Label of a key, or of another column of a table."""
    return known[key] if known and key in known else _label(key, None)


def _label(key: str, scenario: Mapping[str, Any] | None) -> Label:
    section, *rest = key.split(".")
    if not rest:
        # Other columns have their unit as a suffix.
        return Label(SHORT.get(key) or axis(key, [])[1])
    name = rest[0]
    words, unit = _meaning(section, rest, scenario)
    if section == "tcp" or _is_only(scenario, section):
        owner: list[str] = []
    else:
        owner = [name]
    owner += [part for part in rest if part in ("forward", "reverse") and owner]
    return Label(words, unit, " ".join(owner))


def _is_only(scenario: Mapping[str, Any] | None, section: str) -> bool:
    return scenario is not None and len(scenario.get(section) or []) == 1


def _meaning(
    section: str, rest: Sequence[str], scenario: Mapping[str, Any] | None
) -> tuple[str, str]:
    """Description and unit of a key."""
    last, inner = rest[-1], _inner(rest)
    if last in SHORT:
        return SHORT[last], ""
    if inner and (inner[-1], last) in LIMITS:
        return "limit of the queue", LIMITS[inner[-1], last]
    if inner:
        texts = _texts_of_choice(inner[-1], last, _chosen(scenario, section, rest))
    else:
        texts = [text for name, text in _properties(section).items() if name == last and text]
    found = {_clause(text) for text in texts}
    # If models differ in the meaning of the name, the label is the name itself.
    return found.pop() if len(found) == 1 else (words(" ".join([*inner[-1:], last])), "")


def _inner(rest: Sequence[str]) -> list[str]:
    """The parts of a key between the name of the link or flow and the last part."""
    return [it for it in rest[1:-1] if it not in ("forward", "reverse") and not it.isdigit()]


def _texts_of_choice(inner: str, last: str, chosen: str | None) -> list[str]:
    """Descriptions of a parameter of the chosen model, or of all models that have it."""
    return [
        parameter["doc"]
        for entry in _listing().get(KINDS.get(inner, inner), [])
        for parameter in entry["parameters"]
        if parameter["name"] == last and chosen in (None, entry["name"])
    ]


def _chosen(scenario: Mapping[str, Any] | None, section: str, rest: Sequence[str]) -> str | None:
    """Name of the model to which a key belongs, if the scenario determines it."""
    found: Any = (scenario or {}).get(section)
    for part in rest[:-1]:
        if isinstance(found, list):
            at = [it for it in found if isinstance(it, Mapping) and it.get("name") == part]
            number = int(part) if part.isdigit() else -1
            found = at[0] if at else (found[number] if 0 <= number < len(found) else None)
        elif isinstance(found, Mapping):
            found = found.get(part)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if isinstance(found, Mapping):
        return next((str(found[it]) for it in CHOSEN_BY if it in found), None)
    return found if isinstance(found, str) else None


def _properties(section: str) -> dict[str, str]:
    """Descriptions of the keys of a section."""
    if section == "tcp":
        entries = _listing()["tcp"]
        return {it["name"]: it["doc"] for it in entries[0]["parameters"]} if entries else {}
    table = _schema()["$defs"].get(TABLES.get(section, ""), {})
    return {
        name: value.get("description", "") for name, value in table.get("properties", {}).items()
    }


def _clause(text: str) -> tuple[str, str]:
    """First clause of a description, in lower case, and the unit stated in it."""
    clause = re.split(r"[;:.(]|, at least|, as ", text, maxsplit=1)[0].strip()
    clause = clause.replace("`", "")
    unit = UNIT.search(clause)
    clause = EACH.sub("", UNIT.sub("", clause))
    # Abbreviations such as RTT keep their capital letters.
    small = (
        clause[:1].lower() + clause[1:] if clause[1:2].islower() or clause[1:2] == " " else clause
    )
    return small.rstrip(","), unit[1] if unit else ""


@cache
def _listing() -> dict[str, list[dict[str, Any]]]:
    listing: dict[str, list[dict[str, Any]]] = json.loads(_native.describe())
    return listing


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_native.json_schema())
    return schema
