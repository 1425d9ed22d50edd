"""The notebooks of docs/notebooks run, say what they find, and draw."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

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
