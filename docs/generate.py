"""Writes docs/reference from the code: what the scenario, the command line and Python offer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any

import retx
from retx.cli.entry import COMMANDS
from retx.models import MODELS

Schema = dict[str, Any]

SECTIONS = {
    "tcp": "[tcp.NAME]",
    "link": "[[link]]",
    "wlan": "[[wlan]]",
    "route": "[[route]]",
    "relay": "[[relay]]",
    "flow": "[[flow]]",
    "sweep": "[sweep]",
}
PYTHON = {
    "Run": (
        *("retx.run", "retx.replicate", "retx.tune", "retx.emulate", "retx.compare"),
        *("retx.compare_grid", "retx.resolve", "retx.drill", "retx.load"),
    ),
    "Results": ("retx.Result", "retx.Replications", "retx.Comparison", "retx.Grid", "retx.Drill"),
    "Tuning": ("retx.Range", "retx.tuning.result.Tuning"),
    "Plots": ("retx.plots.chooser.Plot", "retx.plots.sweeps.SweepPlot", "retx.plots.style.Figure"),
    "Closed forms": ("retx.models.calculate", "retx.models.describe"),
    "What a scenario can name": ("retx.describe", "retx.schema"),
    "Decisions of your own": ("retx.CongestionControl", "retx.LossCause"),
}


def write(directory: Path) -> None:
    """Writes every page; one that has not changed is left as it is."""
    directory.mkdir(exist_ok=True)
    pages = {
        "command-line": command_line(),
        "scenario": scenario(),
        "choices": choices(),
        "closed-forms": closed_forms(),
        "python": python(),
    }
    for name, lines in pages.items():
        path, text = directory / f"{name}.md", "\n".join(lines) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def command_line() -> Iterator[str]:
    """Output of `--help` for every command."""
    yield "# Command line"
    yield from _text_block(_help())
    for name in COMMANDS:
        yield f"\n## retx {name}"
        yield from _text_block(_help(name))


def _help(*words: str) -> str:
    code = "import sys; sys.argv[0] = 'retx'; from retx.cli import main; main()"
    command = [sys.executable, "-c", code, *words, "--help"]
    environment = {**os.environ, "COLUMNS": "90", "TERM": "dumb"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def scenario() -> Iterator[str]:
    """Every key of a scenario file, from the JSON Schema."""
    schema = retx.schema()
    yield "# Scenario file"
    yield "\nThe same as JSON Schema, for editors: `retx schema`. What choices there are for a key,"
    yield "such as `channel`: [Choices](choices.md)."
    top = {key: value for key, value in schema["properties"].items() if key not in SECTIONS}
    yield "\n## Top level"
    yield from _keys(schema | {"properties": top})
    for key, title in SECTIONS.items():
        if key in schema["properties"]:
            table = _table_of(schema, schema["properties"][key])
            yield f"\n## {title}"
            yield f"\n{table.get('description', '')}"
            yield from _keys(table | {"$defs": schema["$defs"]})
    yield "\n## Tables within"
    for name, table in _nested(schema):
        yield f"\n### {name}"
        yield f"\n{table.get('description', '')}"
        yield from _keys(table | {"$defs": schema["$defs"]})


def choices() -> Iterator[str]:
    """Everything that a scenario can name, with its parameters."""
    yield "# Choices"
    yield "\nWhat `retx list` shows."
    for kind, entries in retx.describe().items():
        if kind == "model":
            continue
        yield f"\n## {kind}"
        for entry in entries:
            yield f"\n### {entry['name']}"
            yield f"\n{entry['summary']}"
            if kind == "tcp":
                # The meaning of a field is given once, in the scenario's [tcp.NAME].
                values = [(f"`{it['name']}`", _default(it)) for it in entry["parameters"]]
                yield from _markdown_table(("field", "value"), values)
                continue
            rows = [
                (
                    f"`{it['name']}`",
                    it["type"],
                    _default(it),
                    "; ".join([it["doc"], *(_value(value) for value in it.get("values", []))]),
                )
                for it in entry["parameters"]
            ]
            yield from _markdown_table(("parameter", "type", "default", "what it is"), rows)


def closed_forms() -> Iterator[str]:
    """Equations, sources and arguments of `retx.models`."""
    entries = retx.models.describe()
    yield "# Closed forms"
    for name in MODELS:
        yield f"\n## {name}"
        yield from _text_block(getdoc(import_module(f"retx.models.{name}")) or "")
        for entry in entries:
            if entry["name"].split(".")[0] == name:
                yield f"\n### {entry['name']}"
                yield f"\n{entry['summary']}"
                rows = [
                    (f"`{it['name']}`", it["type"], _default(it), it["doc"])
                    for it in entry["parameters"]
                ]
                yield from _markdown_table(("argument", "unit", "default", "what it is"), rows)


def python() -> Iterator[str]:
    """Directives for what Python offers; the text is that of the docstrings."""
    yield "# Python"
    for title, names in PYTHON.items():
        yield f"\n## {title}"
        for name in names:
            kind = "class" if name.rsplit(".", 1)[-1][0].isupper() else "function"
            yield f"\n```{{eval-rst}}\n.. auto{kind}:: {name}"
            if kind == "class":
                yield f"   :members: {', '.join(_own_members(name))}"
            yield "```"


def _own_members(name: str) -> list[str]:
    """Members that a class defines itself; matplotlib describes those inherited from it."""
    module, _, attribute = name.rpartition(".")
    members = vars(getattr(import_module(module), attribute))
    return [
        name
        for name, member in members.items()
        if not name.startswith("_")
        and getattr(member, "__module__", "retx").split(".")[0] in ("retx", "functools")
    ]


def _table_of(schema: Schema, value: Schema) -> Schema:
    """The table that a key holds, by name or in a list."""
    inner = value
    if "properties" not in value:
        inner = value.get("additionalProperties") or value.get("items") or value
    inner = _resolved(schema, inner if isinstance(inner, dict) else value)
    return next((one for one in inner.get("anyOf", []) if "properties" in one), inner)


def _nested(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Tables within tables, under the key that holds them; each once."""
    seen = set()
    tables = [_table_of(schema, schema["properties"][key]) for key in SECTIONS]
    while tables:
        table = tables.pop(0)
        for key, value in [*table.get("properties", {}).items(), *_under_any_key(table)]:
            inner = _resolved(schema, value.get("items", value))
            if "properties" in inner and (key, tuple(inner["properties"])) not in seen:
                seen.add((key, tuple(inner["properties"])))
                tables.append(inner)
                yield key, inner


