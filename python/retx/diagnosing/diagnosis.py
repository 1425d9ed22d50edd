"""Diagnosis of a capture."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import UsageError
from retx.errors.checks import required_path
from retx.files.standard_input import seekable, shown, with_names_shown

if TYPE_CHECKING:
    from retx.diagnosing.tables import FlowTables


@dataclass(frozen=True)
class Diagnosis:
    """Findings about the TCP flows in a capture."""

    content: Mapping[str, Any]
    """`capture` and `flows`, as `retx diagnose --json` prints them."""
    files: tuple[Path, ...]
    """The capture, or both captures."""

    def __repr__(self) -> str:
        names = " and ".join(str(file) for file in self.files)
        return f"<retx.Diagnosis: {names}, {len(self.flows)} flow(s)>"

    @property
    def findings(self) -> Sequence[str]:
        """Faults of the capture; each kind is listed once."""
        found: Sequence[str] = self.content["capture"]["findings"]
        return found

    @property
    def flows(self) -> Sequence[Mapping[str, Any]]:
        """One entry per flow, in the order of their first packets."""
        flows: Sequence[Mapping[str, Any]] = self.content["flows"]
        return flows

    @property
    def worst(self) -> Mapping[str, Any]:
        """Flow that lost the most time through losses and silences.

        Raises:
            UsageError: The capture has no TCP flow.
        """
        from retx.diagnosing.wording import lost

        if not self.flows:
            raise UsageError("the capture has no TCP flow")
        return max(self.flows, key=lost)

    def tables(self, number: int | None = None) -> FlowTables:
        """Tables and plots of flow `number`; by default of the flow `worst`.

        They contain every packet of the flow; with two captures, every packet in the first one.
        """
        from retx.diagnosing.tables import FlowTables

        return FlowTables(self.files[0], self.worst if number is None else self.flow(number))

    def save_tables(self, directory: str | os.PathLike[str], number: int | None = None) -> None:
        """Writes `diagnosis.json` and a Parquet file per table into a new directory.

        Args:
            directory: Directory that does not exist, or is empty.
            number: Also write every packet of this flow.

        Raises:
            OSError: The directory exists, or cannot be written.
        """
        from retx.diagnosing.tables import OF_ALL, OF_ONE, table_of_all
        from retx.files.directory import new_directory, writing

        with new_directory(required_path("directory", directory)) as path:
            text = json.dumps(self.content, indent=2, ensure_ascii=False)
            with writing(path / "diagnosis.json"):
                (path / "diagnosis.json").write_text(text + "\n", encoding="utf-8")
            tables = {name: table_of_all(list(self.flows), name) for name in OF_ALL}
            if number is not None:
                tables |= {name: getattr(self.tables(number), name) for name in OF_ONE}
            for name, table in tables.items():
                with writing(path / f"{name}.parquet"):
                    table.write_parquet(path / f"{name}.parquet", compression="zstd")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained HTML page about the flow that lost the most time."""
        from retx.files.directory import new_file

        with new_file(Path(path)) as target:
            self.write_page(target)

    def write_page(self, file: Path) -> None:
        """Writes the page that `save` writes, straight into the file."""
        from retx.diagnosing.page import page

        file.write_text(page(self), encoding="utf-8")

    def flow(self, number: int) -> Mapping[str, Any]:
        """A flow by its number, from 1."""
        for flow in self.flows:
            if flow["number"] == number:
                return flow
        if not self.flows:
            raise UsageError(f"flow {number}: the capture has no TCP flow")
        raise UsageError(f"flow {number}: the capture has flows 1 to {len(self.flows)}")

    def only(self, number: int) -> Diagnosis:
        """Diagnosis of a single flow of the capture.

        Raises:
            UsageError: The capture has no such flow.
        """
        return replace(self, content={**self.content, "flows": [self.flow(number)]})


def answer(files: tuple[Path, ...], pictured: int | None = None) -> dict[str, Any]:
    """Diagnosis of captures, with the time–sequence diagram of flow `pictured` if one is given."""
    for file in files:
        # Opening the file first gives Python's error, which names the file and refuses a directory.
        file.open("rb").close()
    one, *others = files
    if others:
        text = _native.diagnose_pair(one, others[0], pictured)
    else:
        text = _native.diagnose(one, pictured)
    content: dict[str, Any] = json.loads(text)
    content["capture"]["files"] = list(map(shown, files))
    flows = content["flows"]
    if others and flows and not any("between" in flow for flow in flows):
        alone = f"no flow was found in both captures: the diagnosis is of {shown(one)} alone"
        content["capture"]["findings"].insert(0, alone)
    return content


def captures(
    capture: str | os.PathLike[str], other: str | os.PathLike[str] | None
) -> tuple[Path, ...]:
    """Paths of one capture, or of two captures.

    Raises:
        UsageError: Both are the same file, which would look like a path without losses and delay.
    """
    first = Path(capture)
    if other is None:
        return (first,)
    if first.resolve() == Path(other).resolve():
        raise UsageError(f"{first}: is named twice: name captures from two points, or only one")
    return first, Path(other)


def diagnose(
    capture: str | os.PathLike[str],
    other: str | os.PathLike[str] | None = None,
    *,
    flow: int | None = None,
) -> Diagnosis:
    """Diagnoses a capture: pcap or pcapng, plain or compressed.

    Args:
        capture: The file; `-` is the standard input.
        other: A second capture of the same flows, from another point of their path. Each flow is
            diagnosed from the capture nearer to the sender of its data, with `between`: losses,
            delays and reordering between both points.
        flow: Number of the only flow to keep, from 1.

    Raises:
        OSError: The file cannot be read.
        UsageError: The file is not a capture, has no such flow, or is named twice.
    """
    try:
        files = tuple(map(seekable, captures(capture, other)))
        content = answer(files)
    except ValueError as error:
        raise UsageError(with_names_shown(str(error))) from None
    diagnosis = Diagnosis(content, files)
    return diagnosis if flow is None else diagnosis.only(flow)
