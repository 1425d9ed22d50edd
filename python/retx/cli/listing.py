"""`retx list` and `retx schema`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from retx.cli.parameters import Argument, Option
from retx.terminal.streams import WIDTH, echo

Kind = Annotated[
    str | None,
    Argument(
        help="Kind: tcp, congestion_control, channel, … Default: all kinds.",
        show_default=False,
        completion="retx.cli.completion:kinds",
    ),
]
Name = Annotated[
    str | None,
    Argument(
        help="Show this entry with its parameters.",
        show_default=False,
        completion="retx.cli.completion:names",
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print the listing as JSON.")]


def list_command(kind: Kind = None, name: Name = None, as_json: AsJson = False) -> None:
    """List what a scenario can name, with parameters and references.

    \b
    Examples:
      retx list
      retx list channel
      retx list tcp newreno
    """
    from retx.listing import describe, find

    kinds = {kind: find(kind, name)} if kind else describe()
    if as_json:
        from retx.cli.run import print_json

        print_json(kinds)
    elif name:
        ((found, entries),) = kinds.items()
        for entry in entries:
            _print_parameters(found, entry)
    else:
        _print_names(kinds)


def schema_command() -> None:
    """Print the JSON Schema of scenario files, for editors that complete and check.

    \b
    Example:
      retx schema > scenario.schema.json
    """
    from retx.cli.run import print_json
    from retx.listing import schema

    print_json(schema())


def _print_names(kinds: dict[str, list[dict[str, Any]]]) -> None:
    """Prints each kind with its names.

    The function does not use rich, whose table layout would be slow.
    """
    from shutil import get_terminal_size
    from textwrap import fill

    width = get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    for number, (kind, entries) in enumerate(kinds.items()):
        print(f"{kind}:" if number == 0 else f"\n{kind}:")
        column = max((len(entry["name"]) for entry in entries), default=0) + 4
        for entry in entries:
            name = f"  {entry['name']}".ljust(column)
            # On a narrow terminal the text is printed below the name.
            if column > width / 2:
                print(name.rstrip())
                name = "    "
            print(
                fill(
                    entry["summary"], width, initial_indent=name, subsequent_indent=" " * len(name)
                )
            )


def _print_parameters(kind: str, entry: dict[str, Any]) -> None:
    echo(f"{entry['name']}: {entry['summary']}")
    if kind.removesuffix("s") == "template":
        from retx.scenarios.templates import text

        echo(f"retx init --like {entry['name']} writes it:\n\n{text(entry['name'])}", nl=False)
        return
    if not entry["parameters"]:
        echo("It has no parameters.")
        return
    from retx.cli.console import console
    from retx.cli.tables import Table

    table = Table("", "parameter", "type", "default", "what it is")
    for parameter in entry["parameters"]:
        table.add_row(
            parameter["name"], parameter["type"], _default(parameter), _plain(_text(parameter))
        )
    console().print(table)


def _default(parameter: dict[str, Any]) -> str:
    if "default" in parameter:
        return _plain(_toml(parameter["default"]))
    return "(required)" if parameter["required"] else ""


def _toml(value: object) -> str:
    from retx.scenarios.source import toml_value

    # A choice without parameters is written as a bare name.
    if isinstance(value, dict) and list(value) == ["name"]:
        value = value["name"]
    return toml_value(value)


def _text(parameter: dict[str, Any]) -> str:
    lines = [parameter["doc"]]
    for value in parameter.get("values", []):
        lines.append(f'"{value["name"]}"' + (f": {value['doc']}" if value["doc"] else ""))
    return "\n".join(lines)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
