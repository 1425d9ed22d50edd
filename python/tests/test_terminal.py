"""Control characters in other people's texts never reach a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import retx
from retx.terminal.streams import clean

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

EVIL = "a\x1b[2Jb\x1b]0;title\x07c\x9b31md\u202ee"
SCENARIO = """
title = {title}
duration = "1 s"
[[link]]
name = {link}
ends = ["a", "b"]
rate = "1 Mbit/s"
delay = "1 ms"
[[flow]]
name = {flow}
from = "a"
to = "b"
tcp = {tcp}
app = {{ kind = "transfer", bytes = 10_000 }}
[sweep]
replications = 2
"""


def scenario(**names: str) -> str:
    values = {"title": "t", "link": "l", "flow": "f", "tcp": "reno"} | names
    shown = {key: json.dumps(value).replace("\x7f", "\\u007f") for key, value in values.items()}
    return SCENARIO.format(**shown)


def printed(folder: Path, *words: str) -> tuple[str, str]:
    """Output and error output of a command, read through pipes."""
    command = [sys.executable, "-m", "retx", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    assert b"Traceback" not in done.stderr
    return done.stdout.decode(), done.stderr.decode()


def commands(folder: Path) -> list[list[str]]:
    """Commands that show text of a scenario, a script, a file name, or a store."""
    for key in ("title", "link", "flow", "tcp"):
        (folder / f"{key}.toml").write_text(scenario(**{key: EVIL}))
    (folder / "unknown.toml").write_text(
        scenario().replace("duration", f'"{EVIL!s}" = 1\nduration')
    )
    (folder / "script.pkt").write_text(f"+0 {EVIL}(1) = 0\n")
    (folder / "printed.pkt").write_text(f"// {EVIL}\n+0 > . 1:{EVIL}\n")
    odd = folder / EVIL.replace("/", "")
    odd.mkdir()
    (odd / "s.toml").write_text("nothing = 1")
    store = folder / "store"
    retx.sweep(scenario(), out=store)
    plan = json.loads((store / "sweep.json").read_text())
    plan["engine"] = EVIL
    (folder / "forged").mkdir()
    (folder / "forged" / "parts").mkdir()
    (folder / "forged" / "sweep.json").write_text(json.dumps(plan))
    (store / "parts" / EVIL).mkdir()
    return [
        *(["run", f"{key}.toml"] for key in ("title", "link", "flow", "tcp", "unknown")),
        ["run", "title.toml", "--json"],
        ["run", "flow.toml", "--set", f"{EVIL}=1"],
        ["run", "flow.toml", "--plot", f"cwnd={EVIL}/x.png"],
        ["run", f"{EVIL}/s.toml"],
        ["run", f"{EVIL}/none.toml"],
        ["sweep", "flow.toml", "--out", "new"],
        ["sweep", "title.toml", "--out", "store"],
        ["sweep", "--status", "forged"],
        ["sweep", "--status", "store"],
        ["drill", "script.pkt", "printed.pkt"],
        ["drill", odd.name],
        ["list", EVIL],
        ["study", EVIL],
    ]


def test_nothing_that_is_printed_holds_control_characters(tmp_path: Path) -> None:
    for words in commands(tmp_path):
        for text in printed(tmp_path, *words):
            assert not CONTROL.search(text), (words, text)


def test_json_stays_json(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(scenario(title=EVIL))
    output, _ = printed(tmp_path, "run", "s.toml", "--json")
    assert not CONTROL.search(output)
    assert json.loads(output)["scenario"]["title"] == EVIL


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
def test_a_terminal_gets_colours_of_retx_alone(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(scenario(title="t\x1b[2J\x1b]0;x\x07"))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "retx", "run", "s.toml"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    subprocess.run(command, cwd=tmp_path, stdout=theirs, stderr=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "\x1b[2J" not in shown
    assert "\x1b]0" not in shown
    assert "\\x1b[2J" in shown
    # Styles of the table are still there.
    assert "\x1b[" in shown


def test_escapes_are_readable() -> None:
    assert clean("a\x1b[0m\tb\n\x9b\u202e") == "a\\x1b[0m\tb\n\\x9b\\u202e"