def _under_any_key(table: Schema) -> Iterator[tuple[str, Schema]]:
    """Values that a table holds under keys of the user's choice, by the names of their types."""
    for value in (table.get("additionalProperties") or {}).get("anyOf", []):
        if "$ref" in value:
            yield value["$ref"].rsplit("/", 1)[-1].lower(), value


def _resolved(schema: Schema, value: Schema) -> Schema:
    name = value.get("$ref", "").rsplit("/", 1)[-1]
    return (
        schema["$defs"][name] | {k: v for k, v in value.items() if k != "$ref"} if name else value
    )


def _keys(table: Schema) -> Iterator[str]:
    rows = []
    for key, value in table.get("properties", {}).items():
        given = _resolved(table, value)
        required = key in table.get("required", [])
        default = (
            "(required)" if required else _toml(given["default"]) if "default" in given else ""
        )
        texts = [given.get("description", "")]
        texts += [f'`"{it["const"]}"`: {it["description"]}' for it in _constants(given)]
        rows.append((f"`{key}`", _type(table, given), default, " ".join(texts)))
    yield from _markdown_table(("key", "type", "default", "what it is"), rows)


def _constants(value: Schema) -> list[Schema]:
    return [it for it in value.get("oneOf", []) if "const" in it and "description" in it]


def _type(schema: Schema, value: Schema) -> str:
    value = _resolved(schema, value)
    if "oneOf" in value:
        return "name"
    if "anyOf" in value:
        kinds = [_type(schema, one) for one in value["anyOf"]]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind))
    if "const" in value or "enum" in value:
        return "name" if "enum" in value else f'`"{value["const"]}"`'
    if "properties" in value:
        return "table"
    if value.get("pattern"):
        return "text with unit"
    kind = value.get("type", "")
    if kind == "array":
        return f"list of {_type(schema, value.get('items', {})) or 'values'}"
    words = {"integer": "integer", "string": "text", "object": "table", "boolean": "true or false"}
    return " or ".join(words.get(one, one) for one in ([kind] if isinstance(kind, str) else kind))


def _default(entry: dict[str, Any]) -> str:
    if "default" in entry:
        return _toml(entry["default"])
    return "(required)" if entry["required"] else ""


def _toml(value: object) -> str:
    from retx.scenarios.source import toml_value

    return f"`{toml_value(value)}`"


def _value(value: dict[str, str]) -> str:
    return f'`"{value["name"]}"`' + (f": {value['doc']}" if value["doc"] else "")


def _text_block(text: str) -> Iterator[str]:
    yield "\n```text"
    yield text.rstrip()
    yield "```"


def _markdown_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield "\n| " + " | ".join(head) + " |"
        yield "|" + "---|" * len(head)
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|").replace("<", "&lt;") for cell in row)
        yield "| " + " | ".join(cells) + " |"
