"""The options of `retx run`, which other commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from retx.cli.parameters import Argument, Option
from retx.errors import UsageError


def check_with_out(out: Path | None, force: bool, no_segments: bool, figures: bool = False) -> None:
    """Refuses options that have no effect without a result directory.

    Raises:
        UsageError: An option has no effect; the message says which.
    """
    if out is None and force:
        raise UsageError("--force replaces the result at --out: add --out DIR")
    if out is None and no_segments and not figures:
        raise UsageError("--no-segments omits a table from --out: add --out DIR")


def check_latex(file: Path | None) -> None:
    """Refuses a file without LaTeX's extension.

    Raises:
        UsageError: The file has another extension.
    """
    if file and file.suffix != ".tex":
        raise UsageError(f"--latex {file}: the file must end in .tex")


def write_latex(file: Path, text: str) -> None:
    """Writes the text of a LaTeX table into a file."""
    from retx.files.directory import new_file

    with new_file(file) as path:
        path.write_text(text, encoding="utf-8")


Scenario = Annotated[
    Path,
    Argument(help="A scenario file (TOML), or - for the standard input.", show_default=False),
]
AsJson = Annotated[bool, Option("--json", help="Print the result as one JSON object.")]
Out = Annotated[
    Path | None,
    Option(metavar="DIR", help="Write summary, tables and scenario into a new directory."),
]
Force = Annotated[bool, Option("--force", help="Replace an earlier result in the directory.")]


def _refuse_code(value: bool) -> bool:
    """Applies `--no-code` to all scenarios read by this process."""
    if value:
        from retx.scenarios.trust import limit_process

        limit_process(code=False)
    return value


def _permit_files_anywhere(value: bool) -> bool:
    """Applies `--files-anywhere` to all scenarios read by this process."""
    if value:
        from retx.scenarios.trust import limit_process

        limit_process(files_anywhere=True)
    return value


NoCode = Annotated[
    bool,
    Option("--no-code", callback=_refuse_code, help="Refuse a scenario that names Python code."),
]
FilesAnywhere = Annotated[
    bool,
    Option(
        "--files-anywhere",
        callback=_permit_files_anywhere,
        help="Permit data files outside the scenario's folder.",
    ),
]
Pcap = Annotated[Path | None, Option(metavar="FILE", help="Write a capture (pcapng).")]
PcapAt = Annotated[
    list[str] | None,
    Option(
        metavar="LINK@NODE",
        help="Capture at this end of a link. Default: at the first flow's sender. Repeatable.",
    ),
]
Settings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        completion="retx.cli.completion:settings",
        help="Set a value, such as link.cloud.forward.channel.p=0.01. Repeatable.",
    ),
]
Seed = Annotated[int | None, Option(metavar="N", help="Seed of the random draws.")]
Replications = Annotated[
    int | None,
    Option(metavar="N", min=1, help="Run N replications on all cores and show their means."),
]
Replication = Annotated[
    int | None,
    Option(
        metavar="N",
        min=0,
        help="Run only replication N of those that --replications runs; 0 is the first.",
    ),
]
Threads = Annotated[
    int | None,
    Option(metavar="N", min=1, help="Use N cores for --replications instead of all."),
]
Plots = Annotated[
    list[str] | None,
    Option(
        "--plot",
        metavar="KIND[=FILE]",
        completion="retx.cli.completion:kinds_of_plots",
        help="Draw cwnd, sequence, rtt, ladder, queue, episodes, goodput, fairness, bursts, "
        "confusion or why; FILE ends in .png, .svg, .pdf, or .csv or .parquet for the data. "
        "Repeatable.",
    ),
]
Flow = Annotated[
    str | None,
    Option(metavar="NAME", help="Plot only this flow; not for queue and fairness."),
]
Span = Annotated[
    tuple[float, float] | None,
    Option(metavar="T0 T1", help="Plot only from T0 to T1, in seconds; not for confusion."),
]
SpanOfCapture = Annotated[
    tuple[float, float] | None,
    Option("--span", metavar="T0 T1", help="Plot only from T0 to T1, in seconds."),
]
Width = Annotated[
    str | None,
    Option(
        "--width",
        metavar="page|column",
        help="Width of figures: page, for the text width of a page (7 inches), or column, for one "
        "of two columns (3.4 inches).",
    ),
]
Latex = Annotated[
    Path | None,
    Option("--latex", metavar="FILE", help="Write the table for a paper (.tex, booktabs)."),
]
Reference = Annotated[
    bool,
    Option(
        "--reference",
        help="Simulate without optimisations; results are the same.",
    ),
]
NoSegments = Annotated[
    bool,
    Option(
        "--no-segments", help="With --out: do not record the table of segments, which needs memory."
    ),
]
