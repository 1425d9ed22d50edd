"""Self-contained page about a flow of a capture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import floor, log10
from typing import TYPE_CHECKING, Any

from retx.diagnosing.patterns import sentences
from retx.diagnosing.wording import (
    LIMITS,
    episode_kind,
    listed,
    lost,
    paragraph,
    reason,
    resent,
    rto,
    sent_by,
    what,
)
from retx.terminal.quantities import seconds

if TYPE_CHECKING:
    from retx.diagnosing.diagnosis import Diagnosis

WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM = 1000, 480, 100, 40, 40
MOST_TICKS = 7
COLOURS = {
    "fast": "#d95f02", "recovery": "#e6ab02", "timeout": "#c51b7d", "tail_loss_probe": "#7570b3",
}  # fmt: skip
OTHER = "#666666"
PARTS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#bbbbbb")
MOST_ROWS = 500
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; font-size: .85rem } td, th { padding: .15rem .6rem;
  text-align: left; border-bottom: 1px solid #ddd }
td, th { white-space: nowrap } td.e { white-space: normal; min-width: 16rem }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.bar { display: flex; height: 1.6rem } .bar i { display: block }
.key { list-style: none; padding: 0 } .key i { display: inline-block; width: .8em; height: .8em;
  margin-right: .4em }
svg { width: 100%; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: #444 }
.table { overflow-x: auto; background: linear-gradient(to right, #fff 50%, #fff0) 0 0,
  linear-gradient(to left, #fff 50%, #fff0) 100% 0,
  linear-gradient(to right, #0003, #0000) 0 0, linear-gradient(to left, #0003, #0000) 100% 0;
  background-size: 2.5rem 100%, 2.5rem 100%, 1rem 100%, 1rem 100%; background-repeat: no-repeat;
  background-attachment: local, local, scroll, scroll }
@media (max-width: 45rem) { td.e { white-space: nowrap } svg text { font-size: 24px } }
"""


def page(diagnosis: Diagnosis) -> str:
    """Page as HTML; it needs no other file and no network."""
    if not diagnosis.flows:
        return _html("No TCP flow", ["<p>The capture has no TCP flow.</p>"])
    from retx.diagnosing.diagnosis import answer

    number = max(diagnosis.flows, key=lost)["number"]
    content = answer(diagnosis.files, number)
    flow = next(flow for flow in content["flows"] if flow["number"] == number)
    capture = diagnosis.content["capture"]
    files = " and ".join(capture["files"])
    findings = "".join(f"<li>{escape(it)}</li>" for it in diagnosis.findings)
    body = [
        f"<p>From {escape(files)}, {capture['packets']} frames.</p>",
        *(f"<p>{escape(sentence)}</p>" for sentence in paragraph(flow)),
        *_patterns(flow),
        f"<h2>The capture</h2><ul>{findings}</ul>" if findings else "",
        "<h2>What limited it</h2>",
        *_bar(flow),
        "<h2>Time and sequence</h2>",
        _picture(flow),
        "<h2>Episodes</h2>",
        *_episodes(flow["episodes"]),
        *_timeouts(flow["timeouts"]),
        "<h2>Retransmissions</h2>",
        *_retransmissions(flow),
    ]
    return _html(f"Flow {number}: {flow['name']}", body)


def _html(title: str, body: Sequence[str]) -> str:
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
    )
    return f"{head}<h1>{escape(title)}</h1>{''.join(body)}</body></html>\n"


def _bar(flow: Mapping[str, Any]) -> Iterator[str]:
    parts = [
        (words, share, PARTS[min(index, len(PARTS) - 1)])
        for index, (words, share) in enumerate(listed(flow))
    ]
    widths = (
        f'<i style="width:{share:.2%};background:{colour}"></i>' for _, share, colour in parts
    )
    yield f'<div class="bar">{"".join(widths)}</div><ul class="key">'
    for words, share, colour in parts:
        mark = f'<i style="background:{colour}"></i>'
        yield f"<li>{mark}<b>{100 * share:.1f} %</b> {escape(words)}</li>"
    yield "</ul>"


