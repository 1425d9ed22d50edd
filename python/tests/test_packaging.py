"""Tests of a release: one version, notes from the changelog, and texts that say what works."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import retx
from retx.errors import extras

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def tool(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_every_version_is_that_of_the_workspace() -> None:
    version = tool("release_notes").version(text("Cargo.toml"))
    assert retx.__version__ == version
    assert re.findall(r"^version: (.*)$", text("CITATION.cff"), re.MULTILINE) == [version]
    for name in ("Dockerfile", "docs/how-to/sweep-on-a-cluster.md"):
        assert set(re.findall(r"retx:([0-9][\w.]*)", text(name))) == {version}, name


def test_those_who_are_cited_are_those_of_the_package() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    cited = re.findall(r'^  - name: "(.*)"$', text("CITATION.cff"), re.MULTILINE)
    assert cited == [author["name"] for author in project["authors"]]


def with_url(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "tools/project_url.py", url, "--root", folder],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_release_cites_the_repository_that_it_was_made_at(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    names = ("CITATION.cff", "pyproject.toml")
    for name in names:
        (tmp_path / name).write_text(text(name), encoding="utf-8")
    assert with_url(tmp_path, "https://example.org/first/retx").returncode == 0
    assert with_url(tmp_path, "https://example.org/team/retx/").returncode == 0
    url = "https://example.org/team/retx"
    cited, packaged = ((tmp_path / name).read_text(encoding="utf-8") for name in names)
    before, after = yaml.safe_load(text(names[0])), yaml.safe_load(cited)
    assert after == before | {"url": url, "repository-code": url}
    project, released = tomllib.loads(text(names[1])), tomllib.loads(packaged)
    project["project"]["urls"] = {"Repository": url}
    assert released == project
    done = with_url(tmp_path, "retx")
    assert (done.returncode, done.stderr.splitlines()) == (
        1,
        ["'retx' is not the URL of a repository, such as https://HOST/OWNER/retx"],
    )
    assert (tmp_path / names[0]).read_text(encoding="utf-8") == cited
    jobs = yaml.safe_load(text(".github/workflows/wheels.yml"))["jobs"]
    for job in ("wheels", "sdist", "release"):
        commands = [step.get("run", "") for step in jobs[job]["steps"]]
        assert any("tools/project_url.py" in command for command in commands), job


def test_notes_are_a_part_of_the_changelog() -> None:
    notes = tool("release_notes").notes
    parts = ("Unreleased\n\nlater", "0.2.0 (2027-01-31)\n\n### Added\n- x", "0.1.0\n\nfirst")
    changelog = "# Changelog\n" + "".join(f"\n## {part}\n" for part in parts)
    assert notes(changelog, "0.2.0") == "### Added\n- x\n"
    assert notes(changelog, "0.1.0") == "first\n"
    assert notes(text("CHANGELOG.md"), "Unreleased").startswith("### Added\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [(["v9.9.9"], "the tag v9.9.9 is not v"), ([], "rename Unreleased, or give --draft")],
)
def test_a_release_without_its_tag_or_its_notes_is_refused(words: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/release_notes.py", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert said in done.stderr


def test_the_workflow_builds_for_every_system_before_it_releases() -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(text(".github/workflows/wheels.yml"))
    jobs = workflow["jobs"]
    targets = {entry["target"] for entry in jobs["wheels"]["strategy"]["matrix"]["include"]}
    assert targets >= {
        "x86_64-unknown-linux-gnu",
        "aarch64-unknown-linux-gnu",
        "aarch64-apple-darwin",
        "x86_64-pc-windows-msvc",
    }
    assert set(jobs["release"]["needs"]) == set(jobs) - {"release"}
    assert workflow[True]["push"] == {"tags": ["v*"]}  # YAML reads the key `on` as true
    named = re.findall(r"tools/[\w.]+", text(".github/workflows/wheels.yml"))
    assert named
    assert all((ROOT / name).is_file() for name in named)


def test_an_extra_is_installed_by_what_pyproject_names() -> None:
    optional = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    assert set(extras.PACKAGES) == set(optional) - {"test"}
    for extra in extras.PACKAGES:
        assert extras.install_command(extra) == f"pip install '{optional[extra][0]}'"


def test_no_text_installs_a_package_of_a_name_that_is_not_retx_s() -> None:
    """`pip install retx` works when retx is on the package index, and not before."""
    pattern = re.compile(r"pip3? install[^`\n]*[ '\"]retx\b(?!-)")
    files = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.html", "*.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    if not files:
        pytest.skip("this is no clone")
    here = Path(__file__).relative_to(ROOT)
    found = [
        name
        for name in files
        if name != str(here) and (ROOT / name).is_file() and pattern.search(text(name))
    ]
    assert not found


def test_a_changed_module_chooses_the_tests_that_name_it() -> None:
    changed = tool("changed")
    tests = {
        changed.TIDY: "",
        Path("python/tests/test_sweep.py"): "from retx.sweeps.grid import read_grid",
        Path("python/tests/test_models.py"): "retx.models.mathis(1)",
    }
    grid, mathis = Path("python/retx/sweeps/grid.py"), Path("python/retx/models/mathis.py")
    assert changed.tests_of([grid], tests) == [Path("python/tests/test_sweep.py"), changed.TIDY]
    assert Path("python/tests/test_models.py") in changed.tests_of([mathis], tests)
    assert changed.crates_of([Path("crates/tcp/src/lib.rs"), mathis]) == ["retx-tcp"]


def test_a_change_is_checked_with_what_is_compiled_already() -> None:
    """A crate is selected beside the extension, and the extension built before tests load it."""
    changed = tool("changed")
    build = ["make", "--no-print-directory", ".venv/tested"]
    rust = changed.commands([Path("crates/link/src/lib.rs")])
    assert all(it[2:6] == ["-p", "retx-py", "-p", "retx-link"] for it in rust if it[0] == "cargo")
    assert [it[1] for it in rust if it[0] == "cargo"] == ["clippy", "test"]
    assert build not in rust  # test_tidy reads sources
    pages = ("docs/how-to/sweep.md", "docs/decisions/0014-the-allocator.md")
    page = changed.commands([Path(it) for it in pages])
    assert build in page
    assert page[-1][-2:] == ["-k", "docs/how-to/sweep.md"]
