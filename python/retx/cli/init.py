"""`retx init`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from retx.errors import UsageError

File = Annotated[Path, typer.Argument(help="The file to write; it ends in .toml.")]
Force = Annotated[bool, typer.Option("--force", help="Let a file that is there give way.")]


def command(file: File = Path("scenario.toml"), force: Force = False) -> None:
    """Write a commented scenario to start from.

    \b
    Examples:
      retx init
      retx init my-link.toml && retx run my-link.toml
    """
    from retx.directory import new_file

    if file.suffix != ".toml":
        raise UsageError(f"{file}: a scenario is a TOML file: let the name end in .toml")
    if file.exists() and not force:
        raise UsageError(f"{file}: is there already: choose another name, or add --force")
    text = files("retx").joinpath("scenario.toml").read_text(encoding="utf-8")
    with new_file(file) as path:
        path.write_text(text.replace("FILE", str(file)), encoding="utf-8")
    typer.echo(f"{file} is written. Run it: retx run {file}")
