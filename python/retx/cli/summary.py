"""What a run found, for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from retx.cli.console import console
from retx.html import over_tcp, over_udp
from retx.quantities import count, rate, seconds, share, size

if TYPE_CHECKING:
    from retx.replications import Replications

MOST_ROWS = 20
CAUSES = ("congestion", "wireless", "spurious")
SAID = ("congestion", "corruption")
KINDS = {"frr": "fast retransmit", "rto": "timeout"}
REASONS = ("queue", "channel", "retry_limit", "script")
USUAL_REASONS = ("queue", "channel")


def print_summary(summary: dict[str, Any], written: list[Path]) -> None:
    """Prints tables of flows, episodes and links, and where files lie."""
    out = console()
    engine = summary["engine"]
    out.print(_heading(summary["scenario"], f"seed {summary['seed']}"))
    for table in (_flows(over_tcp(summary["flows"])), _datagrams(over_udp(summary["flows"]))):
        if table.row_count:
            out.print(table)
    exchanges = _exchanges([flow for flow in summary["flows"] if flow["exchanges"]["count"]])
    if exchanges.row_count:
        out.print(exchanges)
    episodes = _episodes(over_tcp(summary["flows"]))
    if episodes.row_count:
        out.print(episodes)
    _print_confusion(out, summary["scenario"], [summary["flows"]])
    if summary["links"]:
        out.print(_links(summary["links"]))
    if summary["wlans"]:
        out.print(_wlans(summary["wlans"]))
        out.print(_airtime(summary["wlans"]))
    if summary["relays"]:
        out.print(_relays(summary))
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
            f"{len(replications)} replications of seed {replications.summary['seed']}",
        )
    )
    out.print(_means(replications))
    runs = [result.summary["flows"] for result in replications]
    _print_confusion(out, replications.scenario, runs)
    _print_written(out, written)


def _heading(scenario: dict[str, Any], draws: str) -> str:
    title = scenario.get("title") or "A scenario without a title"
    return f"[bold]{_plain(title)}[/bold] ({draws})"


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _table(title: str, *columns: str) -> Table:
    """A table whose first columns, up to one that starts with `>`, hold texts."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for column in columns:
        right = column.startswith(">")
        table.add_column(column.lstrip(">"), justify="right" if right else "left", overflow="fold")
    return table


def _shortened(table: Table, rows: list[Any], add: Callable[[Any], None]) -> Table:
    for row in rows[:MOST_ROWS]:
        add(row)
    if len(rows) > MOST_ROWS:
        table.caption = f"and {len(rows) - MOST_ROWS} more: see --json or --out"
        table.caption_justify = "left"
    return table


def _flows(flows: list[dict[str, Any]]) -> Table:
    columns = (
        "Flow", "TCP", ">time", ">goodput", ">segments", ">resent", ">needlessly", ">idle",
    )  # fmt: skip
    table = _table("", *columns)

    def add(flow: dict[str, Any]) -> None:
        table.add_row(
            _plain(flow["name"]),
            _plain(flow["tcp"]),
            seconds(flow["response_time_s"]) if flow["finish_s"] is not None else "not complete",
            rate(flow["goodput_bit_s"]),
            count(flow["segments_sent"]),
            count(flow["segments_retransmitted"]),
            count(flow["retransmissions_unnecessary"]),
            seconds(flow["idle_total_s"]),
        )

    return _shortened(table, flows, add)


def _exchanges(flows: list[dict[str, Any]]) -> Table:
    columns = ("Flow", ">exchanges", ">response time", ">median", ">95 %", ">max")
    table = _table("", *columns)

    def add(flow: dict[str, Any]) -> None:
        times = flow["exchanges"]
        table.add_row(
            _plain(flow["name"]),
            count(times["count"]),
            *(seconds(times[key]) for key in ("mean_s", "p50_s", "p95_s", "max_s")),
        )

    return _shortened(table, flows, add)


def _datagrams(flows: list[dict[str, Any]]) -> Table:
    columns = (
        "Flow over UDP", ">goodput", ">packets", ">lost", ">reordered", ">delay", ">95 %", ">max",
        ">jitter",
    )  # fmt: skip
    table = _table("", *columns)

    def add(flow: dict[str, Any]) -> None:
        packets, delay = flow["datagrams"], flow["delay"]
        table.add_row(
            _plain(flow["name"]),
            rate(flow["goodput_bit_s"]),
            count(packets["sent"]),
            count(packets["lost"]),
            count(packets["reordered"]),
            *(seconds(delay[key]) for key in ("mean_s", "p95_s", "max_s")),
            seconds(flow["jitter_s"]),
        )

    return _shortened(table, flows, add)


