"""Results as JSON, as tables in the terminal, and as tables of a page of the documentation."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from peers.comparing import COUNTED
from peers.scenarios import named

__all__ = ["machine", "markdown", "put_into", "show", "write"]

NAMES = {
    "ns2": "ns-2",
    "ns2-lean": "ns-2, lean",
    "ns3": "ns-3",
    "ns3-native": "ns-3, native",
    "htsim": "htsim",
    "retx": "retx",
}
Rows = list[list[str]]


def machine() -> dict[str, Any]:
    """Machine on which the measurements are made."""
    cpu = re.search(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+)", _read("/proc/meminfo"))
    return {
        "cpu": cpu[1] if cpu else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(int(memory[1]) / 2**20) if memory else None,
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
    }


def new_file(folder: Path, date: str) -> Path:
    """Path of a new file of results, named by the date, without replacing an earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"peers-{date[:10]}"
    number = 1
    while (file := folder / (f"{stem}.json" if number == 1 else f"{stem}-{number}.json")).exists():
        number += 1
    return file


def write(result: dict[str, Any], file: Path) -> None:
    """Writes all results so far, in place of the earlier ones."""
    whole = file.with_suffix(".partial")
    whole.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    whole.replace(file)


def show(result: dict[str, Any], console: Console) -> None:
    """Prints every table."""
    for title, head, rows in filled(result):
        table = Table(title=title, title_justify="left")
        for number, name in enumerate(head):
            table.add_column(name, justify="right" if number else "left")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def markdown(result: dict[str, Any]) -> str:
    """The tables for the documentation."""
    where = result["machine"]
    versions = "; ".join(f"{NAMES[name]}: {text}" for name, text in result["versions"].items())
    parts = [
        f"Measured on {result['date'][:10]}: {where['cpu']}, {where['cores']} cores, "
        f"{where['memory_gb']} GB, {where['system']}. Versions: {versions}. Runs of each scenario: "
        f"{result['repeat']}. Limit for a run of a peer: {result['limit_s']:g} CPU seconds. "
        f"{_loads(result)} "
        f"{result.get('note', '')}".strip()
    ]
    for title, head, rows in filled(result):
        lines = [f"| {' | '.join(row)} |" for row in [head, *rows]]
        lines.insert(1, "|---|" + "---:|" * (len(head) - 1))
        parts += [f"### {title}", "\n".join(lines)]
    return "\n\n".join(parts)


def put_into(page: Path, text: str) -> None:
    """Replaces the text between the two marks of a page."""
    begin, end = "<!-- measured: begin -->", "<!-- measured: end -->"
    before, mark, rest = page.read_text(encoding="utf-8").partition(begin)
    _, mark_too, after = rest.partition(end)
    if not (mark and mark_too):
        raise LookupError(f"{page}: {begin} and {end} have to stand in it")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def filled(result: dict[str, Any]) -> Iterable[tuple[str, list[str], Rows]]:
    """The tables that have rows."""
    return (each for each in tables(result) if each[2])


def tables(result: dict[str, Any]) -> Iterable[tuple[str, list[str], Rows]]:
    """Title, head and rows of each."""
    names = list(result["versions"])
    peers = [name for name in names if name != "retx"]
    heads = [NAMES[name] for name in names]
    scenarios = result["scenarios"]
    faster = [f"retx ÷ {NAMES[name]}" for name in peers]
    yield (
        "Data segments delivered per CPU second",
        ["", *heads, *faster],
        [
            [each["title"], *_cells(each, names, "segments_per_cpu_s", 1, ",.0f")]
            + [_ratio(each.get("retx_is_faster", {}).get(name)) for name in peers]
            for each in scenarios
        ],
    )
    yield (
        "User CPU seconds, and of these before the first event",
        ["", *heads],
        [[each["title"], *(_seconds(each, name) for name in names)] for each in scenarios],
    )
    yield (
        "Wall time in seconds",
        ["", *heads],
        [[each["title"], *_cells(each, names, "wall_s", 1, ",.2f")] for each in scenarios],
    )
    yield (
        "Peak memory in MB",
        ["", *heads],
        [[each["title"], *_cells(each, names, "peak_bytes", 1e-6, ",.0f")] for each in scenarios],
    )
    yield (
        "The same work? Segments delivered, as a share of retx's over the same simulated time",
        ["", *(NAMES[name] for name in peers)],
        [
            [each["title"], *(_share(each, name) for name in peers)]
            for each in scenarios
            if "delivered_beside_retx" in each
        ],
    )
    if found := result.get("rules"):
        seeds = len(found[0]["peer_segments_per_s"])
        yield (
            f"Random losses: a peer's goodput as a share of retx's, {seeds} seeds, "
            f"at most {found[0]['limit_s']:g} CPU seconds of the peer for each",
            ["", *(f"retx by {name}" for name in found[0]["delivered_beside_retx"])],
            [
                [f"{each['title']}: {NAMES[each['peer']]}"]
                + [
                    f"{100 * ratio:.1f} ± {100 * error:.1f} %"
                    for ratio, error in each["delivered_beside_retx"].values()
                ]
                for each in found
            ],
        )
    yield from _limits(result)


