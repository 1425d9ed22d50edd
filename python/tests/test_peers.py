"""`make bench-peers`: the scenarios are sound, and what is measured is what a program did."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import retx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from peers import __main__ as command  # noqa: E402 (needs the path)
from peers import report  # noqa: E402
from peers.comparing import Plan, compare  # noqa: E402
from peers.fat_tree import Tree  # noqa: E402
from peers.htsim import Htsim, network_text  # noqa: E402
from peers.limits import read_benchmark  # noqa: E402
from peers.measuring import PeerError, measured  # noqa: E402
from peers.retx_scenarios import scenario_text  # noqa: E402
from peers.rules import RenoOfNs2, share  # noqa: E402
from peers.scenarios import (  # noqa: E402
    ALL,
    FatTree,
    Link,
    Scenario,
    Sweep,
    Tcp,
    Wired,
    Wlan,
    named,
)
from peers.simulators import Job, Ns2, Ns3, Outcome, Retx, Simulator, arguments  # noqa: E402

# Scenarios of 10,000 flows have the structure of those of 1,000, and so has a smaller fat tree.
SMALL = [
    replace(each, ports=4, flows=40) if isinstance(each, FatTree) else each
    for each in ALL
    if not each.name.startswith("dumbbell-10000")
]

BRIEF = Wired(
    name="brief",
    title="two links that lose nothing",
    duration_s=4,
    tcp=Tcp(window=50),
    path=(Link(10, 10, 100), Link(10, 10, 100)),
)
CELL = Wlan("cell", "two hops", 4, Tcp(window=8), hops=2)
CUBIC = Tcp(window=1000, congestion_control="cubic", timestamps=True, preset="linux")
LINUX = replace(BRIEF, name="linux", duration_s=20, tcp=CUBIC)


@pytest.mark.parametrize("scenario", SMALL, ids=lambda each: each.name)
def test_scenarios_are_ones_of_retx(scenario: Scenario) -> None:
    brief = scenario if isinstance(scenario, Sweep) else replace(scenario, duration_s=1e-3)
    text = scenario_text(brief, 3)
    if isinstance(brief, Sweep):
        text = text.partition("[sweep]")[0]
    result = retx.run(text, tables=False, segments=False, progress=False)
    wired = brief.of if isinstance(brief, Sweep) else brief
    flows = wired.flows if isinstance(wired, Wired | FatTree) else 1
    assert len(result.flows) == flows


def test_what_peers_are_told_is_what_the_scenario_says() -> None:
    (scenario,) = named(["dumbbell-100"])
    assert isinstance(scenario, Wired)
    found = arguments(scenario)
    assert found["path"] == "1000:10:2000:0"
    assert found["access"] == "1000:1:2000:0"
    assert (found["flows"], found["pairs"], found["window"]) == ("100", "100", "90")


@pytest.mark.parametrize("lean", [False, True])
@pytest.mark.parametrize("scenario", [BRIEF, LINUX, CELL], ids=lambda each: each.name)
def test_ns2_delivers_what_retx_delivers(
    scenario: Wired | Wlan, lean: bool, tmp_path: Path
) -> None:
    if shutil.which("ns") is None:
        pytest.skip("ns-2 is not installed; `make bench-peers` installs it")
    peer = Ns2("ns2", lean=lean)
    peer.prepare()
    job = Job(scenario, 1, 60, tmp_path)
    theirs = outcome(peer, job)
    ours = outcome(Retx(Path(sys.executable).parent / "retx"), job)
    assert theirs.simulated_s == pytest.approx(ours.simulated_s)
    # ns-2's are those acknowledged: up to a window less. In the cell backoffs are drawn.
    # With CUBIC, queues overflow.
    fewer, more = (50, 2) if scenario == BRIEF else (0.03 * ours.segments,) * 2
    assert ours.segments - fewer <= theirs.segments <= ours.segments + more
    assert ours.segments > 500


@pytest.mark.parametrize("scenario", [BRIEF, LINUX, CELL], ids=lambda each: each.name)
def test_ns3_delivers_what_retx_delivers(scenario: Wired | Wlan, tmp_path: Path) -> None:
    folder = ROOT / "target" / "peers"
    if not (folder / "wlan").exists():
        pytest.skip("ns-3's programs are not built; `make bench-peers` builds them")
    job = Job(scenario, 1, 60, tmp_path)
    theirs = outcome(Ns3(folder), job)
    ours = outcome(Retx(Path(sys.executable).parent / "retx"), job)
    # With the same windows nothing differs. In the cell ns-3's stations gain: docs/speed.md.
    share = {"brief": 0.001, "linux": 0.03, "cell": 0.05}[scenario.name]
    assert theirs.segments == pytest.approx(ours.segments, rel=share)


PLAIN = Tcp(window=40, sack=False, delayed_ack=False, min_rto_s=0.25, initial_rto_s=3.0)
TREE = FatTree("tree", "a small tree", 2, PLAIN, Link(100, 0.1, 1000), 4, 40, 100)


@pytest.mark.parametrize(
    "scenario",
    [
        replace(BRIEF, tcp=PLAIN),
        replace(BRIEF, tcp=PLAIN, path=BRIEF.path[:1], free_acks=True),
        replace(BRIEF, tcp=PLAIN, access=Link(100, 1, 100), flows=3, pairs=2, stagger_s=0.5),
        TREE,
    ],
    ids=["links", "free-acks", "access", "tree"],
)
def test_htsim_delivers_what_retx_delivers(scenario: Wired | FatTree, tmp_path: Path) -> None:
    program = ROOT / "target" / "peers" / "htsim"
    if not program.exists():
        pytest.skip(
            "htsim's program is not built; `make bench-peers PEERS='--htsim DIR'` builds it"
        )
    job = Job(scenario, 1, 60, tmp_path)
    theirs = outcome(Htsim(program.parent, tmp_path), job)
    ours = outcome(Retx(Path(sys.executable).parent / "retx"), job)
    if isinstance(scenario, FatTree):
        assert theirs.segments == ours.segments == 40 * 100
        # The last transfer's end; ACKs have 40 bytes there.
        assert theirs.simulated_s == pytest.approx(ours.simulated_s, rel=0.02)
    else:
        assert theirs.segments == pytest.approx(ours.segments, rel=0.01)
        assert ours.segments > 500


def test_a_fat_tree_has_its_switches_links_and_paths() -> None:
    tree = Tree.draw(TREE, seed=7)
    nodes = {node for ends in tree.links for node in ends}
    kinds = [
        sum(node.startswith(kind) for node in nodes) for kind in ("host", "edge", "upper", "core")
    ]
    assert kinds == [16, 8, 8, 4]
    assert len(tree.links) == len(set(tree.links)) == 3 * 16
    assert len(tree.paths) == 40
    for path in tree.paths:
        assert len(path.nodes) in (3, 5, 7)
        for step, link, forward in zip(
            zip(path.nodes, path.nodes[1:], strict=False), path.links, path.forward, strict=True
        ):
            assert tree.links[link] == (step if forward else step[::-1])
    # In one round each host sends once and receives once, at most.
    first = tree.paths[:14]
    assert len({path.nodes[0] for path in first}) == len({path.nodes[-1] for path in first}) == 14


def test_the_network_of_htsim_is_that_of_the_scenario() -> None:
    scenario = replace(BRIEF, access=Link(100, 1, 50), flows=3, pairs=2, stagger_s=3.0)
    lines = list(network_text(scenario, 1))
    assert lines[:4] == 4 * ["link 10 10 100"]
    assert lines[4:12] == 8 * ["link 100 1 50"]
    # The second pair's links are the fifth and the sixth.
    assert lines[13] == "flow 1.000000 0 4 8 0 2 10 4 11 3 1 9"
    bare = replace(BRIEF, path=BRIEF.path[:1], free_acks=True)
    assert list(network_text(bare, 1))[:2] == ["link 10 10 100", "link 0 10 100"]
    with pytest.raises(PeerError, match="lose packets"):
        list(network_text(named(["download"])[0], 1))


def test_a_peer_says_which_scenarios_it_does_not_have(tmp_path: Path) -> None:
    htsim = Htsim(tmp_path, tmp_path)
    with pytest.raises(PeerError, match=r"there is no .*libhtsim\.a: run `make -C"):
        htsim.prepare()
    with pytest.raises(PeerError, match="neither SACK nor delayed ACKs"):
        htsim.commands(Job(BRIEF, 1, 60, tmp_path))
    for scenario in (TREE, replace(BRIEF, free_acks=True)):
        for peer in (Ns2("ns2", lean=False), Ns3(tmp_path)):
            with pytest.raises(PeerError, match="there is no program of it"):
                peer.commands(Job(scenario, 1, 60, tmp_path))


def outcome(simulator: Simulator, job: Job) -> Outcome:
    outputs = [measured(command, 60)[0] for command in simulator.commands(job)]
    return simulator.outcome(job, outputs)


def test_usage_is_the_commands_own() -> None:
    busy = "import os; b = bytearray(50_000_000)\nwhile os.times().user < 0.3: pass"
    _, usage = measured([sys.executable, "-c", busy], 60)
    assert 0.3 <= usage.user_s <= usage.wall_s + 0.1
    assert 50e6 <= usage.peak_bytes <= 100e6
    # The memory of the process that measures does not count.
    _, idle = measured(["true"], 60)
    assert idle.peak_bytes < 20e6


def test_a_program_that_does_not_end_is_ended() -> None:
    with pytest.raises(PeerError, match="the limit of 1 CPU seconds"):
        measured([sys.executable, "-c", "while True: pass"], 1)


def test_what_cannot_be_had_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PeerError, match="`make build` makes it"):
        Retx(tmp_path / "retx").prepare()
    # Neither commands nor a place to install them from.
    (tmp_path / "bash").symlink_to(shutil.which("bash") or "/bin/bash")
    (tmp_path / "id").symlink_to(shutil.which("id") or "/usr/bin/id")
    (tmp_path / "env").symlink_to(shutil.which("env") or "/usr/bin/env")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PeerError, match="only root on a machine with apt-get installs it"):
        Ns2("ns2", lean=False).prepare()
    with pytest.raises(PeerError, match="install g\\+\\+"):
        Ns3(tmp_path / "ns3").prepare()


def test_an_ns3_of_ones_own_is_found_by_its_libraries(tmp_path: Path) -> None:
    own = Ns3(tmp_path / "peers", tmp_path)
    libraries = tmp_path / "lib"
    libraries.mkdir()
    # One is of a module whose name has the same prefix, one of no release.
    (libraries / "libns3-dev-internet-apps-optimized.so").touch()
    with pytest.raises(PeerError, match=r"module internet: `cmake --install` an ns-3 there"):
        own.library("internet")
    for name in ("libns3-dev-internet-optimized.so", "libns3.44-core.so"):
        (libraries / name).touch()
    assert own.library("internet").name == "libns3-dev-internet-optimized.so"
    assert own.library("core").name == "libns3.44-core.so"


def test_only_takes_names_and_families() -> None:
    assert [each.name for each in named(["wlan", "one-flow"])] == ["one-flow", "wlan-1", "wlan-4"]
    assert named([]) == list(ALL)
    with pytest.raises(LookupError, match="dumbbell-7"):
        named(["dumbbell-7"])


def test_the_table_of_the_benchmark_is_read() -> None:
    text = """
                                        segments      events  events/  ns/  heap times queue times
