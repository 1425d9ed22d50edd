"""The command line, where nothing goes wrong."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import LOSSY, Cli

import retx
from retx.terminal.quantities import mean_count, rate, seconds, size

HEAVY = {"matplotlib", "numpy", "polars", "scipy", "jinja2", "pandas"}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that are there after running the code."""
    code += "\nimport sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split())


def test_help_and_import_load_nothing_heavy() -> None:
    """Help and import must take a fraction of a second, which depends on the modules they load."""
    app = (
        "from retx.cli.entry import command_line\n"
        "command_line([])(['--help'], standalone_mode=False)"
    )
    assert "typer" in loaded_by(app)
    assert not loaded_by(app) & HEAVY
    assert not loaded_by("import retx") & (HEAVY | {"typer", "rich"})


def test_a_sweep_loads_nothing_heavy_until_a_table_is_asked_for(tmp_path: Path) -> None:
    """Imports would cost more than thousands of short runs."""
    (tmp_path / "s.toml").write_text(LOSSY)
    sweep = (
        f"import retx\nfor out in (None, {str(tmp_path / 'out')!r}, {str(tmp_path / 'out')!r}):\n"
        f"    found = retx.sweep({str(tmp_path / 's.toml')!r}, {{'seed': [1, 2]}}, 3, out=out)"
    )
    assert not loaded_by(sweep) & (HEAVY | {"typer", "rich"})
    assert "polars" in loaded_by(sweep + "\nassert len(found) == 6")


def test_a_listing_loads_nothing_heavy() -> None:
    """Closed forms and studies are read, not imported: SciPy alone takes a second."""
    listing = (
        "from retx.cli.entry import command_line\n"
        "command_line(['list'])(['list'], standalone_mode=False)"
    )
    assert not loaded_by(listing) & (HEAVY | {"rich"})


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["run", "--help"], ["list", "-h"]])
def test_help(cli: Cli, words: list[str]) -> None:
    done = cli(*words)
    assert done.returncode == 0
    assert "Usage: " in done.stdout


def test_version(cli: Cli) -> None:
    import retx

    assert cli("--version").stdout == f"retx {retx.__version__}\n"


def test_the_summary_for_people(cli: Cli, lossy: Path) -> None:
    done = cli("run", lossy)
    assert done.returncode == 0
    assert done.stderr == ""
    for word in ("download", "newreno", "Mbit/s", "fast retransmit", "wireless", "forward", "%"):
        assert word in done.stdout


def test_the_summary_tells_round_trips_and_what_links_repeated(cli: Cli, lossy: Path) -> None:
    repeating = ("--set", 'link.cloud.forward.arq={ mode = "selective_repeat", retries = 3 }')
    done = cli("run", lossy, *repeating)
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(cli("run", lossy, *repeating, "--json").stdout)
    flow, link = summary["flows"][0], summary["links"][0]
    head, _, row = done.stdout.splitlines()[2:5]
    cells = dict(
        zip(re.split(r" {2,}", head.strip()), re.split(r" {2,}", row.strip()), strict=True)
    )
    assert cells["RTT"] == f"{flow['rtt_mean_s'] * 1e3:.3g} ms"
    assert cells["sent"] == str(flow["segments_sent"])
    assert "repeated" in done.stdout
    assert f" {link['frames_repeated']} " in done.stdout
    assert link["frames_repeated"] > 0
    assert "repeated" not in cli("run", lossy).stdout
    cut = cli("run", lossy, "--set", 'duration="0.2 s"').stdout
    assert "no end" in cut


@pytest.mark.parametrize(
    ("mean", "text"), [(0, "0"), (4e-6, "< 0.01"), (0.427, "0.427"), (4953.2, "4\u202f953")]
)
def test_means_of_counts_are_plain_numbers(mean: float, text: str) -> None:
    assert mean_count(mean) == text


def test_times_below_a_millisecond_are_in_microseconds() -> None:
    assert [seconds(it) for it in (9.27e-7, 0.0005, 0.02, 0)] == [
        "0.927 µs",
        "500 µs",
        "20 ms",
        "0 s",
    ]


def test_a_terminal_without_unicode(cli: Cli, lossy: Path) -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    lossy.write_text(lossy.read_text().replace("A short download", "Größe 10 µs × 𝛼"))
    for words in (["run", lossy], ["run", lossy, "--replications", "2"], ["list"], ["--help"]):
        done = cli(*words, env=plain)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.isascii()
        assert "?" not in done.stdout
    shown = cli("run", lossy, env=plain).stdout
    assert "Grosse 10 us x alpha over" in shown
    assert "500 000" not in shown
    # Output for programs is the same in any encoding.
    for words in (["run", lossy, "--replications", "2"], ["list", "channel"], ["run", lossy]):
        texts = [cli(*words, "--json", env=env).stdout for env in (plain, None)]
        found, whole = (re.sub('"wall_s": [0-9.e-]+', '"wall_s": 0', text) for text in texts)
        assert found.isascii()
        assert not whole.isascii()
        assert json.loads(found) == json.loads(whole)