def _episodes(flows: list[dict[str, Any]]) -> Table:
    table = _table(
        "Recovery episodes by true cause", "Flow", "kind", *(f">{cause}" for cause in CAUSES)
    )
    rows = [
        (flow["name"], label, flow["episodes"][kind])
        for flow in flows
        for kind, label in KINDS.items()
        if any(flow["episodes"][kind].values())
    ]

    def add(row: tuple[str, str, dict[str, int]]) -> None:
        name, label, causes = row
        table.add_row(_plain(name), label, *(count(causes[cause]) for cause in CAUSES))

    return _shortened(table, rows, add)


def _print_confusion(
    out: Console, scenario: dict[str, Any], runs: list[list[dict[str, Any]]]
) -> None:
    """What was said of losses beside what was true, for flows that tell causes apart."""
    table = _table(
        "Recovery episodes by cause said and true cause",
        "Flow", "kind", "said", *(f">{cause}" for cause in CAUSES),
    )  # fmt: skip
    rows = []
    for flows in zip(*runs, strict=True):
        flow = flows[0]
        if flow["tcp"] is None or scenario["tcp"][flow["tcp"]]["loss_cause"]["name"] == "none":
            continue
        for kind, label in KINDS.items():
            for said in SAID:
                counts = [
                    sum(each["said"][kind][said][cause] for each in flows) for cause in CAUSES
                ]
                if any(counts):
                    rows.append((flow["name"], label, said, counts))

    def add(row: tuple[str, str, str, list[int]]) -> None:
        name, label, said, counts = row
        table.add_row(_plain(name), label, said, *map(count, counts))

    if rows:
        out.print(_shortened(table, rows, add))


