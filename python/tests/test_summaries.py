"""Summaries for people name what a flow is about, and nothing that did not happen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Cli

from retx.terminal.quantities import rate, size


def test_means_of_replications_are_of_what_each_flow_is_about(cli: Cli, tmp_path: Path) -> None:
    link = '[[link]]\nname = "l"\nends = ["a", "b"]\nrate = "1 Mbit/s"\ndelay = "10 ms"\n'
    link += 'forward.channel = { model = "bernoulli", p = 0.3 }\n'
    flow = '[[flow]]\nname = "{}"\nfrom = "a"\nto = "b"\ntcp = "reno"\napp = {}\n'
    apps = {
        "file": '{ kind = "transfer", bytes = 20_000 }',
        "asked": '{ kind = "request_response", request = 100, response = 1000 }',
        "endless": '"bulk"',
    }
    path = tmp_path / "mixed.toml"
    text = f'duration = "20 s"\n{link}' + "".join(flow.format(*app) for app in apps.items())
    path.write_text(text)
    done = cli("run", path, "--replications", "8")
    rows = [line.split() for line in done.stdout.splitlines()]
    times = [row[0] for row in rows if row[1:3] == ["response", "time"]]
    assert times == ["file"]  # the others do not end
    assert any(row[:5] == ["asked", "time", "of", "an", "exchange"] for row in rows)
    assert re.search(r"file +response time .* \d \(\d without\)", done.stdout)
    assert "(1 replication of seed 1)" in cli("run", path, "--replications", "1").stdout


def test_ecn_marks_are_no_losses(cli: Cli, tmp_path: Path) -> None:
    text = (
        '[tcp.e]\nlike = "sack"\necn = true\n[[link]]\nname = "l"\nends = ["a", "b"]\n'
        'rate = "5 Mbit/s"\ndelay = "10 ms"\nqueue = { discipline = "red", ecn = true }\n'
        '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\ntcp = "e"\napp = "bulk"\n'
    )
    path = tmp_path / "marked.toml"
    path.write_text(f'duration = "20 s"\n{text}')
    for command in ("run", "why"):
        printed = " ".join(cli(command, path).stdout.split())
        assert "by windows reduced after ECN marks of a queue" in printed, command
        assert "losses in a queue" not in printed.partition("limited")[2].partition(".")[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999_400, "999 k"),
        (999_600, "1 M"),
        (-999_600, "-1 M"),
        (999.6, "1 k"),
        (999_950_000, "1 G"),
    ],
)
def test_rounding_up_reaches_the_next_prefix(value: float, text: str) -> None:
    assert rate(value) == f"{text}bit/s"
    assert size(value) == f"{text}B"