class Scales:
    """Coordinates of times and positions in the picture."""

    def __init__(self, points: Sequence[Sequence[float]], ends: Sequence[float]) -> None:
        self.last = max((point[0] for point in points), default=1.0) or 1.0
        self.top = max(ends, default=1.0) or 1.0

    def x(self, time_s: float) -> float:
        """Coordinate of a time."""
        return round(LEFT + time_s / self.last * (WIDTH - LEFT - RIGHT), 1)

    def y(self, position: float) -> float:
        """Vertical coordinate of a position. Positions beyond the data are at the upper edge."""
        share = min(max(position / self.top, 0.0), 1.0)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - 10), 1)


def _picture(flow: Mapping[str, Any]) -> str:
    picture = flow.get("picture", {"data": [], "acks": [], "one_of": 1})
    scale = Scales(picture["data"] + picture["acks"], [point[2] for point in picture["data"]])
    x, y = scale.x, scale.y
    data = "".join(f"M{x(t)} {y(start)}V{y(end) - 1:.1f}" for t, start, end in picture["data"])
    acks = _steps([(x(t), y(ack)) for t, ack, _ in picture["acks"]])
    edges = _steps([(x(t), y(edge)) for t, _, edge in picture["acks"]])
    marks = "".join(
        f'<circle cx="{x(it["time_s"])}" cy="{y(it["seq"])}" r="3.5" fill="'
        f'{COLOURS.get(it["kind"], OTHER)}"{_hollow(it)}><title>frame {it["packet"]}: '
        f"{escape(what(it))}, needless: {it['needless']}, {escape(reason(it))}</title></circle>"
        for it in resent(flow)
        if sent_by(flow, it) == "sender"
    )
    stalls = "".join(
        f'<rect x="{x(it["start_s"])}" y="10" height="{HEIGHT - BOTTOM - 10}" width="'
        f'{max(x(it["start_s"] + it["duration_s"]) - x(it["start_s"]), 0.5):.1f}" fill="#f3e3ea">'
        f"<title>silence of {seconds(it['duration_s'])}: {LIMITS[it['cause']]}</title></rect>"
        for it in flow["stalls"]
    )
    axes = "".join(
        f'<text x="{x(tick)}" y="{HEIGHT - 8}" text-anchor="middle">{seconds(tick)}</text>'
        for tick in round_ticks(scale.last)
    ) + "".join(
        f'<text x="{LEFT - 6}" y="{y(tick) + 4}" text-anchor="end">{_bytes(tick)}</text>'
        for tick in round_ticks(scale.top)
    )
    keys = [(kind.replace("_", " "), colour) for kind, colour in COLOURS.items()]
    lines = [("data", "#4477aa"), ("acknowledged", "#228833"), ("window", "#bbbbbb")]
    legend = "".join(
        f'<li style="display:inline-block;margin-right:1rem"><i style="background:{colour}"></i>'
        f"{name}</li>"
        for name, colour in [*lines, *keys, ("another retransmission", OTHER)]
    )
    thin = picture["one_of"]
    note = f"<p>One of {thin} packets is drawn.</p>" if thin > 1 else ""
    return (
        f'<div class="table"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="time and sequence">{stalls}'
        f'<path d="{edges}" fill="none" stroke="#bbbbbb"/>'
        f'<path d="{data}" fill="none" stroke="#4477aa" stroke-width="1.5"/>'
        f'<path d="{acks}" fill="none" stroke="#228833"/>{marks}{axes}</svg></div>'
        f'<ul class="key">{legend}</ul><p>Rings are needless; shaded: silence.</p>{note}'
    )


