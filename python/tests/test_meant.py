"""Misspelt names on the command line: each error names the nearest name that exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

from retx.errors.meant import choice, meant

LOSSY = "{lossy}"
LINUX = "--set=flow.download.tcp=linux"
SWEEP = ("--vary", "link.cloud.delay=10 ms,20 ms", "--replications", "2")
TUNE = ("tune", LOSSY, "--trials", "2", "--vary")
GRID = ("compare", "--grid", "1", "--out", "g")
EACH = [
    (("rnu", LOSSY), "run"),
    (("run", LOSSY, "--plot", "cwdn"), "cwnd"),
    (("run", LOSSY, "--plot", "cwnd", "--width", "colum"), "column"),
    (("run", LOSSY, "--plot", "cwnd", "--flow", "downlaod"), "download"),
    (("run", LOSSY, "--pcap", "x.pcapng", "--pcap-at", "clud@server"), "cloud"),
    (("run", LOSSY, "--pcap", "x.pcapng", "--pcap-at", "cloud@sever"), "server"),
    (("run", LOSSY, "--pcap", "cloud@sever"), "server"),
    (("run", LOSSY, "--set", "flow.downlaod.tcp=reno"), "download"),
    (("run", LOSSY, "--set", "flow.download.tpc=reno"), "tcp"),
    (("run", LOSSY, "--set", "flow.download.tcp=linus"), "linux"),
    (("run", LOSSY, "--set", "duratoin=1 s"), "duration"),
    (("why", LOSSY, "--flow", "downlaod"), "download"),
    (("why", LOSSY, "--plot", "wyh"), "why"),
    (("list", "chanel"), "channel"),
    (("list", "tcp", "lnux"), "linux"),
    (("init", "x.toml", "--like", "satelite"), "satellite"),
    (("study", "bursty-rt"), "bursty-rto"),
    (("emulate", LOSSY, "--backend", "tunn"), "tun"),
    (("emulate", LOSSY, LINUX, "--exec", "sever", "true"), "server"),
    (("emulate", LOSSY, LINUX, "--shell", "sever"), "server"),
    (("drill", "drills", "--tcp", "linus"), "linux"),
    (("sweep", LOSSY, *SWEEP, "--table", "smaples"), "samples"),
    (("sweep", LOSSY, *SWEEP, "--metric", "godput_bit_s"), "goodput_bit_s"),
    (("sweep", LOSSY, *SWEEP, "--metric", "flow.downlaod.goodput_bit_s"), "download"),
    (("sweep", LOSSY, *SWEEP, "--plot", "contuor"), "contour"),
    (("sweep", LOSSY, "--vary", "link.clud.delay=1 ms,2 ms"), "cloud"),
    (("sweep", LOSSY, "--vary", "link.cloud.dealy=1 ms,2 ms"), "delay"),
    ((*TUNE, "link.clud.delay=1..9 ms", "--maximise", "goodput"), "cloud"),
    ((*TUNE, "link.cloud.delay=1..9 ms", "--maximise", "godput"), "goodput"),
    ((*TUNE, "link.cloud.delay=1..9 ms", "--maximise", "downlaod.goodput_bit_s"), "download"),
    ((*TUNE, "link.cloud.delay=1..9 ms", "--minimise", "dealy"), "delay"),
    ((*GRID, "--families", "clasic"), "classic"),
    ((*GRID, "--quantity", "godput_bit_s"), "goodput_bit_s"),
]
"""Command line with one misspelt name, and the name that is meant."""


@pytest.mark.parametrize(("arguments", "name"), EACH, ids=lambda it: " ".join(map(str, it))[-40:])
def test_the_nearest_name_is_named(
    arguments: tuple[str, ...], name: str, lossy: Path, cli: Cli
) -> None:
    refused = cli(*(str(lossy) if it == LOSSY else it for it in arguments))
    assert refused.returncode == 2, refused.stdout
    said = " ".join(refused.stderr.split()).lower()
    quoted = {f"{mark}{name}{mark}" for mark in "'\""}
    assert said.partition("did you mean ")[2].startswith((*quoted, name)), said


def test_the_nearest_kind_of_a_stored_plot_is_named(lossy: Path, tmp_path: Path, cli: Cli) -> None:
    for arguments in (["run", lossy], ["sweep", lossy, *SWEEP]):
        out = str(tmp_path / arguments[0])
        assert cli(*arguments, "--out", out).returncode == 0
    run, sweep = str(tmp_path / "run"), str(tmp_path / "sweep")
    for words, name in (
        ([run, "cwdn"], "cwnd"),
        ([run, "cwnd", "--flow", "downlaod"], "download"),
        ([sweep, "metrc"], "metric"),
        ([sweep, "metric", "--x", "link.cloud.dely"], "link.cloud.delay"),
        ([sweep, "metric", "--by", "link.cloud.dely"], "link.cloud.delay"),
        ([sweep, "metric", "--where", "link.cloud.dely=10 ms"], "link.cloud.delay"),
        ([sweep, "metric", "--where", "link.cloud.delay=11 ms"], "10 ms"),
        ([sweep, "metric", "--metric", "godput_bit_s"], "goodput_bit_s"),
        ([sweep, "metric", "--model", "matis"], "mathis"),
        ([sweep, "paired", "--paired", "link.cloud.dely=10 ms,20 ms"], "link.cloud.delay"),
    ):
        refused = cli("plot", *words)
        assert refused.returncode == 2, (words, refused.stdout)
        assert f"did you mean '{name}'?" in refused.stderr, (words, refused.stderr)


def test_a_name_far_from_all_others_gets_the_list_alone() -> None:
    assert choice("cwdn", ["cwnd", "rtt"]) == "; did you mean 'cwnd'? (choose one of cwnd, rtt)"
    assert choice("zebra", ["cwnd", "rtt"]) == "; choose one of cwnd, rtt"
    assert choice("cwdn", ["cwnd"], "1 name") == "; did you mean 'cwnd'? (choose one of 1 name)"
    assert meant("zebra", ["cwnd"]) == ""
