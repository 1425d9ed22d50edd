"""Scenarios from strangers: no code runs where it is refused; files outside stay unread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import retx

BASE = """
duration = "1 s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "1 Mbit/s"
delay = "1 ms"
{link}
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = "{tcp}"
app = {{ kind = "transfer", bytes = 10_000 }}
{more}
"""

EVIL = """
from pathlib import Path
Path({marker!r}).write_text("it ran")
class Evil:
    def __init__(self): Path({marker!r}).write_text("it ran")
    def on_ack(self, window, ack): pass
    def on_loss(self, window, loss): pass
    def on_timeout(self, window, loss, repeated): pass
    def cause(self, loss): return "corruption"
"""

LIKE = 'like = "reno"\n'
NAMED = '{ name = "python", file = "evil.py", class = "Evil" }'
CODE = {
    "congestion control": f"[tcp.x]\n{LIKE}congestion_control = {NAMED}",
    "loss cause": f"[tcp.x]\n{LIKE}loss_cause = {NAMED}",
    "inherited": f'[tcp.y]\n{LIKE}congestion_control = {NAMED}\n[tcp.x]\nlike = "y"',
    "unused": f"[tcp.x]\n{LIKE}[tcp.y]\n{LIKE}loss_cause = {NAMED}",
    "in a sweep": f"[tcp.x]\n{LIKE}[sweep]\nreplications = 2\n"
    f'"tcp.x.loss_cause" = ["none", {NAMED}]',
}
"""Ways for a scenario to name code."""

CALLS: dict[str, Callable[[Path], object]] = {
    "resolve": lambda path: retx.resolve(path, code=False),
    "run": lambda path: retx.run(path, code=False),
    "replicate": lambda path: retx.replicate(path, 2, code=False),
    "sweep": lambda path: retx.sweep(path, {"seed": [1, 2]}, 2, code=False),
    "emulate": retx.emulate,
    "compare": lambda path: retx.compare(path, emulations=2),
}
COMMANDS = [
    ["run", "--no-code"],
    ["sweep", "--no-code"],
    ["run", "--no-code", "--replications", "2"],
    ["emulate"],
    ["compare", "--emulations", "2"],
]


@pytest.fixture
def evil(tmp_path: Path) -> tuple[Path, Path]:
    """A folder for scenarios, and a file that is there once their code has run."""
    marker = tmp_path / "marker"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "evil.py").write_text(EVIL.format(marker=str(marker)))
    return folder, marker


@pytest.mark.parametrize("way", CODE)
@pytest.mark.parametrize("call", CALLS)
def test_code_is_refused_before_it_is_loaded(evil: tuple[Path, Path], way: str, call: str) -> None:
    folder, marker = evil
    path = folder / "s.toml"
    path.write_text(BASE.format(link="", tcp="x", more=CODE[way]))
    if way == "in a sweep" and call != "sweep":
        pytest.skip("only a sweep reads what varies")
    arguments = {"grid": None} if way == "in a sweep" else {}
    with pytest.raises((retx.ScenarioError, retx.EmulationRefusedError), match="code of"):
        retx.sweep(path, code=False, **arguments) if arguments else CALLS[call](path)
    assert not marker.exists()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_refuse_code(evil: tuple[Path, Path], words: list[str]) -> None:
    folder, marker = evil
    path = folder / "s.toml"
    more = CODE["congestion control"]
    path.write_text(BASE.format(link="", tcp="x", more=more))
    command = [sys.executable, "-m", "retx", words[0], str(path), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "code of" in done.stderr
    assert "Traceback" not in done.stderr
    assert not marker.exists()


def test_code_runs_where_it_may(evil: tuple[Path, Path]) -> None:
    """The tests above could fail: the same scenarios do run their code."""
    folder, marker = evil
    path = folder / "s.toml"
    more = CODE["congestion control"]
    path.write_text(BASE.format(link="", tcp="x", more=more))
    retx.resolve(path)
    assert marker.exists()


TRACE = "time_s,loss\n0,0.1\n1,0.5\n"


def reading(file: str) -> str:
    channel = f'forward.channel = {{ model = "trace", file = {json.dumps(file)} }}'
    return BASE.format(link=channel, tcp="reno", more="")


@pytest.mark.parametrize("kind", ["parent", "absolute", "link", "folder link", "inner parent"])
def test_data_outside_the_folder_is_not_read(tmp_path: Path, kind: str) -> None:
    folder, secret = tmp_path / "folder", tmp_path / "secret.csv"
    (folder / "below").mkdir(parents=True)
    secret.write_text(TRACE)
    (folder / "link.csv").symlink_to(secret)
    (folder / "linked").symlink_to(tmp_path)
    file = {
        "parent": "../secret.csv",
        "absolute": str(secret),
        "link": "link.csv",
        "folder link": "linked/secret.csv",
        "inner parent": "below/../../secret.csv",
    }[kind]
    path = folder / "s.toml"
    path.write_text(reading(file))
    for call in (retx.resolve, retx.run, lambda it: retx.sweep(it, {"seed": [1, 2]}, 2)):
        with pytest.raises(retx.ScenarioError, match="is outside the scenario's folder"):
            call(path)
    assert retx.run(path, files_anywhere=True).flows.height == 1
    # A file that the user names need not lie there.
    path.write_text(reading("below/trace.csv"))
    key = "link.l.forward.channel.file"
    assert retx.run(path, overrides={key: str(secret)}).flows.height == 1


def test_data_below_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "trace.csv").write_text(TRACE)
    path = tmp_path / "s.toml"
    path.write_text(reading("below/trace.csv"))
    channel = retx.resolve(path)["link"][0]["forward"]["channel"]
    assert "0.5" in json.dumps(channel)


@pytest.mark.parametrize(
    "content",
    ["root:x:0:0:{0}:/root:/bin/bash\n", "time_s,loss\n0,{0}\n", "time_s,{0}\n0,0\n", "{0}\n"],
)
@pytest.mark.parametrize("form", ["csv", "mahimahi"])
def test_errors_quote_at_most_forty_characters_of_a_file(
    tmp_path: Path, content: str, form: str
) -> None:
    secret = "".join(chr(0x4E00 + number) for number in range(200))
    (tmp_path / "secret").write_text(content.format(secret))
    path = tmp_path / "s.toml"
    text = reading("secret").replace('"secret" }', f'"secret", format = "{form}" }}')
    path.write_text(text)
    with pytest.raises(retx.ScenarioError) as raised:
        retx.resolve(path)
    assert sum(character in secret for character in str(raised.value)) <= 40


def test_control_characters_of_a_file_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("time_s,loss\n0,\x1b[2J\x07\n")
    (tmp_path / "s.toml").write_text(reading("trace"))
    with pytest.raises(retx.ScenarioError) as raised:
        retx.resolve(tmp_path / "s.toml")
    assert "\x1b" not in str(raised.value)
    assert "\x07" not in str(raised.value)


@pytest.mark.parametrize("kind", ["fifo", "device", "folder"])
def test_only_regular_files_are_read_and_none_blocks(tmp_path: Path, kind: str) -> None:
    file = {"fifo": "pipe", "device": "/dev/zero", "folder": "folder"}[kind]
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    path = tmp_path / "s.toml"
    path.write_text(reading(file))
    done = threading.Event()

    def read() -> None:
        with pytest.raises(retx.ScenarioError, match=r"is not a regular file|cannot be read"):
            retx.resolve(path, files_anywhere=True)
        done.set()

    began = time.monotonic()
    threading.Thread(target=read, daemon=True).start()
    assert done.wait(20)
    assert time.monotonic() - began < 20