def _print_emulation(out: Console, summary: dict[str, Any]) -> None:
    """How it was done, and whether it is worth anything."""
    emulation, late = summary["emulation"], summary["emulation"]["lateness"]
    out.print(
        f"Emulated {seconds(summary['engine']['simulated_s'])} with Linux "
        f"{_plain(emulation['kernel'])} (backend {emulation['backend']}, priority "
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
            out.print(f"Flow {_plain(flow['name'])}: {_plain(flow['fault'])}.")
    for program in emulation["programs"]:
        if program["exit_code"]:
            what = f"{program['command'] or 'the shell'} at {program['host']}"
            out.print(f"{_plain(what)} ended with exit code {program['exit_code']}.")
    for fault in emulation["faults"]:
        out.print(f"[bold red]NOT VALID:[/bold red] {_plain(fault)}.")


def _links(links: list[dict[str, Any]]) -> Table:
    # Reasons that no link knows are left out, but for the two usual ones.
    reasons = [
        reason
        for reason in REASONS
        if reason in USUAL_REASONS or any(link["drops"][reason] for link in links)
    ]
    marks = any(link["packets_marked"] for link in links)
    columns = (
        "Link", "direction", ">packets",
        *(f">lost: {reason.replace('_', ' ')}" for reason in reasons),
        *([">marked"] if marks else []),
        ">queue mean", ">max", ">busy",
    )  # fmt: skip
    table = _table("", *columns)

    def add(link: dict[str, Any]) -> None:
        table.add_row(
            _plain(link["name"]),
            link["direction"],
            count(link["packets_in"]),
            *(count(link["drops"][reason]) for reason in reasons),
            *([count(link["packets_marked"])] if marks else []),
            f"{link['queue_mean_packets']:.3g}",
            count(link["queue_max_packets"]),
            share(link["utilisation"]),
        )

    return _shortened(table, links, add)


def _wlans(wlans: list[dict[str, Any]]) -> Table:
    marks = any(wlan["packets_marked"] for wlan in wlans)
    columns = (
        "Wlan", "station", ">packets", ">lost: queue", ">retry limit",
        *([">marked"] if marks else []), ">frames", ">in error",
        ">collided", ">error burst", ">max", ">airtime",
    )  # fmt: skip
    table = _table("", *columns)
    rows = _stations(wlans)

    def add(row: tuple[str, str, dict[str, Any]]) -> None:
        name, station, counts = row
        frames = counts["frames_sent"]
        mean = counts["error_burst_mean"]
        table.add_row(
            _plain(name),
            _plain(station),
            count(counts["packets_in"]),
            count(counts["drops"]["queue"]),
            count(counts["drops"]["retry_limit"]),
            *([count(counts["packets_marked"])] if marks else []),
            count(frames),
            "" if frames == 0 else share(counts["frame_error_rate"]),
            "" if frames == 0 else share(counts["frames_collided"] / frames),
            "" if mean is None else f"{mean:.3g}",
            count(counts["error_burst_max"]),
            share(counts["airtime_share"]),
        )

    return _shortened(table, rows, add)


def _relays(summary: dict[str, Any]) -> Table:
    columns = (
        "Relay", "kind", "node", ">resent", ">ACKs absorbed", ">marked", ">relayed",
        ">buffer mean", ">max",
    )  # fmt: skip
    table = _table("", *columns)

    def add(relay: dict[str, Any]) -> None:
        split = relay["kind"] == "split"
        resent = relay["retransmissions_by_acks"] + relay["retransmissions_by_timer"]
        counts = (resent, relay["acks_suppressed"], relay["acks_marked"])
        table.add_row(
            _plain(relay["name"]),
            relay["kind"],
            _plain(relay["node"]),
            *("" if split else count(it) for it in counts),
            size(relay["bytes_relayed"]) if split else "",
            size(relay["buffer_mean_bytes"]),
            size(relay["buffer_max_bytes"]),
        )

    return _shortened(table, summary["relays"], add)


def _stations(wlans: list[dict[str, Any]]) -> list[tuple[str, str, dict[str, Any]]]:
    """Wlan, station, counts: each station, and behind them all together."""
    rows = []
    for wlan in wlans:
        rows += [(wlan["name"], station["name"], station) for station in wlan["stations"]]
        rows.append((wlan["name"], "all", wlan))
    return rows


def _airtime(wlans: list[dict[str, Any]]) -> Table:
    kinds = ("data", "erroneous", "collided", "ack", "rts_cts")
    table = _table(
        "Time on the air", "Wlan", "station", ">attempts", ">max", ">lost burst", ">max",
        ">data", ">in error", ">collided", ">ACK", ">RTS, CTS", ">idle",
    )  # fmt: skip

    def add(row: tuple[str, str, dict[str, Any]]) -> None:
        name, station, counts = row
        mean = {key: counts[f"{key}_mean"] for key in ("attempts", "loss_burst")}
        text = {key: "" if value is None else f"{value:.3g}" for key, value in mean.items()}
        table.add_row(
            _plain(name),
            _plain(station),
            text["attempts"],
            count(counts["attempts_max"]),
            text["loss_burst"],
            count(counts["loss_burst_max"]),
            *(share(counts["airtime"][kind]) for kind in kinds),
            share(counts["idle_share"]) if "idle_share" in counts else "",
        )

    return _shortened(table, _stations(wlans), add)


def _means(replications: Replications) -> Table:
    shown: dict[str, tuple[str, Callable[[float | None], str]]] = {
        "response_time_s": ("response time", seconds),
        "goodput_bit_s": ("goodput", rate),
        "segments_sent": ("segments sent", count),
        "segments_retransmitted": ("retransmitted", count),
        "retransmissions_unnecessary": ("unnecessary", count),
        "frr_count": ("fast retransmits", count),
        "rto_count": ("timeouts", count),
        "idle_total_s": ("idle", seconds),
        "datagrams_sent": ("packets sent", count),
        "datagrams_lost": ("packets lost", count),
        "delay_mean_s": ("mean delay", seconds),
        "jitter_s": ("jitter", seconds),
    }
    table = _table(
        "Means with 95 % confidence intervals", "Flow", "quantity", ">mean", ">from", ">to", ">n"
    )
    means = replications.mean().iter_rows(named=True)
    # What the other transport counts is left out; a response time that never came is told.
    rows = [
        row
        for row in means
        if row["quantity"] in shown and (row["n"] or row["quantity"] == "response_time_s")
    ]

    def add(row: dict[str, Any]) -> None:
        label, text = shown[row["quantity"]]
        table.add_row(
            _plain(row["flow"]),
            label,
            *(text(row[column]) for column in ("mean", "low", "high")),
            count(row["n"]),
        )

    return _shortened(table, rows, add)


def _print_written(out: Console, written: list[Path]) -> None:
    for path in written:
        out.print(f"Written: {_plain(str(path))}", soft_wrap=True)
