"""`retx diagnose`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from retx.cli import options
from retx.cli.drawing import Drawing, draw_all, drawings
from retx.cli.opened import opened_files
from retx.cli.parameters import Argument, Option
from retx.cli.run import print_json
from retx.errors import UsageError
from retx.errors.meant import choice
from retx.files.directory import check_place
from retx.files.earlier import FIGURES
from retx.scenarios.places import check_outputs
from retx.terminal.streams import echo

if TYPE_CHECKING:
    from retx.cli.tables import Table
    from retx.diagnosing.diagnosis import Diagnosis
    from retx.diagnosing.tables import FlowTables

Capture = Annotated[
    Path,
    Argument(
        help="A capture: pcap or pcapng, plain or compressed by gzip or Zstandard; - for the "
        "standard input.",
        show_default=False,
    ),
]
Other = Annotated[
    Path | None,
    Argument(
        help="A second capture of the same flows, taken at another point of their path.",
        show_default=False,
    ),
]
Number = Annotated[
    int | None,
    Option("--flow", metavar="N", min=1, help="Show all details of flow N of the list of flows."),
]
Html = Annotated[
    Path | None, Option("--html", metavar="FILE", help="Write one self-contained HTML page.")
]
Plots = Annotated[
    list[str] | None,
    Option(
        "--plot",
        metavar="KIND[=FILE]",
        help="Draw a figure of --flow, or of the flow that lost the most time: cwnd (flight size "
        "and receive window), sequence, rtt, ladder, episodes, goodput or why. Repeatable.",
    ),
]
Out = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="Write diagnosis.json and tables (Parquet) into a new directory; with --flow also "
        "all packets of that flow.",
    ),
]
MOST_FLOWS, MOST_RETRANSMISSIONS, MOST_EPISODES = 30, 40, 12


def command(
    capture: Capture,
    other: Other = None,
    flow: Number = None,
    as_json: options.AsJson = False,
    html: Html = None,
    plots: Plots = None,
    span: options.SpanOfCapture = None,
    width: options.Width = None,
    out: Out = None,
) -> None:
    """Say what limited the TCP flows of a capture, and why they sent data again.

    \b
    Examples:
      retx diagnose capture.pcapng
      retx diagnose capture.pcapng --flow 3
      retx diagnose capture.pcap.gz --json
      retx diagnose capture.pcapng --flow 3 --html flow.html
      retx diagnose capture.pcapng --flow 3 --plot sequence --plot rtt=rtt.pdf
      retx diagnose sender.pcap receiver.pcap
      tcpdump -c 10000 -w - tcp | retx diagnose -
    """
    from retx.diagnosing.diagnosis import diagnose

    figures = _drawings(plots or [], span, width)
    read = [(file, "a capture that is read") for file in (capture, other) if file]
    check_outputs(read, [html, *(figure.place(None) for figure in figures)], out)
    if out:
        check_place(out, replace=None)
    with opened_files([html]) as files:
        whole = diagnose(capture, other)
        diagnosis = whole if flow is None else whole.only(flow)
        if out:
            files.attempt(lambda: whole.save_tables(out, flow))
        files.write(html, diagnosis.write_page)
        if figures:
            tables = diagnosis.tables(flow)
            files.attempt(lambda: _draw(figures, tables, as_json))
    if as_json:
        print_json(diagnosis.content)
    else:
        _print(diagnosis, is_whole=flow is None)
    files.raise_faults()


def _draw(figures: list[Drawing], tables: FlowTables, as_json: bool) -> None:
    for file in draw_all(figures, lambda drawing: drawing.figure_of(tables)):
        echo(f"Written: {file}", err=as_json)


def _drawings(
    words: list[str], span: tuple[float, float] | None, width: str | None
) -> list[Drawing]:
    """Figures that `--plot` requests.

    Raises:
        UsageError: There is no such figure, or it needs data that a capture does not contain.
    """
    from retx.diagnosing.tables import PLOTS

    for kind in (word.partition("=")[0] for word in words):
        if kind not in PLOTS:
            # The nearest name to that of another figure would mislead.
            name, reason = kind, f"no plot {kind!r}"
            if kind in FIGURES:
                name, reason = "", "a capture does not show it"
            raise UsageError(f"--plot {kind}: {reason}{choice(name, PLOTS)}")
    return drawings(words, None, span, width)


def _print(diagnosis: Diagnosis, *, is_whole: bool) -> None:
    from retx.cli.console import console
    from retx.cli.tables import plain
    from retx.diagnosing.wording import lost
    from retx.terminal.quantities import counted

    out, flows = console(), diagnosis.flows
    capture = diagnosis.content["capture"]
    found = counted(len(flows), "flow") if flows else "no TCP flow"
    frames = counted(capture["packets"], "frame")
    out.print(f"{plain(' and '.join(capture['files']))}: {frames}, {found}")
    for finding in diagnosis.findings:
        out.print(f"  {plain(finding)}.")
    if is_whole and len(flows) > 1:
        ranked = sorted(flows, key=lambda flow: (lost(flow), flow["bytes"]), reverse=True)
        _overview(ranked, out)
        flows = ranked[:1]
        most = "Most was lost" if lost(flows[0]) else "Nothing was lost; most bytes were sent"
        out.print(f"\n{most} by flow {flows[0]['number']}; --flow N shows another.")
    for flow in flows:
        _flow(flow, out)


def _show(rows: Table, left_out: int, out: Any) -> None:  # noqa: ANN401
    """Prints a table, and the number of rows that it leaves out."""
    out.print(rows)
    if left_out > 0:
        out.print(f"and {left_out} more: see --json")


def _overview(flows: list[Any], out: Any) -> None:  # noqa: ANN401
    from retx.cli.tables import Table, plain
    from retx.diagnosing.wording import largest, needless, resent
    from retx.terminal.quantities import seconds

    rows = Table("", ">#", "Flow", ">life", ">bytes", ">resent", ">needless", ">timeouts", "limit")
    for flow in flows[:MOST_FLOWS]:
        rows.add_row(
            str(flow["number"]), plain(flow["name"]), seconds(flow["life_s"]), str(flow["bytes"]),
            str(len(resent(flow))), str(len(needless(flow))), str(len(flow["timeouts"])),
            largest(flow),
        )  # fmt: skip
    _show(rows, len(flows) - MOST_FLOWS, out)


def _episodes(episodes: list[Any], out: Any) -> None:  # noqa: ANN401
    from retx.cli.tables import Table, plain
    from retx.diagnosing.wording import episode_kind
    from retx.terminal.quantities import seconds

    if not episodes:
        return
    rows = Table(
        "Episodes",
        *(">Frame", ">sent (estimated)", "kind", ">lasted", "cause", ">sure", ">resent"),
        "evidence",
    )
    starts = [it["start_s"] for it in episodes]
    for it, following in zip(episodes[:MOST_EPISODES], [*starts[1:], None], strict=False):
        # If new data were lost, the recovery continues in the next episode.
        end = following if it["end_s"] is None else it["end_s"]
        lasted = "to the end" if end is None else seconds(end - it["start_s"])
        rows.add_row(
            str(it["trigger"]), f"{it['start_s']:.6f}", episode_kind(it), lasted,
            it["cause"], f"{it['confidence']:.2f}", str(it["retransmitted"]),
            plain("; ".join(it["evidence"])),
        )  # fmt: skip
    _show(rows, len(episodes) - MOST_EPISODES, out)


def _timeouts(timeouts: list[Any], out: Any) -> None:  # noqa: ANN401
    from retx.cli.tables import Table
    from retx.diagnosing.wording import rto
    from retx.terminal.quantities import seconds

    if not timeouts:
        return
    rows = Table("Timeouts", ">Frame", ">time", ">in a row", ">waited", ">RTO by the ACKs")
    for it in timeouts[:MOST_EPISODES]:
        rows.add_row(
            str(it["packet"]), f"{it['time_s']:.6f}", str(it["number"]), seconds(it["waited_s"]),
            rto(it),
        )  # fmt: skip
    _show(rows, len(timeouts) - MOST_EPISODES, out)


def _flow(flow: Any, out: Any) -> None:  # noqa: ANN401
    from retx.cli.tables import plain
    from retx.diagnosing.patterns import sentences
    from retx.diagnosing.wording import paragraph, resent

    out.print(f"\n[bold]{flow['number']}: {plain(flow['name'])}[/bold]")
    for sentence in [*paragraph(flow), *sentences(flow)]:
        out.print(plain(sentence))
    _episodes(flow["episodes"], out)
    _timeouts(flow["timeouts"], out)
    _retransmissions(flow, resent(flow), out)


def _retransmissions(flow: Any, found: list[Any], out: Any) -> None:  # noqa: ANN401
    from retx.cli.tables import Table
    from retx.diagnosing.wording import reason, sent_by, what

    if not found:
        return
    rows = Table(
        "Retransmissions",
        *(">Frame", ">time", "by", ">seq", ">bytes", "kind", "needless", "because", ">sure"),
    )
    for it in found[:MOST_RETRANSMISSIONS]:
        rows.add_row(
            str(it["packet"]), f"{it['time_s']:.6f}", sent_by(flow, it), str(it["seq"]),
            str(it["length_bytes"]), what(it), it["needless"], reason(it),
            f"{it['confidence']:.2f}",
        )  # fmt: skip
    _show(rows, len(found) - MOST_RETRANSMISSIONS, out)
