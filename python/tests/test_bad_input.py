"""Bad input: one clear line on stderr, exit code 2, nothing written, never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import LOSSY, Cli


def refused(result: object, *words: str) -> None:
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 1500
    for word in words:
        assert word in result.stderr


def changed(old: str, new: str) -> str:
    assert LOSSY.count(old) == 1
    return LOSSY.replace(old, new)


BAD_TEXTS = {
    "unknown key": (changed("seed = 7", "sead = 7"), ["bad.toml:3", "sead", "seed"]),
    "unit missing": (changed('"20 ms"', "20"), ["bad.toml:10", "delay", "20", "unit"]),
    "unit unknown": (changed('"20 ms"', '"20 parsec"'), ["bad.toml:10", "parsec", "ms"]),
    "negative rate": (changed('"10 Mbit/s"', '"-10 Mbit/s"'), ["bad.toml:9", "rate", "-10"]),
    "impossible route": (changed('to = "client"', 'to = "moon"'), ["bad.toml:17", "moon"]),
    "p over 1": (changed("p = 0.02", "p = 1.5"), ["bad.toml:12", "p", "1.5"]),
    "names that clash": (LOSSY + LOSSY[LOSSY.index("[[flow]]") :], ["download", "two flows"]),
    "no such tcp": (changed('"newreno"', '"newrino"'), ["bad.toml:18", "newrino", "newreno"]),
    "empty file": ("", ["bad.toml", "duration"]),
    "not TOML": ("<html><body>\n", ["bad.toml:1"]),
    "only a comment": ("# nothing\n", ["bad.toml", "duration"]),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_bad_texts(case: str, cli: Cli, tmp_path: Path) -> None:
    text, words = BAD_TEXTS[case]
    path = tmp_path / "bad.toml"
    path.write_text(text)
    refused(cli("run", path, "--out", tmp_path / "out"), *words)
    assert not (tmp_path / "out").exists()


def test_no_such_file(cli: Cli) -> None:
    refused(cli("run", "none.toml"), "none.toml", "No such file")


def test_a_directory(cli: Cli, tmp_path: Path) -> None:
    refused(cli("run", tmp_path), str(tmp_path), "directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file(cli: Cli, lossy: Path) -> None:
    lossy.chmod(0)
    refused(cli("run", lossy), "lossy.toml", "Permission denied")


@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 40, b"\xff\xfe", b'title = "caf\xe9"\n'], ids=repr
)
def test_bytes_that_are_no_text(cli: Cli, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "noise.toml"
    path.write_bytes(content)
    refused(cli("run", path), "noise.toml:")


def test_zeros(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "zeros.toml"
    path.write_bytes(bytes(1000))
    refused(cli("run", path), "zeros.toml:1")


@pytest.mark.parametrize("line", ["x = 1\n", "# comment\n", "[", '"', "a.", "a = [[[["], ids=repr)
def test_a_file_of_10_mb(cli: Cli, tmp_path: Path, line: str) -> None:
    path = tmp_path / "large.toml"
    path.write_text(line * (10_000_000 // len(line)))
    refused(cli("run", path), "large.toml")


def test_an_endless_file(cli: Cli) -> None:
    refused(cli("run", "/dev/zero"), "/dev/zero", "16 MiB")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("seed", ["seed", "KEY=VALUE"]),
        ("=3", ["KEY=VALUE"]),
        ("nonsense.key=3", ["nonsense"]),
        ("link.cloud.delay=3", ["delay", "unit"]),
        ("link.clud.delay=3 ms", ["clud", "cloud"]),
        ("seed=-1", ["seed", "-1"]),
        ("seed=[", ["seed"]),
    ],
)
def test_bad_settings(cli: Cli, lossy: Path, setting: str, words: list[str]) -> None:
    refused(cli("run", lossy, "--set", setting), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--frobnicate"], ["--frobnicate"]),
        (["--seed", "x"], ["seed", "int"]),
        (["--seed", "-3"], ["with seed = -3: expected a whole number, 0 or more"]),
        (["--seed", str(2**64)], ["seed"]),
        (["--replications", "0"], ["--replications"]),
        (["--threads", "2"], ["--replications"]),
        (["--plot", "pie"], ["pie", "cwnd"]),
        (["--plot", "cwnd=x.doc"], ["x.doc", ".png"]),
        (["--span", "1", "2"], ["--plot"]),
        (["--plot", "cwnd", "--span", "2", "1"], ["--span"]),
        (["--plot", "cwnd", "--span", "0", "inf"], ["--span 0 inf", "two times in seconds"]),
        (["--plot", "cwnd", "--flow", "upload"], ["upload", "download"]),
        (["--plot", "cwnd", "--replications", "2"], ["--replications"]),
        (["--out", "/proc/nowhere/x"], ["/proc/nowhere"]),
        (["--out", "/proc/x"], ["/proc/x: "]),
        (["--pcap", "/proc/nowhere/x.pcapng"], ["/proc/nowhere/x.pcapng"]),
        (["--pcap", "/"], ["directory"]),
        (["--plot", "cwnd=/proc/nowhere/x.png"], ["/proc/nowhere"]),
        (["extra.toml"], ["extra.toml"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_options(cli: Cli, lossy: Path, arguments: list[str], words: list[str]) -> None:
    refused(cli("run", lossy, *arguments), *words)


@pytest.mark.parametrize("words", [["lsit"], ["list", "chanel"], ["list", "channel", "bre"]])
def test_bad_commands(cli: Cli, words: list[str]) -> None:
    refused(cli(*words), words[-1])


def test_out_is_not_overwritten(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.tex").write_text("dear")
    refused(cli("run", lossy, "--out", taken), "taken", "not empty")
    refused(cli("run", lossy, "--out", taken, "--force"), "thesis.tex")
    refused(cli("run", lossy, "--out", lossy), "not a directory")
    assert (taken / "thesis.tex").read_text() == "dear"
    assert [entry.name for entry in taken.iterdir()] == ["thesis.tex"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_out_is_not_writable(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    refused(cli("run", lossy, "--out", locked / "x"), "locked", "Permission denied")


def test_empty_runs_are_no_errors(cli: Cli, lossy: Path) -> None:
    assert cli("run", lossy, "--set", "duration=0 s").returncode == 0
    assert cli("run", lossy, "--set", "flow.download.app.bytes=0").returncode == 0


@pytest.mark.parametrize("command", ["emulate", "compare"])
@pytest.mark.parametrize("bound", ["nan", "-1", "inf"])
def test_a_lateness_bound_that_is_no_time(cli: Cli, lossy: Path, command: str, bound: str) -> None:
    refused(cli(command, lossy, "--lateness-bound", bound), f"lateness bound is {float(bound)} s")


@pytest.mark.parametrize("words", [[b"caf\xe9.toml"], [b"--set", b"title=\xff"], [b"--\xff"]])
def test_arguments_that_are_no_text(cli: Cli, lossy: Path, words: list[bytes]) -> None:
    given = [os.fsdecode(word) for word in words]
    refused(cli("run", *([] if len(given) == 1 else [lossy]), *given), "not UTF-8", "\\x")


@pytest.mark.parametrize("name", ["-", "flows.txt", "flows.parquet"])
def test_csv_is_no_other_file(cli: Cli, lossy: Path, name: str) -> None:
    refused(cli("run", lossy, "--csv", name, cwd=lossy.parent), f"--csv {name}", "must end in .csv")
    assert not (lossy.parent / name).exists()
