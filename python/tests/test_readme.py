"""Commands and code in the documentation work as written, and print the output shown there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from emulating import refusal
from forking import Forks

import retx

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/a-silence-of-57-seconds.md",
    *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/how-to/*.md")),
    *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/questions/*.md")),
]
KERNEL = re.compile("retx (emulate|compare)")
ANSWERED = re.compile("retx (why|run) [^\\n]*\\n")
"""Blocks of one command: a text below them is what it prints."""
SLOW = ("make ", "retx study")
"""Commands that other tests, or the making of the demo, run."""


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of each fenced block."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def clone(tmp_path: Path, forks: Forks) -> Path:
    """A directory that looks like a clone after `make build`, and takes what is written."""
    for folder in ("docs", "drills"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    # Beside a report lie the scenarios of its study, in the repository others.
    (tmp_path / "scenarios").mkdir()
    for folder in (ROOT / "studies" / "high-ber", ROOT / "scenarios"):
        for scenario in folder.glob("*.toml"):
            (tmp_path / "scenarios" / scenario.name).symlink_to(scenario)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    forks.command(tmp_path / ".venv" / "bin" / "retx")
    return tmp_path


def run(command: list[str], where: Path) -> str:
    path = f"{where / '.venv' / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def write_files(page: str, where: Path) -> None:
    """A page may show a file's text; its first comment then says which file it is."""
    for language, text in blocks(page):
        name = file_name(language, text)
        if name:
            (where / name).write_text(text)


def begin(page: str, where: Path) -> None:
    """Writes the files that the code of a page expects its reader to have written."""
    write_files(page, where)
    for language, text in blocks(page):
        for line in text.splitlines() if language == "sh" else []:
            if line.startswith("retx init"):
                run(["bash", "-ec", line], where)


def file_name(language: str, text: str) -> str | None:
    """The file that a block is the text of, if it is one."""
    name = re.match(r"# ([\w./-]+\.(toml|py))\n", text)
    return name[1] if name and language in ("toml", "python") else None


@pytest.mark.parametrize("page", PAGES)
def test_commands_work_as_written(page: str, clone: Path) -> None:
    write_files(page, clone)
    printed = {command for _, command, _ in answers()}
    for language, text in blocks(page):
        text_of_commands = text if language == "sh" and text not in printed else ""
        for line in text_of_commands.replace("\\\n", "").splitlines():
            if KERNEL.search(line) and refusal():
                continue
            if "vsftpd" in line and not (shutil.which("vsftpd") and shutil.which("curl")):
                continue  # test_transfer says so
            if not any(word in line for word in SLOW):
                run(["bash", "-ec", line], clone)


def answers() -> Iterator[tuple[str, str, str]]:
    """Page, command and printed answer of each command with a text below it."""
    for page in PAGES:
        listed = blocks(page)
        for (language, text), (below, printed) in pairwise(listed):
            if language == "sh" and below == "text" and ANSWERED.fullmatch(text):
                yield page, text, printed


@pytest.mark.parametrize(
    ("page", "command", "printed"), list(answers()), ids=lambda text: text.split("\n")[0][-40:]
)
def test_commands_print_what_it_says(page: str, command: str, printed: str, clone: Path) -> None:
    """Times taken are not compared; a picture that the command draws is that of the page."""
    found = run(["bash", "-ec", command], clone)
    assert comparable(found) == comparable(printed), page
    for name in re.findall(r"=(\S+\.png)", command):
        drawn, committed = clone / name, ROOT / "docs" / "images" / name
        assert drawn.read_bytes()[:24] == committed.read_bytes()[:24]  # kind and size
        assert f"({os.path.relpath(committed, (ROOT / page).parent)})" in (ROOT / page).read_text()


def comparable(printed: str) -> str:
    """Output without the parts that differ from call to call."""
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    return re.sub(r"runs in [\d.]+ m?s", "runs", "\n".join(lines))


@pytest.mark.parametrize("page", [page for page in PAGES if "questions/" in page])
def test_a_question_shows_its_scenario(page: str) -> None:
    """Word by word, as far as it is shown; the table of questions names page and file."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.endswith("index.md"):
        scenarios = {path.name for path in (ROOT / "scenarios").glob("why-*.toml")}
        assert set(re.findall(r"\[(why-\w+\.toml)\]", text)) == scenarios
        return
    scenario = (ROOT / "scenarios" / f"why-{Path(page).stem}.toml").read_text(encoding="utf-8")
    shown = [block for language, block in blocks(page) if language == "toml"]
    assert shown
    for block in shown:
        assert block in scenario
    assert [command for where, command, _ in answers() if where == page]


@pytest.mark.parametrize("page", PAGES)
def test_python_prints_what_it_says(page: str, clone: Path) -> None:
    begin(page, clone)
    listed = blocks(page)
    for (language, text), following in zip(listed, [*listed, ("", "")][1:], strict=True):
        if language != "python" or file_name(language, text):
            continue
        printed = run([sys.executable, "-c", text], clone)
        if following[0] == "text":
            assert printed == following[1]


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target


def test_the_citation_has_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {retx.__version__}\n" in citation


def test_the_picture_is_what_the_script_draws(tmp_path: Path) -> None:
    """The data are compared; pixels may differ with the version of matplotlib."""
    script = ROOT / "docs" / "images" / "draw.py"
    code = f"import runpy, pathlib; runpy.run_path({str(script)!r})['draw'](pathlib.Path('.'))"
    run([sys.executable, "-c", code], tmp_path)
    drawn, committed = (tmp_path / "cwnd.png", ROOT / "docs" / "images" / "cwnd.png")
    assert drawn.read_bytes()[:24] == committed.read_bytes()[:24]  # kind and size of the picture
