"""The documentation's site builds without a warning, and has what the code has."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import retx

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages that are generated from the code."""
    spec = spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    where = tmp_path_factory.mktemp("reference")
    module.write(where)
    return where


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: the reference is written into the sources."""
    where = tmp_path_factory.mktemp("docs")
    ignored = shutil.ignore_patterns("reference", "__pycache__")
    shutil.copytree(ROOT / "docs", where / "docs", ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "docs", "site"],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return where


def test_every_choice_and_closed_form_has_its_entry(reference: Path) -> None:
    choices = (reference / "choices.md").read_text()
    for kind, entries in retx.describe().items():
        if kind != "model":
            assert f"\n## {kind}\n" in choices
            assert all(f"\n### {entry['name']}\n" in choices for entry in entries)
    forms = (reference / "closed-forms.md").read_text()
    assert all(f"\n### {entry['name']}\n" in forms for entry in retx.models.describe())


def test_every_key_of_a_scenario_is_described(reference: Path) -> None:
    page = (reference / "scenario.md").read_text()
    schema = retx.schema()
    tables = [schema, *(it for it in schema["$defs"].values() if "properties" in it)]
    tables.append(schema["properties"]["tcp"]["additionalProperties"])
    for table in tables:
        for key in table["properties"]:
            forms = (f"| `{key}` |", f".{key}]", f"[[{key}]]", f"## [{key}]")
            assert any(it in page for it in forms), key
    assert "| `min_rto` | text with unit |" in page


@pytest.mark.slow
def test_pages_are_reachable_and_python_is_documented(site: Path) -> None:
    for page in ("tutorial", "reference/python", "reference/command-line", "how-to/draw-figures"):
        assert (site / "site" / f"{page}.html").exists()
    python = (site / "site" / "reference" / "python.html").read_text()
    for name in ("retx.run", "retx.Result.samples", "SweepPlot.metric", "Figure.save_data"):
        assert name in python
    commands = (site / "docs" / "reference" / "command-line.md").read_text()
    assert all(f"## retx {name}\n" in commands for name in ("init", "run", "list", "study"))