dumbbell of 100 flows, 1 Gbit/s, 10 ms   3896959    17916313     4.60  257    90  2.86    70  3.68
"""
    found = read_benchmark(text)
    assert found is not None
    assert (found["engine_ns_per_segment"], found["bare_ns_per_segment"]) == (257, 70)
    assert (found["heap_ns_per_segment"], found["times_heap"]) == (90, 2.86)
    assert (found["events_per_segment"], found["times_bare"]) == (4.6, 3.68)


class Half:
    """A peer that delivers half of what retx does, in twice the time, and gives up halfway."""

    name = "ns3"

    def prepare(self) -> str:
        return "1"

    def commands(self, job: Job) -> list[list[str]]:
        return [[sys.executable, "-c", "import os\nwhile os.times().user < 0.2: pass"]]

    def outcome(self, job: Job, outputs: list[str]) -> Outcome:
        return Outcome(segments=800, simulated_s=2.0, setup_s=0.01)


def test_a_comparison_says_what_was_measured(tmp_path: Path) -> None:
    plan = Plan([Half(), Retx(Path(sys.executable).parent / "retx")], 2, 10, tmp_path)
    found = compare(plan, BRIEF, lambda _: None)
    assert not found["measured"]["ns3"]["complete"]
    assert found["measured"]["retx"]["complete"]
    # Beside retx over the 2 s that were reached, not over all 4.
    assert found["delivered_beside_retx"]["ns3"] == pytest.approx(0.5, rel=0.05)
    peer, ours = (found["measured"][name]["median"] for name in ("ns3", "retx"))
    assert peer["segments_per_cpu_s"] == pytest.approx(800 / peer["user_s"], rel=0.2)
    ratio = ours["segments_per_cpu_s"] / peer["segments_per_cpu_s"]
    assert found["retx_is_faster"]["ns3"] == pytest.approx(ratio)

    versions = {"ns3": "1", "retx": "2"}
    head = {"date": "2026-01-02T03:04:05", "machine": report.machine(), "versions": versions}
    result = head | {"repeat": 2, "limit_s": 10, "scenarios": [found]}
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n")
    report.put_into(page, report.markdown(result))
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert re.search(r"\| two links that lose nothing \| [\d,]+ \* \| [\d,]+ \|", text)
    # A second file of the day does not take the place of the first.
    for _ in range(2):
        report.write(result, report.new_file(tmp_path, result["date"]))
    assert len(list(tmp_path.glob("peers-*.json"))) == 2


def test_by_the_rules_of_ns2_a_loss_costs_what_it_costs_there() -> None:
    (scenario,) = named(["download"])
    assert isinstance(scenario, Wired)
    text = scenario_text(replace(scenario, transfer=1000), 1)
    own = {"tcp.peer.congestion_control": RenoOfNs2, "tcp.peer.max_cwnd": 6 * 1460}

    def finish_s(lost: list[int]) -> float:
        channel = {"link.path1.forward.channel": {"model": "script", "drop": lost}}
        result = retx.run(text, overrides=own | channel, tables=False, progress=False)
        found: float = result.flows["finish_s"][0]
        return found

    # From ns-2.35 and ErrorModel/List. RFC 5681 and RFC 6582 have 0.2136 s for each but the fourth.
    whole_s = 7.4194976
    with_loss_s = {499: 7.6294464, 501: 7.592984, 503: 7.592984, 505: 7.6294464, 507: 7.592984}
    for lost, theirs_s in with_loss_s.items():
        ours_s = finish_s([lost]) - finish_s([])
        assert ours_s == pytest.approx(theirs_s - whole_s, abs=1e-6), lost


def test_a_share_has_the_error_of_both_its_means() -> None:
    ratio, error = share([10.0, 12.0, 14.0], [4.0, 6.0, 8.0])
    assert ratio == pytest.approx(2)
    # Standard errors of 2/√3 in 12 and 2/√3 in 6.
    assert error == pytest.approx(2 * (4 / 3 / 144 + 4 / 3 / 36) ** 0.5)


def test_what_was_measured_stays_whatever_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compared(_plan: Plan, scenario: Scenario, _say: object) -> dict[str, str]:
        if scenario.name != "one-flow":
            raise RuntimeError("the machine goes off")
        return {"name": scenario.name}

    monkeypatch.setattr(command, "ready", lambda *_: ([None], {}))
    monkeypatch.setattr(command, "compare", compared)
    with pytest.raises(RuntimeError, match="goes off"):
        command.main(only=["one-flow", "dumbbell-1"], out=tmp_path)
    [file] = tmp_path.iterdir()
    assert json.loads(file.read_text())["scenarios"] == [{"name": "one-flow"}]
