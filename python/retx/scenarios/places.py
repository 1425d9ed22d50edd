"""Checks that the outputs of a command do not overwrite its inputs or each other."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from retx.errors import UsageError
from retx.errors.meant import choice
from retx.scenarios.source import Scenario, override_pairs, read

NAMED = re.compile(r"""\bfile["']?\s*[=:]\s*(?:"([^"\n]+)"|'([^'\n]+)')""")
"""Pattern of a key in TOML or JSON whose value is a trace file or a file of user code."""


def check_places(
    scenario: Scenario,
    files: Iterable[str | os.PathLike[str] | None] = (),
    directory: str | os.PathLike[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> None:
    """Refuses outputs that would overwrite an input or each other, and files within `directory`.

    Args:
        scenario: As for `retx.run`; its file counts as an input, as do the traces and code that it
            names.
        files: Files that will be written; None stands for no file.
        directory: Directory that will be written, or replaced, as a whole.
        overrides: Values by their key in the scenario.

    Raises:
        UsageError: An output would overwrite something; the message says which.
    """
    outputs = [file for file in files if file is not None]
    if directory is not None or outputs:
        check_outputs(_inputs(scenario, overrides), outputs, directory)


def check_outputs(
    inputs: Iterable[tuple[Path, str]],
    files: Iterable[str | os.PathLike[str] | None],
    directory: str | os.PathLike[str] | None = None,
) -> None:
    """As `check_places`, for inputs of any kind.

    Args:
        inputs: Files that will be read, each with a description for messages.
        files: Files that will be written; None stands for no file.
        directory: Directory that will be written, or replaced, as a whole.

    Raises:
        UsageError: An output would overwrite something; the message says which.
    """
    seen = {place.resolve(): what for place, what in inputs}
    whole = None if directory is None else Path(directory).resolve()
    for place, what in seen.items():
        if whole in place.parents:
            raise UsageError(f"{directory}: holds {what}: name another directory")
    for path in (Path(file) for file in files if file is not None):
        place = path.resolve()
        if place in seen:
            raise UsageError(f"{path}: is also {seen[place]}: write to another file")
        if whole and place.is_relative_to(whole):
            raise UsageError(
                f"{path}: lies in {directory}, which is written as a whole: write it elsewhere"
            )
        seen[place] = "written by another option"


def check_capture_file(file: Path | None, resolved: Callable[[], Mapping[str, Any]]) -> None:
    """Refuses a place of capture, such as `air@client`, instead of the file of a capture.

    Args:
        file: File given by `--pcap`; a name with an extension is always accepted.
        resolved: Returns the resolved scenario.

    Raises:
        UsageError: The text before the @ names a link or a cell of the scenario.
    """
    name, at, node = str(file or "").partition("@")
    if file is None or not at or file.suffix:
        return
    scenario = resolved()
    ends = {link["name"]: link["ends"] for link in scenario.get("link") or ()}
    ends |= {cell["name"]: cell["stations"] for cell in scenario.get("wlan") or ()}
    if name not in ends:
        return
    place, end = f"{name}@{node}", ""
    if node not in ends[name]:
        place = f"{name}@NODE"
        end = f"; {name} has no node {node!r}{choice(node, ends[name])}"
    raise UsageError(f"--pcap {file}: write --pcap FILE --pcap-at {place}{end}")


def _inputs(scenario: Scenario, overrides: Mapping[str, Any] | None) -> Iterator[tuple[Path, str]]:
    """Files that will be read, each with a description for messages."""
    if isinstance(scenario, os.PathLike) or (isinstance(scenario, str) and "\n" not in scenario):
        yield Path(scenario), "the scenario that is read"
        if not Path(scenario).is_file():
            return  # what is no file, such as a pipe, can be read once only
    source = read(scenario)
    pairs = override_pairs(overrides)
    # Texts given by `--set` may be unquoted.
    names = [value.strip("\"'") for key, value in pairs if key.endswith(".file")]
    for text in (source.text, *(value for _, value in pairs)):
        names += ["".join(quoted) for quoted in NAMED.findall(text)]
    for name in names:
        yield source.base / name, "a file that the scenario reads"
