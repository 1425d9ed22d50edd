"""`retx init`: a scenario to start from, and the schema with which editors check it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from retx.cli.parameters import Argument, Option
from retx.errors import UsageError
from retx.files.regular import read_regular
from retx.scenarios import templates
from retx.terminal.streams import echo

FIRST = Path(__file__).parents[1] / "scenarios" / "first.toml"
"""Scenario that is written without `--like`."""
SCHEMA = "scenario.schema.json"

Like = Annotated[
    str | None,
    Option(
        "--like",
        metavar="NAME",
        completion="retx.cli.completion:templates",
        help="Start from datacentre, dsl, lte, satellite, starlink or wifi: published figures for "
        "such a path, with sources.",
    ),
]
File = Annotated[Path, Argument(help="File to write; its name ends in .toml.")]
Force = Annotated[bool, Option("--force", help="Overwrite an existing file.")]


def command(file: File = Path("scenario.toml"), like: Like = None, force: Force = False) -> None:
    """Write a commented scenario to start from.

    \b
    Examples:
      retx init
      retx init --like satellite
      retx init my-link.toml && retx run my-link.toml
    """
    from retx.files.directory import new_file

    if file.suffix != ".toml":
        raise UsageError(f"{file}: a scenario is a TOML file: choose a name that ends in .toml")
    if file.exists() and not force:
        raise UsageError(f"{file}: exists already: choose another name, or add --force")
    text = FIRST.read_text(encoding="utf-8") if like is None else templates.text(like)
    # The scenario is opened first, so that errors name the file that the user named.
    with new_file(file) as path:
        if write_schema(file.with_name(SCHEMA)):
            text = f"#:schema ./{SCHEMA}\n{text}"
        path.write_text(text.replace("FILE", str(file)), encoding="utf-8")
    echo(f"{file} is written. Run it: retx run {file}")


def write_schema(file: Path) -> bool:
    """Writes the schema that a scenario's first line names, so that editors need no network.

    Returns:
        False if another file has this name; it is left unchanged.
    """
    from retx.files.directory import new_file
    from retx.listing import schema

    text = json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
    if file.exists() and not _is_schema(file):
        return False
    with new_file(file) as path:
        path.write_text(text, encoding="utf-8")
    return True


def _is_schema(file: Path) -> bool:
    """True for a schema of this or another version of retx."""
    from retx.listing import schema

    try:
        found = json.loads(read_regular(file))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("title") == schema()["title"]
