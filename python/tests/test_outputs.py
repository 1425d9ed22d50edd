"""Files that the command line writes, and files that it never overwrites."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOSSY, Cli
from test_bad_input import refused

import retx
from retx.errors import UsageError

FOREIGN = {
    "pictures": {"holiday.png": "photo", "thesis.pdf": "thesis", "measured.parquet": "data"},
    "code": {"user_code/mine.py": "x = 1"},
    "a summary": {"summary.json": '{"scenario": 1, "version": 2, "results": []}'},
    "no JSON": {"summary.json": "all is well"},
    "a scenario": {"scenario.toml": "duration = '1 s'"},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_force_replaces_nothing_that_is_not_of_retx(
    name: str, cli: Cli, lossy: Path, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    for file, content in FOREIGN[name].items():
        (there / file).parent.mkdir(parents=True, exist_ok=True)
        (there / file).write_text(content)
    refused(cli("run", lossy, "--out", there, "--force"), "there", "is not replaced")
    for file, content in FOREIGN[name].items():
        assert (there / file).read_text() == content


def test_force_replaces_a_result_but_none_with_files_of_others(
    cli: Cli, lossy: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert cli("run", lossy, "--out", out, "--plot", "cwnd").returncode == 0
    assert cli("run", lossy, "--out", out, "--force", "--replications", "2").returncode == 0
    assert len(json.loads((out / "summary.json").read_text())["runs"]) == 2
    assert cli("run", lossy, "--out", out, "--force").returncode == 0
    for foreign in ("notes.txt", "holiday.png", "mine.parquet", "user_code/mine.py"):
        (out / foreign).parent.mkdir(exist_ok=True)
        (out / foreign).write_text("mine")
        refused(cli("run", lossy, "--out", out, "--force"), foreign)
        assert (out / foreign).read_text() == "mine"
        (out / foreign).unlink()
    shutil.rmtree(out / "user_code")
    assert cli("run", lossy, "--out", out, "--force").returncode == 0


def test_no_scenario_is_replaced_by_the_result_of_its_run(cli: Cli, tmp_path: Path) -> None:
    here = tmp_path / "cwd"
    assert cli("init").returncode == 0
    written = (here / "scenario.toml").read_text()
    for out in (".", here, "../cwd"):
        refused(cli("run", "scenario.toml", "--out", out, "--force"), "the scenario that is read")
    refused(cli("emulate", "scenario.toml", "--out", ".", "--force"), "the scenario that is read")
    assert cli("run", "scenario.toml", "--out", "out").returncode == 0
    resolved = here / "out" / "scenario.toml"
    refused(cli("run", resolved, "--out", "out", "--force"), "out: holds the scenario")
    assert (here / "scenario.toml").read_text() == written


def test_the_current_directory_is_not_replaced(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    refused(cli("run", lossy, "--out", "."), "cwd", "current directory")
    assert cli("run", lossy, "--out", "out").returncode == 0
    again = cli("run", lossy, "--out", ".", "--force", cwd=tmp_path / "cwd" / "out")
    refused(again, "out", "current directory")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--pcap", "s.toml"], ["s.toml", "scenario"]),
        (["run", "--pcap", "../cwd/s.toml"], ["s.toml", "scenario"]),
        (["run", "--plot", "cwnd=x.png", "--plot", "rtt=x.png"], ["x.png", "another option"]),
        (["run", "--plot", "cwnd", "--plot", "rtt=cwnd.png"], ["cwnd.png", "another option"]),
        (["run", "--pcap", "y.png", "--plot", "cwnd=./y.png"], ["y.png", "another option"]),
        (["run", "--out", "o", "--plot", "cwnd", "--plot", "cwnd"], ["cwnd", "twice"]),
        (["run", "--out", "o", "--pcap", "o/a.pcapng"], ["o/a.pcapng", "as a whole"]),
        (["emulate", "--pcap", "s.toml"], ["s.toml", "scenario"]),
        (["compare", "--table", "s.csv"], ["s.csv", "scenario"]),
        (["tune", "--out", "s.toml"], ["s.toml", "scenario"]),
        (["tune", "--storage", "a.toml", "--out", "a.toml"], ["a.toml", "another option"]),
    ],
)
def test_outputs_are_not_the_scenario_nor_each_other(
    cli: Cli, lossy: Path, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    here = tmp_path / "cwd"
    name = "s.csv" if "s.csv" in arguments else "s.toml"
    (here / name).write_text(lossy.read_text())
    if arguments[0] == "tune":
        vary = "link.cloud.queue.packets=5..50"
        arguments = [*arguments, "--vary", vary, "--maximise", "goodput"]
    refused(cli(arguments[0], name, *arguments[1:]), *words)
    assert [path.name for path in here.iterdir()] == [name]
    assert (here / name).read_text() == lossy.read_text()


OTHER = ["--set", "link.cloud.forward.channel.file=other.csv"]
AIMD = """
import retx

