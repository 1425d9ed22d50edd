"""Draws random comments, paragraphs and names of this repository for a reader to judge.

    python tools/draw_texts.py --seed 1 --comments 120 --paragraphs 40 --names 60

A comment is a block of doc or explaining comments in `crates/*/src`, or a docstring in
`python/retx`; it is printed with the next line of code. A paragraph is one of the README, `docs`,
`ARCHITECTURE.md`, a study's texts, or a help text of the command line. A name is that of a `pub` or
`pub(crate)` item. `docs/style.md` says how each should read.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

COMMENT = re.compile(r"\s*//[/!]?(?:\s|$)")
NAME = re.compile(
    r"\s*pub(?:\(crate\)|\(in [\w:]+\)|\(super\))? "
    r"(?:const |async |unsafe )*(?:fn |struct |enum |trait |type |static |mod )?(\w+)"
)
HELP = re.compile(r'help=\s*\(?\s*((?:f?["\'].*["\']\s*)+)')

Drawn = tuple[str, int, str]
"""Path, line, text."""


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository that match any of the patterns."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines()]


def sources() -> list[Path]:
    """Rust sources without tests."""
    return [
        path
        for path in tracked("crates/*/src/*.rs")
        if "tests" not in path.parts and path.name != "tests.rs"
    ]


def comments() -> Iterator[Drawn]:
    """Blocks of comments, each with the line of code below it, and docstrings."""
    for path in sources():
        block: list[str] = []
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if COMMENT.match(line):
                block.append(line)
                continue
            if block and line.strip() != "#[cfg(test)]":
                yield str(path.relative_to(ROOT)), number - len(block), "\n".join([*block, line])
            block = []
    for path in tracked("python/retx/*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                continue
            name = path.stem if isinstance(node, ast.Module) else node.name
            text = ast.get_docstring(node)
            if text:
                yield str(path.relative_to(ROOT)), getattr(node, "lineno", 1), f"{name}: {text}"


def paragraphs() -> Iterator[Drawn]:
    """Paragraphs of the documentation, and help texts of commands."""
    for path in tracked("README.md", "ARCHITECTURE.md", "docs/*.md", "studies/*"):
        if path.suffix not in (".md", ".html"):
            continue
        text = re.sub(
            r"```.*?```", lambda block: "\n" * block[0].count("\n"), path.read_text(), flags=re.S
        )
        number = 1
        for part in text.split("\n\n"):
            prose = re.sub(r"<[^>]*>|{{.*?}}|{%.*?%}", "", part)
            if len(prose.split()) > 8 and not prose.lstrip().startswith(("|", "!", "#")):
                yield str(path.relative_to(ROOT)), number, part.strip("\n")
            number += part.count("\n") + 2
    for path in tracked("python/retx/cli/*.py"):
        text = path.read_text()
        for match in HELP.finditer(text):
            yield str(path.relative_to(ROOT)), text[: match.start()].count("\n") + 1, match[1]


def names() -> Iterator[Drawn]:
    """Names of items that other modules see."""
    for path in sources():
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            match = NAME.match(line)
            if match and match[1] not in ("use", "crate", "self"):
                yield str(path.relative_to(ROOT)), number, line.strip()


def show(kind: str, found: list[Drawn], count: int, seed: int) -> None:
    """Prints a random sample, which depends on the seed and the kind."""
    drawn = random.Random(f"{seed} {kind}").sample(found, min(count, len(found)))
    for number, (path, line, text) in enumerate(sorted(drawn), start=1):
        print(f"--- {kind} {number} of {len(found)}: {path}:{line}\n{text}")


def main() -> None:
    """Prints what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, required=True, help="seed of the draw")
    for kind in ("comments", "paragraphs", "names"):
        parser.add_argument(f"--{kind}", type=int, default=0, help=f"how many {kind} to draw")
    chosen = parser.parse_args()
    for kind, found in (("comments", comments), ("paragraphs", paragraphs), ("names", names)):
        show(kind, list(found()), getattr(chosen, kind), chosen.seed)


if __name__ == "__main__":
    main()
