"""Results of a run, printed as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.cli.console import Screen, console
from retx.cli.flow_rows import CAUSES, KINDS, FlowRows, distinguishes_causes
from retx.cli.limits import print_limits
from retx.cli.network import airtime_table, relays_table, wlans_table
from retx.cli.tables import First, Table, plain, shortened
from retx.scenarios.names import own_name
from retx.terminal.quantities import count, mean_count, rate, seconds, share

if TYPE_CHECKING:
    from retx.results.replications import Replications

REASONS = ("queue", "channel", "retry_limit", "script")
USUAL_REASONS = ("queue", "channel")
MOST_WAITS = 10
"""Maximum number of links whose waits are printed."""
MOST_MEANS = 40
"""Maximum number of printed rows of means: enough for four flows with all their quantities."""
BESIDE = {"packets_marked": "marked", "frames_repeated": "repeated", "frames_parity": "parity"}
"""Counts of links that are shown only if they are not zero."""


def print_summary(
    summary: dict[str, Any],
    written: list[Path],
    resolved: Callable[[], dict[str, Any]] | None = None,
) -> None:
    """Prints tables of flows, episodes and links, and the paths of the files.

    Args:
        summary: Results.
        written: Files that were written.
        resolved: Function that returns the resolved scenario, if `summary` lacks a part of it.
    """
    out = console()
    engine = summary["engine"]
    out.print(_heading(summary["scenario"], f"seed {summary['seed']}"))
    flows = FlowRows(summary["scenario"], summary["flows"])
    for one in (
        _flows(flows.tcp),
        _datagrams(flows.udp),
        _exchanges(flows.exchanges),
        _episodes(flows.episodes),
        _confusion(flows.inferred),
    ):
        if one.row_count:
            out.print(one)
    print_limits(out, flows.tcp, summary, resolved)
    if len(summary["links"]):
        out.print(_links(summary["links"]))
        _print_waits(out, summary["links"])
    if summary["wlans"]:
        out.print(wlans_table(summary["wlans"]))
        out.print(airtime_table(summary["wlans"]))
    if summary["relays"]:
        out.print(relays_table(summary["relays"]))
    if "emulation" in summary:
        _print_emulation(out, summary)
        _print_written(out, written)
        return
    speed = engine["events"] / engine["wall_s"] if engine["wall_s"] > 0 else 0
    out.print(
        f"Simulated {seconds(engine['simulated_s'])} in {seconds(engine['wall_s'])}: "
        f"{count(engine['events'])} events, {speed / 1e6:.2g} million per second."
    )
    _print_written(out, written)


def print_means(replications: Replications, written: list[Path]) -> None:
    """Prints means over replications with their 95 % confidence intervals."""
    out = console()
    out.print(
        _heading(
            replications.scenario,
            f"{len(replications)} replication{'s' * (len(replications) > 1)} of seed "
            f"{replications[0].summary['seed']}",
        )
    )
    out.print(_means(replications))
    if replications.are_equal:
        out.print(
            f"All {len(replications)} runs are equal: no random draw has an effect in this "
            "scenario, and one run tells as much."
        )
    inferred = _inferred_in_all(replications)
    if len(inferred):
        out.print(_confusion(inferred))
    _print_written(out, written)


def _heading(scenario: dict[str, Any], draws: str) -> str:
    title = scenario.get("title") or "A scenario without a title"
    return f"[bold]{plain(title)}[/bold] ({draws})"


def _flows(flows: First) -> Table:
    columns = (
        "Flow", "TCP", ">time", ">goodput", ">RTT", ">sent", ">resent", ">needless", ">idle",
    )  # fmt: skip
    made = Table("", *columns)

    def add(flow: dict[str, Any]) -> None:
        made.add_row(
            plain(flow["name"]),
            plain(flow["tcp"]),
            seconds(flow["response_time_s"]) if flow["finish_s"] is not None else "no end",
            rate(flow["goodput_bit_s"]),
            seconds(flow["rtt_mean_s"]),
            count(flow["segments_sent"]),
            count(flow["segments_retransmitted"]),
            count(flow["retransmissions_unnecessary"]),
            seconds(flow["idle_total_s"]),
        )

    return shortened(made, flows, add)


def _exchanges(flows: First) -> Table:
    columns = ("Flow", ">exchanges", ">response time", ">median", ">95 %", ">max")
    made = Table("", *columns)

    def add(flow: dict[str, Any]) -> None:
        times = flow["exchanges"]
        made.add_row(
            plain(flow["name"]),
            count(times["count"]),
            *(seconds(times[key]) for key in ("mean_s", "p50_s", "p95_s", "max_s")),
        )

    return shortened(made, flows, add)


def _datagrams(flows: First) -> Table:
    columns = (
        "Flow over UDP", ">goodput", ">packets", ">lost", ">reordered", ">delay", ">95 %", ">max",
        ">jitter",
    )  # fmt: skip
    made = Table("", *columns)

    def add(flow: dict[str, Any]) -> None:
        packets, delay = flow["datagrams"], flow["delay"]
        made.add_row(
            plain(flow["name"]),
            rate(flow["goodput_bit_s"]),
            count(packets["sent"]),
            count(packets["lost"]),
            count(packets["reordered"]),
            *(seconds(delay[key]) for key in ("mean_s", "p95_s", "max_s")),
            seconds(flow["jitter_s"]),
        )

    return shortened(made, flows, add)


def _episodes(rows: First) -> Table:
    made = Table(
        "Recovery episodes by true cause", "Flow", "kind", *(f">{cause}" for cause in CAUSES)
    )

    def add(row: tuple[str, str, dict[str, int]]) -> None:
        name, label, causes = row
        made.add_row(plain(name), label, *(count(causes[cause]) for cause in CAUSES))

    return shortened(made, rows, add)


def _inferred_in_all(replications: Replications) -> First:
    """Rows of all flows whose senders distinguish causes, as sums over the replications."""
    import polars as pl

    from retx.analysis.confusion import confusion

    rows = First()
    scenario = replications.scenario
    distinguishing = [tcp for tcp in scenario["tcp"] if distinguishes_causes(scenario, tcp)]
    if not distinguishing:
        return rows
    chosen = replications.flows.filter(replications.flows["tcp"].is_in(distinguishing))
    counts = confusion(chosen).group_by("flow", "kind", "inferred_cause", maintain_order=True)
    for flow, kind, inferred, *causes in counts.agg(*map(pl.sum, CAUSES)).rows():
        if any(causes):
            rows.append((flow, KINDS[kind], inferred, causes))
    return rows


def _confusion(rows: First) -> Table:
    """Table of inferred and true causes of losses."""
    made = Table(
        "Recovery episodes by inferred and true cause",
        "Flow", "kind", "inferred", *(f">{cause}" for cause in CAUSES),
    )  # fmt: skip

    def add(row: tuple[str, str, str, list[int]]) -> None:
        name, label, inferred, counts = row
        made.add_row(plain(name), label, inferred, *map(count, counts))

    return shortened(made, rows, add)


def _print_emulation(out: Screen, summary: dict[str, Any]) -> None:
    """Prints the parameters of the emulation, the lateness of its packets, and its faults."""
    emulation, late = summary["emulation"], summary["emulation"]["lateness"]
    out.print(
        f"Emulated {seconds(summary['engine']['simulated_s'])} with Linux "
        f"{plain(emulation['kernel'])} (backend {emulation['backend']}, priority "
        f"{emulation['priority']})."
    )
    if late["packets"]:
        out.print(
            f"{count(late['packets'])} packets left late by {seconds(late['p50_s'])} in the "
            f"median, {seconds(late['p99_s'])} in the worst hundredth, {seconds(late['max_s'])} "
            "at most."
        )
    for flow in summary["flows"]:
        if flow["fault"]:
            out.print(f"Flow {plain(flow['name'])}: {plain(flow['fault'])}.")
    for program in emulation["programs"]:
        if program["exit_code"]:
            what = f"{program['command'] or 'the shell'} at {program['host']}"
            out.print(f"{plain(what)} ended with exit code {program['exit_code']}.")
    for fault in emulation["faults"]:
        out.print(f"[bold red]NOT VALID:[/bold red] {plain(fault)}.")


def _print_waits(out: Screen, links: Iterable[dict[str, Any]]) -> None:
    """Prints by how much a channel's mean delay grows because packets keep their order."""
    waits = (link for link in links if link.get("order_wait_mean_s"))
    for link in islice(waits, MOST_WAITS):
        out.print(
            f"{plain(link['name'])} {link['direction']}: its channels delay a packet by "
            f"{seconds(link['channel_delay_mean_s'])} on average; keeping order adds "
            f"{seconds(link['order_wait_mean_s'])}."
        )