class Aimd(retx.CongestionControl):
    def on_ack(self, ack, window): window.cwnd += 1
    def on_loss(self, loss, window): window.cwnd //= 2
    def on_timeout(self, loss, window): window.cwnd = 1
"""


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "--pcap", "lte.csv"], "lte.csv"),
        (["run", "--plot", "cwnd=lte.csv"], "lte.csv"),
        (["run", "--plot", "cwnd=other.csv", *OTHER], "other.csv"),
        (["run", "--pcap", "aimd.py"], "aimd.py"),
        (["emulate", "--pcap", "lte.csv"], "lte.csv"),
        (["tune", "--out", "lte.csv"], "lte.csv"),
        (["compare", "--table", "lte.csv"], "lte.csv"),
    ],
)
def test_outputs_are_no_files_that_the_scenario_reads(
    cli: Cli, lossy: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    here = tmp_path / "cwd"
    code = '{ name = "python", file = "aimd.py", class = "Aimd" }'
    code = f'[tcp.mine]\nlike = "reno"\ncongestion_control = {code}\n'
    trace = "{ model = 'trace', file = 'lte.csv' }"
    text = lossy.read_text().replace('{ model = "bernoulli", p = 0.02 }', trace)
    (here / "s.toml").write_text(text.replace("[[link]]", f"{code}[[link]]"))
    for name, content in (("lte.csv", "time_s,loss\n0,0.1\n"), ("aimd.py", AIMD)):
        (here / name).write_text(content)
    (here / "other.csv").write_text("time_s,loss\n0,0.1\n")
    if arguments[0] == "tune":
        vary = "link.cloud.queue.packets=5..50"
        arguments = [*arguments, "--vary", vary, "--maximise", "goodput"]
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    done = cli(arguments[0], "s.toml", *arguments[1:])
    refused(done, f"{named}: is also a file that the scenario reads")
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_a_scenario_is_read_from_a_pipe(lossy: Path, tmp_path: Path) -> None:
    line = f"{sys.executable} -m retx run <(cat {lossy}) --pcap {tmp_path}/a.pcapng"
    assert subprocess.run(["bash", "-c", line], capture_output=True, check=False).returncode == 0


def test_a_sweep_does_not_replace_the_scenario_that_it_reads(cli: Cli, tmp_path: Path) -> None:
    here = tmp_path / "cwd"
    text = "# my notes\n" + LOSSY
    (here / "scenario.toml").write_text(text)
    done = cli("sweep", "scenario.toml", "--replications", 2, "--out", ".")
    refused(done, "holds the scenario that is read")
    with pytest.raises(UsageError, match="holds the scenario that is read"):
        retx.sweep(here / "scenario.toml", replications=2, out=here)
    assert [path.name for path in here.iterdir()] == ["scenario.toml"]
    assert (here / "scenario.toml").read_text() == text


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["sweep", "lossy.toml", "--out", ""], " after --out"),
        (["sweep", "lossy.toml", "--out="], " after --out"),
        (["run", "lossy.toml", "--plot", "cwnd", "--flow", ""], " after --flow"),
        (["run", ""], ""),
        (["sweep", "--status", ""], " after --status"),
    ],
)
def test_empty_arguments_are_refused(cli: Cli, arguments: list[str], where: str) -> None:
    refused(cli(*arguments), f"there is an empty argument{where}: leave it out, or write a value")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "lossy.toml", "--plot", "cwnd="], ["--plot cwnd=", "the file name is missing"]),
        (["sweep", "lossy.toml", "--out", "lossy.toml"], ["not a directory"]),
        (["sweep", "--status", "lossy.toml"], ["is not the directory of a sweep"]),
        (["compare", "--grid", "1", "--out", "lossy.toml"], ["exists and is not a directory"]),
    ],
)
def test_places_that_are_none(
    cli: Cli, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "cwd" / "lossy.toml").write_text(LOSSY)
    refused(cli(*arguments), *words)


def test_messages_name_the_true_reason(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "lock").write_text("")
    done = cli("run", lossy, "--out", tmp_path / "sweep", "--force")
    refused(done, "and no summary.json of retx, and is thus no run; name another directory")
    refused(cli("sweep", lossy, "--paired", "1,2"), "nothing varies: add --vary KEY=A,B")
    assert "not for confusion" not in cli("diagnose", "--help").stdout


@pytest.mark.parametrize(
    ("others", "named"),
    [
        (["lossy.toml"], "the scenario"),
        (["--force"], "--force"),
        (["--seed", "0"], "--seed"),
        (["--set", "seed=1"], "--set"),
        (["--metric", "rto_count"], "--metric"),
        (["--out", "elsewhere"], "--out"),
    ],
)
def test_status_stands_alone(cli: Cli, others: list[str], named: str) -> None:
    done = cli("sweep", "--status", "sweep", *others)
    refused(done, f"--status DIR takes no other options: leave out {named}")


def test_a_grid_of_comparisons_goes_into_no_directory_of_others(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("mine")
    done = cli("compare", "--grid", 1, "--out", tmp_path)
    refused(done, str(tmp_path), "grid.json", "another directory")
    assert (tmp_path / "table.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--out", "out"], "out/summary.json: "),
        (["--out", "out", "--replications", "2"], "out: "),
        (["--out", "out", "--plot", "cwnd"], "out/summary.json: "),
        (["--pcap", "a.pcapng"], "a.pcapng: "),
        (["--plot", "cwnd=x.png"], "x.png: "),
        (["--plot", "cwnd=x.pdf"], "x.pdf: "),
        (["--plot", "cwnd=x.csv", "--plot", "rtt"], "x.csv: "),
        (["--plot", "cwnd=x.parquet", "--plot", "rtt"], "x.parquet: "),
    ],
)
def test_a_full_disk_is_told_with_the_file_that_has_no_room(
    cli: Cli, lossy: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = cli("run", lossy, *arguments, preexec_fn=little_room)
    # No reason is known for an error at the end of a Parquet file.
    reason = "Input/output error" if "parquet" in named else "File too large"
    assert done.returncode == 2
    assert f"{named}{reason}" in done.stderr
    assert done.stderr.count("error: ") == 1
    assert [*(tmp_path / "cwd").iterdir()] == []
    # The result of the run is printed, and no output is named as written.
    if "--pcap" not in arguments:
        assert "download" in done.stdout
    assert "ritten" not in done.stdout


def test_a_full_disk_under_one_output_leaves_the_others(cli: Cli, lossy: Path, tmp_path) -> None:
    """`RLIMIT_FSIZE` is the room of every file; the CSV file alone fits into it."""

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    done = cli("run", lossy, "--plot", "cwnd=x.png", "--csv", "f.csv", preexec_fn=little_room)
    assert (done.returncode, done.stderr) == (2, "error: x.png: File too large\n")
    assert [path.name for path in (tmp_path / "cwd").iterdir()] == ["f.csv"]
    assert "f.csv" in done.stdout
    assert "x.png" not in done.stdout


@pytest.mark.parametrize("out", [["--out", "out"], []])
def test_a_figure_that_cannot_be_drawn_costs_nothing_else(
    cli: Cli, lossy: Path, tmp_path: Path, out: list[str]
) -> None:
    here = tmp_path / "cwd"
    plots = ["--plot", "cwnd", "--plot", "ladder", "--plot", "ladder=own.png", "--span", "0", "90"]
    done = cli("run", lossy, *out, *plots, "--pcap", "a.pcapng", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["flows"]
    assert done.stderr.startswith("error: --plot ladder: ")
    assert done.stderr.count("too many for a ladder") == 2
    assert sorted(path.name for path in here.iterdir()) == [
        "a.pcapng",
        out[1] if out else "cwnd.png",
    ]
    assert not (here / "out" / "ladder.png").exists()
    if out:
        assert {"summary.json", "cwnd.png"} <= {path.name for path in (here / "out").iterdir()}


def test_no_segments_are_recorded_where_none_are_wanted(
    cli: Cli, lossy: Path, tmp_path: Path
) -> None:
    for kind in ("sequence", "ladder", "bursts"):
        done = cli("run", lossy, "--out", "out", "--no-segments", "--plot", kind)
        refused(done, f"--plot {kind} needs segments", "--no-segments")
    assert cli("run", lossy, "--out", "out", "--no-segments", "--plot", "rtt").returncode == 0
    names = {path.name for path in (tmp_path / "cwd" / "out").iterdir()}
    assert "rtt.png" in names
    assert "segments.parquet" not in names


PACKETS = "link.cloud.queue.packets"
TUNE = ["tune", "--maximise", "goodput"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--force"], ["--force", "--out"]),
        (["run", "--no-segments"], ["--no-segments", "--out"]),
        (["run", "--plot", "queue", "--flow", "download"], ["--plot queue", "leave out --flow"]),
        (["run", "--plot", "fairness", "--flow", "x"], ["--plot fairness", "leave out --flow"]),
        (["run", "--plot", "confusion", "--span", "0", "1"], ["--plot confusion", "--span"]),
        (["emulate", "--force"], ["--force", "--out"]),
        (["sweep", "--vary", f"{PACKETS}=[5]", "--vary", f"{PACKETS}=[6]"], ["varies already"]),
        (["sweep", "--vary", f"{PACKETS}=[5]", "--set", f"{PACKETS}=6"], ["--set", "--vary"]),
        ([*TUNE, "--vary", f"{PACKETS}=5..6", "--vary", f"{PACKETS}=7..9"], ["twice"]),
        ([*TUNE, "--vary", f"{PACKETS}=5..6", "--set", f"{PACKETS}=6"], ["--set", "--vary"]),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    cli: Cli, lossy: Path, arguments: list[str], words: list[str]
) -> None:
    refused(cli(arguments[0], lossy, *arguments[1:]), *words)
