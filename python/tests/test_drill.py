"""`retx drill`: our own scripts pass, others fail or are refused with what one needs to know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

import retx

DRILLS = Path(__file__).parents[2] / "drills"

OPEN = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.pkt"
    path.write_text(OPEN)
    return path


def test_our_own_scripts_pass(cli: Cli) -> None:
    result = cli("drill", DRILLS)
    scripts = list(DRILLS.rglob("*.pkt"))
    assert len(scripts) >= 100
    assert result.returncode == 0, result.stdout
    lines = result.stdout.splitlines()
    assert lines[-1] == (
        f"{len(scripts)} scripts: {len(scripts)} passed, 0 failed, 0 could not be played"
    )
    assert all(line.endswith(": passed") for line in lines[:-1])


def test_a_failure_shows_line_expected_and_actual(cli: Cli, script: Path) -> None:
    script.write_text(OPEN + "+0 close(4) = 0\n+0 > F. 1:1(0) ack 2\n")
    result = cli("drill", script)
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        f"{script}:8: failed: ack: expected 2, sent 1",
        "  expected  +0 > F. 1:1(0) ack 2",
        "  actual    0.100000 > F. 1:1(0) ack 1 win 65535",
    ]
    assert result.stderr == ""


def test_what_cannot_be_played_is_no_pass(cli: Cli, script: Path) -> None:
    script.write_text(OPEN + "+0 inotify_init() = 5\n")
    result = cli("drill", script)
    assert result.returncode == 2
    assert f"{script}:7: cannot be played: the call inotify_init is not supported" in result.stdout


def test_a_failure_counts_more_than_a_refusal(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_text("nonsense\n")
    (tmp_path / "b.pkt").write_text(OPEN + "+0 > F. 1:1(0) ack 1\n")
    (tmp_path / "c.pkt").write_text(OPEN)
    result = cli("drill", tmp_path)
    assert result.returncode == 1
    assert result.stdout.endswith("3 scripts: 1 passed, 1 failed, 1 could not be played\n")


def test_options_choose_the_tcp(cli: Cli, script: Path) -> None:
    script.write_text(OPEN.replace("mss 1460", "mss 700"))
    assert cli("drill", script).returncode == 1
    assert cli("drill", script, "--set", "mss=700").returncode == 0
    result = cli("drill", script, "--tcp", "renno")
    assert result.returncode == 2
    assert result.stderr.startswith('error: no TCP "renno"; did you mean "reno"? (presets are')
    result = cli("drill", script, "--set", "mss")
    assert result.returncode == 2
    assert "write KEY=VALUE, such as mss=536" in result.stderr
    # No script is to blame.
    result = cli("drill", script, "--set", "msss=536")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: msss: unknown key")


def test_trace_and_print(cli: Cli, script: Path) -> None:
    script.write_text(OPEN + "+0 %{ print(tcpi_snd_cwnd) }%\n")
    result = cli("drill", script, "--trace")
    assert result.returncode == 0
    assert "  0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460>\n" in result.stdout
    assert "  print: 4\n" in result.stdout


def test_json(cli: Cli, script: Path) -> None:
    script.write_text(OPEN + "+0 > F. 1:1(0) ack 1\n")
    result = cli("drill", script, "--json")
    assert result.returncode == 1
    (verdict,) = json.loads(result.stdout)
    assert verdict["verdict"] == "failed"
    assert verdict["line"] == 7
    assert verdict["expected"] == "+0 > F. 1:1(0) ack 1"


def test_files_that_are_no_scripts(cli: Cli, tmp_path: Path) -> None:
    for argument, part in {
        "none.pkt": "No such file",
        str(tmp_path / "empty"): "no .pkt file",
        str(tmp_path / "binary.pkt"): "byte 0xff is not UTF-8",
        "/dev/zero": "larger than 1 MiB",
    }.items():
        (tmp_path / "empty").mkdir(exist_ok=True)
        (tmp_path / "binary.pkt").write_bytes(b"0 \xff")
        result = cli("drill", argument)
        assert result.returncode == 2, argument
        assert result.stderr.startswith("error: ")
        assert part in result.stderr


def test_from_python(script: Path) -> None:
    (result,) = retx.drill(script, tcp="sack", overrides={"mss": 1460}, trace=True)
    assert result.passed
    assert result.simulated_s == pytest.approx(0.1)
    assert result.trace[-1] == "0.100000 # accept"
    script.write_text(OPEN + "+0 write(4, ..., 9) = 8\n")
    (result,) = retx.drill(script)
    assert (result.verdict, result.line, result.message) == ("failed", 7, "write returned 9")