def _links(links: Iterable[dict[str, Any]]) -> Table:
    shown = First()
    known, beside = set(USUAL_REASONS), set[str]()
    for link in links:
        shown.append(link)
        known.update(reason for reason in REASONS if link["drops"][reason])
        beside.update(key for key in BESIDE if link[key])
    # Reasons of drops that cannot occur on any link are left out, except the two usual ones.
    reasons = [reason for reason in REASONS if reason in known]
    counts = [key for key in BESIDE if key in beside]
    columns = (
        "Link", "direction", ">packets",
        *(f">lost: {reason.replace('_', ' ')}" for reason in reasons),
        *(f">{BESIDE[key]}" for key in counts),
        ">queue mean", ">max", ">busy",
    )  # fmt: skip
    made = Table("", *columns)

    def add(link: dict[str, Any]) -> None:
        made.add_row(
            plain(link["name"]),
            link["direction"],
            count(link["packets_in"]),
            *(count(link["drops"][reason]) for reason in reasons),
            *(count(link[key]) for key in counts),
            mean_count(link["queue_mean_packets"]),
            count(link["queue_max_packets"]),
            share(link["utilisation"]),
        )

    return shortened(made, shown, add)


def _means(replications: Replications) -> Table:
    shown: dict[str, tuple[str, Callable[[float | None], str]]] = {
        "response_time_s": ("response time", seconds),
        "exchanges_mean_s": ("time of an exchange", seconds),
        "goodput_bit_s": ("goodput", rate),
        "rtt_mean_s": ("RTT", seconds),
        "segments_sent": ("segments sent", count),
        "segments_retransmitted": ("retransmitted", count),
        "retransmissions_unnecessary": ("unnecessary", count),
        "fast_retransmit_count": ("fast retransmits", count),
        "rto_count": ("timeouts", count),
        "idle_total_s": ("idle", seconds),
        "datagrams_sent": ("packets sent", count),
        "datagrams_lost": ("packets lost", count),
        "delay_mean_s": ("mean delay", seconds),
        "jitter_s": ("jitter", seconds),
    }
    made = Table(
        "Means with 95 % confidence intervals", "Flow", "quantity", ">mean", ">from", ">to", ">n"
    )
    means = replications.mean().iter_rows(named=True)
    finite = _finite(replications.scenario)
    names = {flow["name"] for flow in replications.scenario["flow"]}
    # A row without a value belongs to the other transport protocol and is left out. An exception is
    # the missing response time of a finite flow.
    rows = [
        row
        for row in means
        if row["quantity"] in shown
        and (
            row["n"]
            or (row["quantity"] == "response_time_s" and own_name(row["flow"], names) in finite)
        )
    ]

    def add(row: dict[str, Any]) -> None:
        label, text = shown[row["quantity"]]
        made.add_row(
            plain(row["flow"]),
            label,
            *(text(row[column]) for column in ("mean", "low", "high")),
            _runs(row, len(replications)),
        )

    return shortened(made, rows, add, MOST_MEANS)


def _runs(row: dict[str, Any], replications: int) -> str:
    """Number of runs with a value; for response times, also the number of runs without one."""
    missing = replications - row["n"] if row["quantity"] == "response_time_s" else 0
    return f"{count(row['n'])} ({count(missing)} without)" if missing else count(row["n"])


def _finite(scenario: dict[str, Any]) -> set[str]:
    """Names of the flows that end by themselves."""
    limits = ("packets", "bytes", "duration")
    return {
        flow["name"]
        for flow in scenario["flow"]
        if flow["app"]["kind"] in ("transfer", "ftp")
        or "exchanges" in flow["app"]
        or any(limit in flow.get("udp", {}) for limit in limits)
    }


def _print_written(out: Screen, written: list[Path]) -> None:
    for path in written:
        out.print(f"Written: {plain(str(path))}", soft_wrap=True)
