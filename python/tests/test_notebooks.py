"""The notebooks of docs/notebooks run, say what they find, and draw."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import retx

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def notebooks() -> ModuleType:
    spec = spec_from_file_location("notebooks", DOCS / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["notebooks"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebooks: ModuleType, path: Path) -> None:
    cells = notebooks.run(path)
    assert any(cell.printed for cell in cells)
    assert any(cell.figure.startswith(b"\x89PNG") for cell in cells)


def test_notebooks_are_linked_and_keep_no_output() -> None:
    assert len(NOTEBOOKS) == 3
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        assert f"reference/notebooks/{path.stem}" in index
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not any(cell.get("outputs") for cell in cells), path


def test_the_lesson_says_what_its_runs_show() -> None:
    text = (DOCS / "notebooks" / "lesson-on-recovery.ipynb").read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    told = "".join(line for cell in cells for line in cell["source"])
    code = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    names: dict[str, Any] = {}
    exec(code, names)
    # "a timeout repairs the others"
    reno = names["results"]["reno"].segments.filter("retransmission")
    assert {21: "fast_retransmit", 23: "rto", 26: "rto"}.items() <= dict(
        zip(reno["packet_number"], reno["cause"], strict=True)
    ).items()
    # The exercise loses the last segment of data, and not the FIN.
    exercise = re.search(r"Write `drop = (\[\d+\])`", told)
    assert exercise
    again = retx.run(names["SCENARIO"].replace("[21, 23, 26]", exercise[1]))
    lost = again.segments.filter(fate="script")
    data = again.segments.filter(pl.col("length_bytes") > 0)
    assert lost["packet_number"].to_list() == [data["packet_number"].max()]