def _limits(result: dict[str, Any]) -> Iterable[tuple[str, list[str], Rows]]:
    for key, name in COUNTED.items():
        if not (counted := result.get(key)):
            continue
        (whole_s,) = {found["whole_scenario_s"] for found in counted.values()}
        yield (
            f"Instructions per delivered segment, {_title(name)} (callgrind)",
            [
                "",
                "each segment",
                "the start beyond that",
                f"whole process, {whole_s:g} s",
                "segments counted",
            ],
            [
                [
                    NAMES[name],
                    f"{found['per_segment']:,.0f}",
                    f"{found['beginning']:,.0f}",
                    f"{found['whole_process_per_segment']:,.0f}",
                    f"{found['segments']:,}",
                ]
                for name, found in counted.items()
            ],
        )
    if bare := result.get("bare_event_loop"):
        yield (
            "retx beside a bare event loop, dumbbell of 100 flows",
            ["", "ns per segment", "the engine takes"],
            [
                ["engine", f"{bare['engine_ns_per_segment']:.0f}", ""],
                [
                    f"as many events ({bare['events_per_segment']:.2f} a segment) in a binary heap",
                    f"{bare['heap_ns_per_segment']:.0f}",
                    f"{bare['times_heap']:.2f} times",
                ],
                [
                    "as many in the engine's own queue",
                    f"{bare['bare_ns_per_segment']:.0f}",
                    f"{bare['times_bare']:.2f} times",
                ],
            ],
        )
    if sampled := result.get("columns"):
        yield (
            f"Sampling: {sampled['scenario']} ({sampled['off_s']:.2f} s without)",
            ["", "CPU time on top", "MB of columns"],
            [
                [name, f"{100 * cost:+.1f} %", f"{sampled['bytes'][name] / 1e6:.1f}"]
                for name, cost in sampled["cost"].items()
            ]
            + [
                [
                    "as many bytes as every ACK's written to memory",
                    f"{100 * sampled['memory_s'] / sampled['off_s']:+.1f} %",
                    f"{sampled['bytes']['every ACK'] / 1e6:.1f}",
                ]
            ],
        )


def _cells(each: dict[str, Any], names: list[str], key: str, factor: float, form: str) -> list[str]:
    found = each["measured"]
    return [
        format(factor * found[name]["median"][key], form) + _mark(found[name])
        if name in found
        else "–"
        for name in names
    ]


def _seconds(each: dict[str, Any], name: str) -> str:
    found = each["measured"].get(name)
    if found is None:
        return "–"
    median = found["median"]
    setup = median["setup_s"]
    of_these = f" ({setup:.2f})" if setup is not None else ""
    return f"{median['user_s']:,.2f}{of_these}{_mark(found)}"


def _title(name: str) -> str:
    scenario = named([name])[0]
    return scenario.title + (" with SACK" if name.startswith("dumbbell") else "")


def _mark(found: dict[str, Any]) -> str:
    return "" if found["complete"] else " *"


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _share(each: dict[str, Any], name: str) -> str:
    share = each["delivered_beside_retx"].get(name)
    if share is None:
        return "–"
    return f"{100 * share:.1f} %{_mark(each['measured'][name])}"


def _loads(result: dict[str, Any]) -> str:
    loads = [
        run["load"]
        for each in result["scenarios"]
        for found in each["measured"].values()
        for run in found["runs"]
    ]
    return f"Load of the machine: {min(loads):.1f} to {max(loads):.1f}." if loads else ""


def _read(path: str) -> str:
    file = Path(path)
    return file.read_text(encoding="utf-8") if file.exists() else ""
