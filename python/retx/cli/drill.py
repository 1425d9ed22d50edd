"""`retx drill`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from retx.cli.parameters import Argument, Option
from retx.cli.run import overrides_of, print_json
from retx.terminal.streams import echo

if TYPE_CHECKING:
    from retx.running.drills import Drill

FAILED, REFUSED = 1, 2
"""Exit codes if the endpoint deviates from a script, and if a script could not be played."""

Scripts = Annotated[
    list[Path],
    Argument(help="Scripts, or directories of .pkt files.", show_default=False),
]
Tcp = Annotated[
    str,
    Option(
        metavar="PRESET",
        help="TCP for scripts without a line `--retx-tcp`.",
        completion="retx.cli.completion:presets",
    ),
]
Settings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a field of the scripts' TCP, such as delayed_ack.segments=1. Repeatable.",
    ),
]
Trace = Annotated[
    bool, Option("--trace", help="Print packets and calls with their times, as a script.")
]
AsJson = Annotated[bool, Option("--json", help="Print the verdicts as a JSON list.")]


def command(
    scripts: Scripts,
    tcp: Tcp = "reno",
    settings: Settings = None,
    trace: Trace = False,
    as_json: AsJson = False,
) -> None:
    """Play packetdrill scripts against retx's TCP.

    \b
    Examples:
      retx drill drills
      retx drill one.pkt --tcp linux --trace
    """
    from retx.running.drills import drill

    results = []
    overrides = overrides_of(settings or [], "mss=536")
    for result in drill(*scripts, tcp=tcp, overrides=overrides, trace=trace):
        results.append(result)
        if not as_json:
            _print(result)
    if as_json:
        print_json([it.to_dict() for it in results])
    verdicts = [result.verdict for result in results]
    failed, refused = verdicts.count("failed"), verdicts.count("refused")
    if not as_json and len(results) > 1:
        echo(
            f"{len(results)} scripts: {verdicts.count('passed')} passed, {failed} failed, "
            f"{refused} could not be played"
        )
    if failed or refused:
        sys.exit(FAILED if failed else REFUSED)


def _print(result: Drill) -> None:
    for line in (*result.trace, *(f"print: {text}" for text in result.printed)):
        echo(f"  {line}")
    if result.passed:
        echo(f"{result.file}: passed")
        return
    where = result.file if result.line is None else f"{result.file}:{result.line}"
    said = "failed" if result.verdict == "failed" else "cannot be played"
    echo(f"{where}: {said}: {result.message}")
    if result.expected is not None:
        echo(f"  expected  {result.expected}")
    if result.actual is not None:
        echo(f"  actual    {result.actual}")
