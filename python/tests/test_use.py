"""First contact of a new user: a scenario to start from, help, completion, notebooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOSSY, Cli

import retx
from retx.cli.entry import COMMANDS


def test_init_writes_a_scenario_that_runs(cli, tmp_path) -> None:
    assert cli("init").returncode == 0
    where = tmp_path / "cwd" / "scenario.toml"
    assert "retx run scenario.toml" in where.read_text()
    done = cli("run", "scenario.toml", "--plot", "cwnd")
    assert done.returncode == 0, done.stderr
    # The alternatives that it shows as comments are no worse.
    text = where.read_text()
    for line in [line for line in text.splitlines() if line.startswith("# forward.channel")]:
        used = line.removeprefix("# ")
        kept = [old for old in text.splitlines() if not old.startswith("forward.channel")]
        assert retx.resolve("\n".join(used if old == line else old for old in kept))
    rival = text.split("take the # away.\n")[1].replace("# ", "", 6)
    assert len(retx.resolve(text + rival)["flow"]) == 2


def test_init_names_a_schema_that_is_there(cli, tmp_path) -> None:
    where = tmp_path / "cwd"
    assert cli("init").returncode == 0
    first = (where / "scenario.toml").read_text().splitlines()[0]
    schema = where / first.removeprefix("#:schema ./")
    assert json.loads(schema.read_text()) == retx.schema()
    # An older one gives way, another file of that name does not.
    schema.write_text('{"title": "retx scenario"}')
    assert cli("init", "b.toml").returncode == 0
    assert json.loads(schema.read_text()) == retx.schema()
    schema.write_text('{"title": "mine"}')
    assert cli("init", "c.toml").returncode == 0
    assert schema.read_text() == '{"title": "mine"}'
    assert "#:schema" not in (where / "c.toml").read_text()


def test_init_never_overwrites_by_itself(cli, tmp_path) -> None:
    (tmp_path / "cwd" / "mine.toml").write_text("precious")
    refused = cli("init", "mine.toml")
    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    assert (tmp_path / "cwd" / "mine.toml").read_text() == "precious"
    assert cli("init", "mine.toml", "--force").returncode == 0
    wrong = cli("init", "mine.txt")
    assert (wrong.returncode, "ends in .toml" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(cli, command: str) -> None:
    done = cli(command, "--help")
    assert done.returncode == 0
    assert "\n    retx " + command in done.stdout.replace("  Example:", "  Examples:")


def test_help_names_every_command(cli) -> None:
    text = cli("--help").stdout
    assert all(f"\n  {command} " in text for command in COMMANDS)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("retx ru", {"run"}),
        ("retx run x.toml --plot s", {"sequence"}),
        ("retx drill --tcp linux_", {"linux_reno", "linux_bbr"}),
        ("retx list cha", {"channel"}),
        ("retx list channel gilb", {"gilbert_elliott", "gilbert_elliott_time"}),
        ("retx study high", {"high-ber"}),
        ("retx study al", {"all"}),
        ("retx init --like st", {"starlink"}),
        ("retx plot out h", {"heat_map"}),
        ("retx run lossy.toml --set link.cloud.del", {"link.cloud.delay="}),
        ("retx sweep lossy.toml --vary see", {"seed="}),
        ("retx sweep lossy.toml --metric goodput", {"goodput_bit_s"}),
        ("retx sweep lossy.toml --metric flow.download.rtt_m", {"flow.download.rtt_mean_s"}),
        ("retx run none.toml --set link", set()),
    ],
)
def test_shells_complete(words: str, offered: set[str], tmp_path: Path) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    environment = {
        **os.environ,
        "_RETX_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    retx_command = Path(sys.executable).parent / "retx"
    done = subprocess.run(
        [retx_command],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert set(done.stdout.split()) == offered


def test_a_notebook_shows_results_and_no_progress(capfd) -> None:
    page = retx.run(LOSSY)._repr_html_()
    assert "A short download" in page
    runs = retx.replicate(LOSSY, 3)
    page = runs._repr_html_()
    mean = runs.mean("fast_retransmit_count")["mean"][0]
    assert "means of 3 runs" in page
    assert f"{mean:.1f} (" in page or f"<td>{mean:.0f} (" in page
    assert page.count("<tr>") == 2
    assert runs.plot.cdf("response_time_s").data["distribution"].height == 3
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_notebook_shows_sweeps() -> None:
    sweep = retx.sweep(LOSSY, {"link.cloud.forward.channel.p": [0.0, 0.01]}, replications=2)
    page = sweep._repr_html_()
    assert "4 runs" in page
    assert page.count("<tr>") >= 3
    figure = sweep.plot.metric("link.cloud.forward.channel.p", "goodput_bit_s", models=["pftk"])
    assert figure.data["means"]["n"].to_list() == [2, 2]


@pytest.mark.parametrize(
    ("setting", "answer"),
    [
        ("link.cloud.rate=10 Mbps", 'did you mean "10 Mbit/s"?'),
        ("link.cloud.delay=20msec", 'did you mean "20 ms"?'),
        ("link.cloud.forward.channel.p=50%", "write 0.5"),
        ("flow.download.app.bytes=10 MB", "write 10000000"),
    ],
)
def test_units_in_another_spelling_are_answered_with_the_right_one(
    setting: str, answer: str
) -> None:
    key, _, value = setting.partition("=")
    with pytest.raises(retx.ScenarioError, match=re.escape(answer)):
        retx.resolve(LOSSY, overrides={key: value})


def test_errors_are_one_line_unless_debugged(cli) -> None:
    plain, debugged = cli("run", "none.toml"), cli("--debug", "run", "none.toml")
    assert (plain.stderr.count("\n"), "Traceback" in plain.stderr) == (1, False)
    assert "Traceback" in debugged.stderr


def test_init_names_the_file_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    done = cli("init", "missing/mine.toml")
    assert done.returncode == 2
    assert "missing/mine.toml: No such file or directory" in done.stderr
    assert not list((tmp_path / "cwd").iterdir())