def round_ticks(last: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from 0 to `last`, at most `MOST_TICKS`."""
    unit = 10.0 ** floor(log10(last / MOST_TICKS))
    step = next(unit * factor for factor in (1, 2, 5, 10) if last < unit * factor * MOST_TICKS)
    return [step * number for number in range(floor(last / step) + 1)]


def _hollow(retransmission: Mapping[str, Any]) -> str:
    if retransmission["needless"] != "yes":
        return ""
    colour = COLOURS.get(retransmission["kind"], OTHER)
    return f' fill-opacity="0" stroke="{colour}" stroke-width="1.5"'


def _bytes(count: float) -> str:
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= limit:
            return f"{count / limit:.3g} {unit}"
    return f"{count:.0f} B"


def _steps(points: Sequence[tuple[float, float]]) -> str:
    if not points:
        return ""
    (left, top), *rest = points
    return f"M{left} {top}" + "".join(f"H{right}V{height}" for right, height in rest)


def _patterns(flow: Mapping[str, Any]) -> Iterator[str]:
    if not flow["patterns"]:
        return
    yield "<h2>What the packets show</h2><ul>"
    yield from (f"<li>{escape(sentence)}</li>" for sentence in sentences(flow))
    yield "</ul>"


def _timeouts(timeouts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not timeouts:
        return
    yield '<h2>Timeouts</h2><div class="table"><table><tr>'
    for name in ("Frame", "time", "in a row", "waited", "RTO by the ACKs"):
        yield f'<th class="n">{name}</th>'
    yield "</tr>"
    for it in timeouts[:MOST_ROWS]:
        yield (
            f'<tr><td class="n">{it["packet"]}</td><td class="n">{it["time_s"]:.6f} s</td>'
            f'<td class="n">{it["number"]}</td><td class="n">{seconds(it["waited_s"])}</td>'
            f'<td class="n">{rto(it)}</td></tr>'
        )
    yield "</table></div>"


def _episodes(episodes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not episodes:
        yield "<p>None.</p>"
        return
    yield '<div class="table"><table><tr><th class="n">Frame</th>'
    yield '<th class="n">sent (estimated)</th>'
    yield "<th>kind</th><th>cause</th>"
    for name in ("sure", "resent", "needless"):
        yield f'<th class="n">{name}</th>'
    yield "<th>evidence</th></tr>"
    for it in episodes[:MOST_ROWS]:
        yield (
            f'<tr><td class="n">{it["trigger"]}</td><td class="n">{it["start_s"]:.4f} s</td>'
            f"<td>{episode_kind(it)}</td><td>{it['cause']}</td>"
            f'<td class="n">{it["confidence"]:.2f}</td><td class="n">{it["retransmitted"]}</td>'
            f'<td class="n">{it["unnecessary"]}</td>'
            f'<td class="e">{escape("; ".join(it["evidence"]))}</td>'
            "</tr>"
        )
    yield "</table></div>"


def _retransmissions(flow: Mapping[str, Any]) -> Iterator[str]:
    found = resent(flow)
    if not found:
        yield "<p>None.</p>"
        return
    yield '<div class="table"><table><tr>'
    for name in ("Frame", "time", "seq", "bytes"):
        yield f'<th class="n">{name}</th>'
    yield '<th>by</th><th>kind</th><th>needless</th><th>because</th><th class="n">sure</th></tr>'
    for it in found[:MOST_ROWS]:
        yield (
            f'<tr><td class="n">{it["packet"]}</td><td class="n">{it["time_s"]:.6f} s</td>'
            f'<td class="n">{it["seq"]}</td><td class="n">{it["length_bytes"]}</td>'
            f"<td>{sent_by(flow, it)}</td><td>{escape(what(it))}</td><td>{it['needless']}</td>"
            f'<td class="e">{escape(reason(it))}</td>'
            f'<td class="n">{it["confidence"]:.2f}</td></tr>'
        )
    yield "</table></div>"
    if len(found) > MOST_ROWS:
        yield f"<p>and {len(found) - MOST_ROWS} more.</p>"
