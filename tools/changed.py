#!/usr/bin/env python3
"""Lints and tests changed files: `make check`.

    tools/changed.py [--base COMMIT] [--list]

Changed files are those that differ from the commit where the branch left `main` (or the branch of
`origin/HEAD`), including uncommitted changes. Of Rust, the crates with changed files are linted and
tested; of Python, the tests run that changed or that name a changed module, and test_tidy.py; of a
page of the documentation, its commands and code. The extension is built if a test may load it.
Tests of the reports of studies are left to `make test` and `make test-slow`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"
TESTS = Path("python/tests")
DEVELOP = ("--profile", "develop", "--no-default-features", "--locked")
SIDE_BY_SIDE = ("--numprocesses", "auto", "--no-loadscope-reorder")
TIDY, READER = TESTS / "test_tidy.py", TESTS / "test_readme.py"
READ = re.compile(r"README\.md|docs/(how-to/|questions/)?[^/]+\.md")
"""Pages that the second of these tests reads, in addition to others."""
EXTENSION = ("-p", "retx-py")
"""Selected in addition to changed crates, so that dependencies have the features of `make test` and
need not be compiled again. The crate has no tests."""
NO_TESTS = 5
"""Exit code of pytest for a page without tests."""
EVERYWHERE = {"errors", "names", "checks", "cli", "retx"}
"""Modules that nearly every test names. They have separate tests, and `make test` runs all."""


def git(*words: str) -> list[str]:
    """The lines that git prints; none if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def base() -> str:
    """The commit where this branch left the main branch; HEAD on the main branch itself."""
    for main in ("origin/HEAD", "main", "master"):
        if found := git("merge-base", "HEAD", main):
            return found[0]
    return "HEAD"


def changed_files(since: str) -> list[Path]:
    """Files that differ from a commit, including untracked ones, in order."""
    names = {*git("diff", "--name-only", since), *git("ls-files", "-o", "--exclude-standard")}
    return sorted(path for path in map(Path, names) if (ROOT / path).is_file())


def crates_of(files: Iterable[Path]) -> list[str]:
    """Names of the crates with changed files."""
    return sorted({f"retx-{path.parts[1]}" for path in files if path.parts[0] == "crates"})


def tests_of(files: Iterable[Path], tests: dict[Path, str]) -> list[Path]:
    """The tests that changed or that name a changed module.

    Args:
        files: Changed files.
        tests: The text of each test file.
    """
    files = [path for path in files if path.suffix == ".py"]
    chosen = {path for path in files if path in tests}
    if TESTS / "conftest.py" in files:
        return sorted(tests)
    for path in files:
        if path.parts[:2] != ("python", "retx"):
            continue
        inside = path.with_suffix("").parts[2:]
        # Tests name a package by its name, and a file in it by both names or by an importing
        # module.
        words = {inside[-1], ".".join(inside)} if len(inside) > 1 else {inside[0]}
        words = {word for word in words if word not in EVERYWHERE and word != "__init__"}
        if len(inside) > 1:
            words.add(f"retx.{inside[0]}" if inside[0] == "cli" else f"retx.{'.'.join(inside)}")
        pattern = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in sorted(words)) or "$^")
        chosen |= {test for test, text in tests.items() if pattern.search(text)}
    return sorted(chosen | ({TIDY} if TIDY in tests else set()))


def commands(files: list[Path]) -> list[list[str]]:
    """The commands that lint and test changed files."""
    todo: list[list[str]] = []
    rust = [str(path) for path in files if path.suffix == ".rs"]
    if rust:
        todo.append(["rustfmt", "--check", "--edition", "2024", *rust])
    if crates := crates_of(files):
        chosen = [*EXTENSION, *(word for crate in crates for word in ("-p", crate))]
        lints = ["cargo", "clippy", *chosen, "--all-targets", *DEVELOP]
        todo.append([*lints, "--", "-D", "warnings"])
        todo.append(["cargo", "test", *chosen, "--tests", *DEVELOP])
    python = [str(path) for path in files if path.suffix in (".py", ".pyi")]
    if python:
        todo.append([str(BIN / "ruff"), "check", *python])
        todo.append([str(BIN / "ruff"), "format", "--check", *python])
        todo.append([str(BIN / "mypy")])
    tests = {
        path.relative_to(ROOT): path.read_text(encoding="utf-8")
        for path in (ROOT / TESTS).glob("test_*.py")
    }
    paths = tests_of(files, tests) if files else []
    pages = [str(path) for path in files if READ.fullmatch(str(path))]
    if pages or set(paths) - {TIDY}:
        todo.append(["make", "--no-print-directory", ".venv/tested"])
    run = [str(BIN / "pytest"), *SIDE_BY_SIDE, "-m", "not studies"]
    if paths:
        todo.append([*run, *map(str, paths)])
    if pages and READER not in paths:
        todo.append([*run, str(READER), "-k", " or ".join(pages)])
    return todo


def main() -> None:
    """Runs the commands one after another, and ends with 1 after the first that fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--base", help="commit; by default where the branch left the main one")
    parser.add_argument("--list", action="store_true", help="prints the commands only")
    options = parser.parse_args()
    since = git("merge-base", "HEAD", options.base) if options.base else [base()]
    if not since:
        sys.exit(f"{options.base} is no commit of this repository")
    files = changed_files(since[0])
    if not files:
        print("Nothing changed.")
    for command in commands(files):
        print("$", *command, flush=True)
        code = 0 if options.list else subprocess.run(command, cwd=ROOT, check=False).returncode
        if code not in (0, NO_TESTS):
            sys.exit(1)


if __name__ == "__main__":
    main()
