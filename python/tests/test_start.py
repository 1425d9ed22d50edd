"""The start of the command line without typer and rich: its results are theirs."""

from __future__ import annotations

import inspect
import io
import os
import random
import re
from pathlib import Path
from types import FunctionType
from typing import Any, get_args, get_origin

import pytest
import typer
from conftest import LOSSY
from test_cli import loaded_by

from retx.cli.console import Screen
from retx.cli.entry import COMMANDS, command_function
from retx.cli.parameters import (
    Argument,
    Option,
    for_typer,
    names_of_options,
    parameters_of,
    plain_values,
    without_none,
)
from retx.cli.tables import NARROW, Table, plain, width_of, wrapped
from retx.terminal.clean_console import CleanConsole

VALUES: dict[Any, list[str]] = {
    bool: [],
    int: ["7"],
    float: ["0.5"],
    str: ["a=b"],
    Path: ["f.toml"],
}


def by_typer(command: FunctionType, words: list[str]) -> dict[str, Any]:
    """Values that typer passes to a command."""
    found: dict[str, Any] = {}

    def recorder(**values: Any) -> None:
        found.update(values)

    recorder.__signature__ = inspect.signature(for_typer(command))  # type: ignore[attr-defined]
    app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})
    app.command()(recorder)
    app(words, standalone_mode=False)
    return found


def with_defaults(command: FunctionType, values: dict[str, Any]) -> dict[str, Any]:
    every = inspect.signature(command).parameters.items()
    return {name: values.get(name, it.default) for name, it in every}


def words_for(kind: Any) -> list[str]:
    kind = without_none(kind)
    if get_origin(kind) in (list, tuple):
        items = get_args(kind)
        return [word for item in items for word in VALUES[item]]
    return VALUES[kind]


def lines_of(command: FunctionType) -> list[list[str]]:
    """Command lines with each option alone, in both spellings, and with all options twice."""
    parameters = parameters_of(command)
    arguments = [words_for(kind) for kind, it in parameters.values() if isinstance(it, Argument)]
    base = [word for words in arguments for word in words]
    lines, every = [base, base[: len(base) - 1]], list[str]()
    for option, name in names_of_options(parameters).items():
        kind, declared = parameters[name]
        assert isinstance(declared, Option)
        words = words_for(kind)
        lines.append([option, *words, *base])
        if len(words) == 1 and option.startswith("--"):
            lines.append([*base, f"{option}={words[0]}"])
        every += [option, *words]
    return [*lines, [*every, *base, *every]]


