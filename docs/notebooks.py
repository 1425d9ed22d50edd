"""Runs the notebooks of docs/notebooks: for their pages, and for the test that they work.

A notebook is JSON, and its cells are plain Python, so neither Jupyter nor a kernel is needed here.
What a cell prints, and the value of its last line, are kept; a figure is kept as PNG.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "notebooks"


@dataclass(frozen=True)
class Cell:
    """A cell that was run: its kind as notebooks name it, its text, and what came out."""

    kind: str
    text: str
    printed: str = ""
    figure: bytes = b""


def run(notebook: Path) -> list[Cell]:
    """The cells of a notebook, run one after another in an empty directory."""
    cells, names = json.loads(notebook.read_text(encoding="utf-8"))["cells"], dict[str, Any]()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            return [_run(cell["cell_type"], "".join(cell["source"]), names) for cell in cells]
        finally:
            os.chdir(before)


def _run(kind: str, text: str, names: dict[str, Any]) -> Cell:
    if kind != "code":
        return Cell(kind, text)
    tree, value = ast.parse(text), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    if isinstance(value, Figure):
        picture = io.BytesIO()
        value.savefig(picture, format="png")
        return Cell(kind, text, printed.getvalue(), picture.getvalue())
    shown = "" if value is None else f"{value}\n"
    return Cell(kind, text, printed.getvalue() + shown)


def write(directory: Path) -> None:
    """Writes a page for each notebook, with what its cells print and draw."""
    directory.mkdir(exist_ok=True, parents=True)
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        page = directory / f"{notebook.stem}.md"
        page.write_text("\n".join(_lines(notebook, directory)) + "\n", encoding="utf-8")


def _lines(notebook: Path, directory: Path) -> Iterator[str]:
    for number, cell in enumerate(run(notebook)):
        if cell.kind != "code":
            yield from (cell.text, "")
            if number == 0:
                yield f"The notebook is `docs/notebooks/{notebook.name}`."
            continue
        yield from ("```py", cell.text, "```", "")
        if cell.printed:
            yield from ("```text", cell.printed.rstrip(), "```", "")
        if cell.figure:
            picture = f"{notebook.stem}-{number}.png"
            (directory / picture).write_bytes(cell.figure)
            yield from (f"![Figure that the cell draws]({picture})", "")