@pytest.mark.parametrize("width", [20, 40])
def test_a_narrow_terminal_loses_no_text(
    lossy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    from retx.cli.summary import print_summary

    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("retx.cli.console.WIDTH", width)
    summary = retx.run(lossy, progress=False).summary
    print_summary(summary, [])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    # A row for each number, none of which is broken.
    sent, packets = summary["flows"][0]["segments_sent"], summary["links"][0]["packets_in"]
    for name, number in (("sent", sent), ("packets", packets)):
        assert re.search(rf"^{name} +{number} *$", shown, re.MULTILINE), shown
    assert "newreno" in shown


def test_texts_of_the_scenario_are_no_commands_to_the_terminal(cli: Cli, lossy: Path) -> None:
    done = cli("run", lossy, "--set", "flow.download.name='[/x]'")
    assert (done.returncode, done.stderr) == (0, "")
    assert "[/x]" in done.stdout
    done = cli("run", lossy, "--set", 'title="[/b] \\u001b[31m"')
    assert done.stdout.startswith("[/b] \\x1b[31m (seed 7)")
    vary = ("--vary", 'title=["[/b]", "[bold]"]', "--replications", 2)
    done = cli("sweep", lossy, *vary)
    assert (done.returncode, done.stderr) == (0, "")
    assert "[/b]" in done.stdout
    assert "[bold]" in done.stdout


def test_replications_for_people_and_machines(cli: Cli, lossy: Path) -> None:
    done = cli("run", lossy, "--replications", "4", "--threads", "2")
    assert "response time" in done.stdout
    assert "95 %" in done.stdout
    summary = json.loads(cli("run", lossy, "--replications", "4", "--json").stdout)
    assert summary["replications"] == 4
    assert [run["replication"] for run in summary["runs"]] == [0, 1, 2, 3]
    assert all(run["flows"][0]["name"] == "download" for run in summary["runs"])


def test_out_can_be_read_back(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "result"
    assert cli("run", lossy, "--out", out, "--replications", "3").returncode == 0
    flows = pl.read_parquet(out / "flows.parquet")
    assert flows["replication"].to_list() == [0, 1, 2]
    assert json.loads((out / "summary.json").read_text())["replications"] == 3
    assert (out / "segments.parquet").exists()
    small = tmp_path / "small"
    assert cli("run", lossy, "--out", small, "--no-segments").returncode == 0
    assert not (small / "segments.parquet").exists()


def test_one_of_many_draws_is_made_again(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    many = json.loads(cli("run", lossy, "--replications", "4", "--json").stdout)
    for number in (0, 3):
        out = tmp_path / f"out{number}"
        done = cli("run", lossy, "--replication", number, "--out", out, "--json")
        one = json.loads(done.stdout)
        assert one["replication"] == number
        assert one["flows"] == many["runs"][number]["flows"]
        is_drawn = (out / "scenario.toml").read_text().startswith("# This was draw 3 of the seed")
        assert is_drawn == (number == 3)
        again = cli("run", out / "scenario.toml", "--replication", number, "--json")
        assert json.loads(again.stdout)["flows"] == one["flows"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["2", "--replications", "3"], "runs only replication N: leave out --replications"),
        (["-1"], "Invalid value for '--replication'"),
        ([str(2**64)], "it must be at most 9223372036854775807"),
    ],
)
def test_draws_that_cannot_be_made(cli: Cli, lossy: Path, options: list, message: str) -> None:
    done = cli("run", lossy, "--replication", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_plots_go_to_the_named_files(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    here = tmp_path / "cwd"
    done = cli("run", lossy, "--plot", "rtt", "--plot", "ladder=l.svg", "--span", "0", "0.3")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in here.iterdir()) == ["l.svg", "rtt.png"]
    assert "rtt.png" in done.stdout


def test_the_leg_behind_a_proxy_is_plotted_by_its_name(cli: Cli, tmp_path: Path) -> None:
    proxy = '\n[[relay]]\nname = "proxy"\nkind = "split"\nnode = "base"\n'
    air = LOSSY[LOSSY.index("[[link]]") : LOSSY.index("[[flow]]")].replace('"cloud"', '"air"')
    text = LOSSY.replace('"client"]', '"base"]') + air.replace('"server"', '"base"') + proxy
    (tmp_path / "cwd" / "split.toml").write_text(text)
    done = cli("run", "split.toml", "--plot", "cwnd=a.csv", "--flow", "download@proxy")
    assert (done.returncode, done.stderr) == (0, "")
    refused = cli("run", "split.toml", "--plot", "cwnd=b.csv", "--flow", "download@prox")
    assert "choose one of download, download@proxy" in refused.stderr


def test_samples_that_no_memory_holds_are_refused_at_once(cli: Cli, lossy: Path) -> None:
    setting = ("--set", "sample_interval=1 ns", "--set", "stop=duration")
    done = cli("run", lossy, *setting, "--out", "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: samples every 1 ns come to more than 100000000 rows by 50 ms of the run: take a "
        'longer `sample_interval`, or "every_ack"\n'
    )


def test_captures_at_a_place(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    done = cli("run", lossy, "--pcap", "a.pcapng", "--pcap-at", "cloud@client")
    assert done.returncode == 0, done.stderr
    content = (tmp_path / "cwd" / "a.pcapng").read_bytes()
    assert content.startswith(b"\x0a\x0d\x0d\x0a")
    assert b"cloud at client" in content
    assert b"cloud at server" not in content
    for place, word in (("cloud", "LINK@NODE"), ("mist@client", "cloud"), ("cloud@moon", "server")):
        done = cli("run", lossy, "--pcap", "b.pcapng", "--pcap-at", place)
        assert (done.returncode, done.stdout) == (2, "")
        assert word in done.stderr
    assert not (tmp_path / "cwd" / "b.pcapng").exists()


def test_listing(cli: Cli) -> None:
    listed = cli("list").stdout
    for word in ("newreno", "bernoulli", "droptail", "transfer", "RFC 6582"):
        assert word in listed
    ber = cli("list", "channel", "ber").stdout
    assert "linear" in ber
    assert "`overhead`" in ber
    assert "`ber`" in cli("list", "channel", "fading").stdout
    kinds = json.loads(cli("list", "--json").stdout)
    assert kinds["queue"][0]["name"] == "droptail"
    assert [entry["name"] for entry in kinds["repair"]] == ["arq", "fec"]


def test_schema(cli: Cli) -> None:
    schema = json.loads(cli("schema").stdout)
    assert {"duration", "link", "flow", "tcp"} <= schema["properties"].keys()


def test_a_reader_that_stops_reading(lossy: Path) -> None:
    """More than a pipe holds: the command ends as `yes | head` does."""
    command = f"{sys.executable} -m retx run {lossy} --json --replications 200"
    command += " | head -c 10; exit ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == '{\n  "scena'
    assert done.returncode == 141


@pytest.mark.parametrize(
    "words", [["run"], ["run", "--json"], ["list"], ["schema"], ["--help"], ["run", "--help"]]
)
def test_a_reader_that_is_gone(lossy: Path, words: list[str]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    name = [str(lossy)] if words[0] == "run" and "--help" not in words else []
    command = [sys.executable, "-m", "retx", words[0], *name, *words[1:]]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    assert done.stderr == ""
    assert done.returncode == 141


def test_a_fault_of_ours_is_a_block_to_copy(tmp_path: Path) -> None:
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY)
    seed = retx.resolve(path)["seed"]
    code = (
        "import sys, retx.running.run\n"
        "def broken(*_, **__): raise ZeroDivisionError('oh')\n"
        "retx.running.run.run_parsed = broken\n"
        f"sys.argv = ['retx', 'run', {str(path)!r}]\n"
        "from retx.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert done.stderr.startswith("internal error: ZeroDivisionError: oh\n")
    facts = dict(re.findall(r"^    (\w+) +(.+)$", done.stderr, re.MULTILINE))
    assert facts["version"].startswith(f"retx {retx.__version__}, engine ")
    assert facts["command"] == f"retx run {path}"
    assert facts["seed"] == str(seed)
    assert platform.python_version() in facts["platform"]
    assert facts["error"] == "ZeroDivisionError: oh"
    assert facts["where"].startswith("<string>:2 in broken")
    assert "open an issue" in done.stderr
    assert "Traceback" not in done.stderr
    shown = subprocess.run(
        [sys.executable, "-c", code.replace("'run', ", "'run', '--debug', ")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" in shown.stderr


@pytest.mark.parametrize(
    ("shown", "value", "text"),
    [
        (rate, 1_210_000, "1.21 Mbit/s"),
        (rate, -623_000, "-623 kbit/s"),
        (rate, -1.04e7, "-10.4 Mbit/s"),
        (rate, 0, "0 bit/s"),
        (size, -65_500, "-65.5 kB"),
    ],
)
def test_numbers_below_zero_have_prefixes_too(
    shown: Callable[[float], str], value: float, text: str
) -> None:
    assert shown(value) == text


@pytest.mark.parametrize("closed", ["<&- >&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("shown", [["--json"], ["--pcap", "a.pcapng"]])
def test_closed_outputs_are_no_fault(
    lossy: Path, tmp_path: Path, closed: str, shown: list[str]
) -> None:
    line = f'"$@" {closed}'
    words = [sys.executable, "-m", "retx", "run", str(lossy), *shown]
    done = subprocess.run(
        ["sh", "-c", line, "sh", *words], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    if shown == ["--pcap", "a.pcapng"]:
        # Nothing that is printed gets into a file.
        assert b"Retransmitted" not in (tmp_path / "a.pcapng").read_bytes()