@pytest.mark.parametrize("name", COMMANDS)
def test_plain_command_lines_are_read_as_by_typer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("retx.scenarios.trust.limit_process", lambda **_: None)
    command = command_function(name)
    read = 0
    for words in lines_of(command):
        values = plain_values(command, words)
        if values is not None:
            read += 1
            assert with_defaults(command, values) == by_typer(command, words), words
    assert read > 0 or name in ("drill", "compare", "diagnose", "fit", "plot", "study", "sweep")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a.toml", "b.toml"],
        ["a.toml", "--help"],
        ["a.toml", "-h"],
        ["a.toml", "--js"],
        ["a.toml", "--json=1"],
        ["a.toml", "--seed"],
        ["a.toml", "--seed", "x"],
        ["a.toml", "--seed", "-1"],
        ["a.toml", "--seed", "٣"],
        ["a.toml", "--replications", "0"],
        ["a.toml", "--span", "1"],
        ["a.toml", "--span=1", "2"],
        ["--", "a.toml"],
        ["unreadable.toml"],
    ],
)
def test_other_command_lines_are_left_to_typer(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("unreadable.toml").touch()
    readable = os.access
    monkeypatch.setattr(
        "os.access", lambda path, mode: path != "unreadable.toml" and readable(path, mode)
    )
    assert plain_values(command_function("run"), words) is None


def test_a_run_loads_nothing_slow(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(LOSSY)
    slow = {"typer", "rich", "numpy", "polars"}
    slower = slow | {"dataclasses", "hashlib", "inspect", "logging", "random", "shutil", "tempfile"}
    for words, unwanted in (
        (["run", str(path)], slower),
        (["run", str(path), "--json"], slower),
        (["run", str(path), "--replications", "3"], {"typer", "scipy"}),
        (["--version"], slower),
        (["list"], slow),
    ):
        code = (
            f"import sys; sys.argv[1:] = {words!r}\nfrom retx.cli import main\n"
            "try: main()\nexcept SystemExit as end: assert not end.code"
        )
        assert not loaded_by(code) & unwanted, words


def by_rich(shown: object, width: int) -> str:
    console = CleanConsole(width=width)
    console.file = io.StringIO()
    console.print(shown)
    return console.file.getvalue()


def text(draw: random.Random, words: int) -> str:
    letters = "aB3" + "".join(map(chr, NARROW)) + "éß"
    return " ".join(
        "".join(draw.choices(letters, k=draw.randrange(1, 9)))
        for _ in range(draw.randrange(words + 1))
    ).strip()  # rich strips right-aligned texts


def is_laid_out_as_by_rich(table: Table, width: int) -> bool:
    """False if the table is left to rich; fails if retx lays it out in another way."""
    lines = table.lines(width)
    if lines is None:
        return False
    shown = re.sub(r"\[/?bold\]", "", "".join(f"{line}\n" for line in lines))
    assert shown == by_rich(table.for_rich(), width)
    return True


def test_tables_are_laid_out_as_by_rich() -> None:
    draw = random.Random(1)
    known = 0
    for _ in range(300):
        columns = draw.randrange(1, 6)
        made = Table(
            text(draw, 4), *(draw.choice(("", ">")) + text(draw, 2) for _ in range(columns))
        )
        for _ in range(draw.randrange(5)):
            made.add_row(*(text(draw, 2) for _ in range(draw.randrange(columns + 1))))
            if draw.random() < 0.3:
                made.add_section()
                made.add_row("[bold]B[/bold]")
        made.caption = text(draw, 3)
        width = draw.randrange(10, 100)
        known += is_laid_out_as_by_rich(made, width)
    assert known > 100


def test_a_wide_column_of_texts_is_wrapped_as_by_rich() -> None:
    draw = random.Random(3)
    known = 0
    for _ in range(200):
        made = Table(text(draw, 4), "change", ">gain", "price")
        for _ in range(3):
            made.add_row(text(draw, 20), "×1", text(draw, 1))
        width = draw.randrange(40, 80)
        known += is_laid_out_as_by_rich(made, width)
    assert known > 100


def test_texts_are_wrapped_as_by_rich() -> None:
    draw = random.Random(2)
    for _ in range(300):
        words = "\n".join(text(draw, 12) + " " * draw.randrange(3) for _ in range(3))
        width = draw.randrange(10, 60)
        lines = wrapped(words, width)
        assert lines is not None
        assert "".join(f"{line}\n" for line in lines) == by_rich(words, width)


@pytest.mark.parametrize(
    "odd", ["日本", "a\tb", "\x1b[1m", "[red]x", "a\\", "e\u0301", "\xad", "a\nb"]
)
def test_odd_texts_are_left_to_rich(odd: str) -> None:
    assert width_of(odd) is None
    made = Table("", "a")
    made.add_row(odd)
    assert made.lines(80) is None
    assert plain(odd) != odd or not set(odd) & set("\x1b\t\n")


def test_a_terminal_shows_headings_in_bold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    made = Table("", "flow", ">time")
    made.add_row("a", "1 s")
    Screen().print(made)
    Screen().print("[bold]Title[/bold] and more")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "\x1b[1m flow  time \x1b[0m"
    assert lines[-1] == "\x1b[1mTitle\x1b[0m and more"
