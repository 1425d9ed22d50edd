"""Rooms of the workspace, who may use whom, and the imports that the sources contain.

A room is a crate, or a folder or loose module of `python/retx`. `CRATES` and `PYTHON` say which
other rooms each may use; the components in ARCHITECTURE.md repeat them (`uses`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from repository import ROOT, tracked

RETX = ROOT / "python" / "retx"

CRATES = {
    "units": "",
    "wire": "units",
    "record": "units wire",
    "store": "record",
    "tcp": "units wire",
    "link": "units wire",
    "scenario": "units tcp link",
    "sim": "units wire record tcp link scenario",
    "diagnose": "units tcp",
    "fit": "units",
    "drill": "units wire tcp scenario",
    "packetdrill": "units wire tcp drill",
    "emulate": "units wire record tcp scenario sim",
    "py": "units diagnose fit link record tcp scenario sim store drill emulate",
}

PYTHON = {
    "terminal": "",
    "files": "",
    "errors": "terminal",
    "decisions": "errors",
    "plugins": "decisions errors files",
    "scenarios": "errors files plugins",
    "topology": "scenarios",
    "models": "errors scenarios",
    "analysis": "errors models",
    "plots": "analysis errors models scenarios",
    "results": "analysis errors files plots plugins scenarios terminal",
    "running": "errors files results scenarios terminal",
    "diagnosing": "analysis errors files plots results running terminal",
    "fitting": "diagnosing errors files models running terminal",
    "explaining": "analysis errors files plots results running scenarios terminal",
    "sweeps": "analysis errors files plots plugins results running scenarios terminal",
    "tuning": "errors files models plots plugins results running scenarios sweeps",
    "comparing": "analysis errors files fitting plots plugins results running scenarios",
    "study": (
        "analysis comparing errors files plots results running scenarios sweeps terminal tuning"
    ),
    "listing": "errors models scenarios study",
    "cli": (
        "analysis comparing diagnosing errors explaining files fitting listing plots results"
        " running scenarios study sweeps terminal tuning"
    ),
}
"""From the lowest room to the highest; all may use the extension, `retx._native`."""

DOORS = {"__init__", "__main__"}
"""Modules above all rooms: names of the public API are imported from their rooms on first use."""

CIRCLES = {
    # An algorithm starts from the configuration of its connection, which names all algorithms.
    "crates/tcp": [
        "backoff config congestion_control connection delayed_ack loss_cause loss_detection presets"
        " rto spurious"
    ],
    # The page of a diagnosis asks for the diagram of one flow, and is itself one of its outputs.
    "python/retx": ["diagnosing.diagnosis diagnosing.page"],
}
"""Modules of one room that import each other. It only shrinks."""
CIRCLES_MAX = 2


def direct(table: Mapping[str, str], room: str) -> set[str]:
    """Rooms that a room may use."""
    return set(table[room].split())


def uses(table: Mapping[str, str], room: str) -> str:
    """Last column of a component in ARCHITECTURE.md."""
    return ", ".join(f"`{it}`" for it in table[room].split()) or "–"


def circles(used: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The largest sets of modules of which each reaches each."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        to_do = [start]
        while to_do:
            for other in used.get(to_do.pop(), set()) - found:
                found.add(other)
                to_do.append(other)
        return found

    reach = {module: reached(module) for module in used}
    return {
        frozenset(other for other in reach[module] if module in reach.get(other, set()))
        for module in used
        if module in reach[module]
    }


def is_test(path: Path) -> bool:
    """True for files of tests, in Rust and in Python."""
    return "tests" in path.parts or path.name.startswith("test") or path.name == "tests.rs"


def without_tests(path: Path) -> list[str]:
    """A source file up to its module of tests."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#[cfg(test)]") and lines[number + 1].startswith("mod tests {"):
            return lines[:number]
    return lines


def rust_modules(source: Path) -> dict[str, set[str]]:
    """Modules that each top-level module of a crate names, also by re-exported names."""
    names = {path.stem for path in source.iterdir()} - {"lib", "main", "bin"}
    home = {name: name for name in names}
    for module, exported in re.findall(
        r"pub(?:\(crate\))? use (\w+)::(\{.*?\}|\w+);", _text(source / "lib.rs"), re.S
    ):
        home |= {it: module for it in re.findall(r"\w+", exported) if it not in names}
    used: dict[str, set[str]] = {}
    for path in tracked(f"{source.relative_to(ROOT)}/*.rs"):
        parts = path.relative_to(source).parts
        module = parts[0].removesuffix(".rs")
        if module not in names or is_test(path) or parts[-1] == "testing.rs":
            continue
        code = "\n".join(line for line in without_tests(path) if not line.lstrip().startswith("//"))
        found = set(re.findall(r"\bcrate::(\w+)", code))
        for group in re.findall(r"\bcrate::\{(.*?)\};", code, re.S):
            found |= set(re.findall(r"\w+", group))
        used.setdefault(module, set()).update({home[it] for it in found & home.keys()} - {module})
    return used


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def python_modules() -> dict[str, Path]:
    """Modules of the package by their names below `retx`."""
    found = {}
    for path in tracked("python/retx/*.py"):
        if path.exists() and "_studies" not in path.parts:
            parts = path.relative_to(RETX).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def python_imports(path: Path, modules: Mapping[str, Path]) -> Iterator[tuple[str, bool]]:
    """Modules that a file imports anywhere, each with False if it is imported for types only.

    An attribute of `retx` counts as an import of its home; a text that is the name of a module, as
    an import of this module.
    """
    public = _public_names()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        runs = id(node) not in for_types
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "retx":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("retx.")]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "retx":
            names = [public.get(node.attr, f"retx.{node.attr}")]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = re.findall(r"^(retx(?:\.\w+)+)(?::\w+)?$", node.value)
        for name in names:
            whole = name.removeprefix("retx.")
            for module in (whole, whole.rpartition(".")[0]):
                if module in modules:
                    yield module, runs and not isinstance(node, ast.Constant)
                    break


def _public_names() -> dict[str, str]:
    """Home of each name of the public API."""
    for node in ast.parse(_text(RETX / "__init__.py")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOME":
            homes: dict[str, str] = ast.literal_eval(node.value)
            return homes
    raise AssertionError("retx/__init__.py has no _HOME")


def python_uses() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Rooms that each room uses, and modules that each module imports when it runs."""
    modules = python_modules()
    rooms: dict[str, set[str]] = {}
    files: dict[str, set[str]] = {}
    for name, path in modules.items():
        room = name.split(".")[0]
        if room in DOORS:
            continue
        rooms.setdefault(room, set())
        files.setdefault(name, set())
        for other, runs in python_imports(path, modules):
            rooms[room] |= {other.split(".")[0]} - {room}
            if runs:
                files[name] |= {other} - {name}
    return rooms, files
