"""`retx plot`: figures of stored results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from retx.cli import options
from retx.cli.drawing import Drawing, draw_all, file_of, in_width, of_run
from retx.cli.parameters import Argument, Option
from retx.errors import UsageError
from retx.errors.meant import choice
from retx.files.earlier import FIGURES
from retx.sweeps.figures import KINDS as OF_SWEEPS
from retx.sweeps.figures import METRIC, FigureRequest, check, draw
from retx.terminal.streams import echo

if TYPE_CHECKING:
    from retx.plots.style import Figure
    from retx.results.replications import Replications
    from retx.results.result import Result
    from retx.sweeps.result import Sweep

OF_REPLICATIONS = ("cdf",)

Directory = Annotated[
    Path,
    Argument(
        metavar="DIR",
        help="Directory that retx run --out or retx sweep --out has written.",
        show_default=False,
    ),
]
Kinds = Annotated[
    list[str],
    Argument(
        metavar="KIND[=FILE]...",
        help="For a run: kinds of `retx run --plot`. For a sweep: metric, heat_map, contour, cdf, "
        "paired. For replications: cdf, or with --replication those of a run. FILE ends in .png, "
        ".svg, .pdf, or .csv or .parquet for the data; by default KIND.png in the current "
        "directory.",
        completion="retx.cli.completion:kinds_of_stored_plots",
        show_default=False,
    ),
]
Replication = Annotated[
    int | None,
    Option(metavar="N", min=0, help="Draw this replication, if there are several."),
]
Metric = Annotated[
    str,
    Option(
        metavar="NAME",
        help="Metric of a sweep or of replications: a column of flows, flow.NAME.COLUMN or "
        "link.NAME.DIRECTION.COLUMN.",
    ),
]
X = Annotated[str | None, Option("--x", metavar="KEY", help="Key of the horizontal axis.")]
Y = Annotated[
    str | None, Option("--y", metavar="KEY", help="Key of the vertical axis of a surface.")
]
By = Annotated[str | None, Option("--by", metavar="KEY", help="Key with a curve for each value.")]
Where = Annotated[
    list[str] | None,
    Option(
        "--where",
        metavar="KEY=VALUE",
        help="Draw only points with this value of a key. Repeatable.",
    ),
]
Pair = Annotated[
    str | None,
    Option(
        "--paired",
        metavar="[KEY=]A,B",
        help="Compare two values of a key in runs with the same draws.",
    ),
]
Models = Annotated[
    list[str] | None,
    Option("--model", metavar="NAME", help="Also draw this closed form. Repeatable."),
]


def command(
    directory: Directory,
    kinds: Kinds,
    flow: options.Flow = None,
    span: options.Span = None,
    replication: Replication = None,
    metric: Metric = METRIC,
    x: X = None,
    y: Y = None,
    by: By = None,
    where: Where = None,
    pair: Pair = None,
    models: Models = None,
    width: options.Width = None,
) -> None:
    """Draw figures of the stored results of a run or a sweep.

    \b
    Examples:
      retx plot out/noisy cwnd queue=queue.pdf --span 0 5
      retx plot out/loss metric --metric response_time_s --by flow.download.tcp
      retx plot out/loss paired=pairs.pdf --paired cubic,bbr --width column
    """
    from retx.results.replications import Replications
    from retx.results.result import Result
    from retx.sweeps.load import load

    asked = FigureRequest(metric, x, y, by, flow, pair, where or (), models or ())
    found = load(directory)
    if isinstance(found, Replications) and replication is not None:
        if replication >= len(found):
            raise UsageError(f"--replication {replication}: there are {len(found)}, from 0 on")
        found = found[replication]
    elif replication is not None:
        raise UsageError("--replication is for the results of run --replications: leave it out")
    if isinstance(found, Result):
        _check_run(asked)
        drawings = in_width([of_run(word, flow, span, "") for word in kinds], width)
        drawn = draw_all(drawings, lambda drawing: drawing.figure_of(found))
    else:
        if span:
            raise UsageError("--span is for figures of one run: leave it out")
        several = isinstance(found, Replications)
        known = OF_REPLICATIONS if several else OF_SWEEPS
        drawings = in_width([_of_many(word, known, several) for word in kinds], width)
        check(asked, [it.kind for it in drawings])
        drawn = draw_all(drawings, lambda drawing: _figure(found, drawing.kind, asked))
    for file in drawn:
        echo(f"Written: {file}")


def _check_run(asked: FigureRequest) -> None:
    """Refuses options that figures of a single run do not take.

    Raises:
        UsageError: An option is refused; the message says which.
    """
    given = {
        "--metric": asked.metric != METRIC, "--x": asked.x, "--y": asked.y, "--by": asked.by,
        "--where": asked.where, "--paired": asked.paired, "--model": asked.models,
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise UsageError(f"{option} is for sweeps; this directory holds one run: leave it out")


def _of_many(word: str, known: tuple[str, ...], several: bool) -> Drawing:
    kind, file = file_of(word, "")
    if kind not in known:
        of = "replications" if several else "a sweep"
        hint = ""
        if kind in FIGURES:
            hint = (
                f"; {kind} is of one run: add --replication N"
                if several
                else f"; {kind} is of one run: retx run SCENARIO --plot {kind}"
            )
        raise UsageError(f"{word}: no plot {kind!r} of {of}{choice(kind, known)}{hint}")
    return Drawing(kind, file, None, None, "")


def _figure(found: Sweep | Replications | Result, kind: str, asked: FigureRequest) -> Figure:
    from retx.sweeps.result import Sweep

    if isinstance(found, Sweep):
        return draw(found, kind, asked)
    from retx.plots.sweeps import SweepPlot

    return SweepPlot(found.flows).cdf(asked.metric, by=asked.by, flow=asked.flow)
