"""`retx why`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retx.cli import options
from retx.cli.run import overrides_of, print_json
from retx.errors import UsageError
from retx.places import check_places

if TYPE_CHECKING:
    from retx.explaining.answer import Answer

Flow = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Try remedies for this flow; the first by default."),
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="TIME", help='How long to try, such as "10 s"; 4 s by default.'),
]
Draws = Annotated[
    int | None,
    typer.Option(
        "--replications",
        metavar="N",
        min=1,
        help="N draws of each remedy; without it as many as the ranks need.",
    ),
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write one self-contained page.")
]
Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="why[=FILE]",
        help="Draw shares and remedies; FILE (.png, .svg, .pdf) is why.png by default.",
    ),
]
MOST_FLOWS, MOST_REMEDIES = 10, 15


def command(
    scenario: options.Scenario,
    flow: Flow = None,
    budget: Budget = None,
    replications: Draws = None,
    as_json: options.AsJson = False,
    html: Html = None,
    plot: Plot = None,
    settings: options.Settings = None,
    seed: options.Seed = None,
    no_code: options.NoCode = False,
    files_anywhere: options.FilesAnywhere = False,
    threads: options.Threads = None,
) -> None:
    """Say what limits a flow, and try what would make it faster.

    \b
    Examples:
      retx why scenario.toml
      retx why scenario.toml --html why.html
      retx why scenario.toml --flow download --budget "30 s"
      retx why scenario.toml --replications 20 --json
    """
    from retx.explaining.why import why

    picture = _picture(plot)
    overrides = overrides_of(settings or [])
    check_places(scenario, [html, picture], overrides=overrides)
    answer = why(
        scenario,
        flow=flow,
        budget=budget,
        replications=replications,
        seed=seed,
        overrides=overrides,
        threads=threads,
    )
    if html:
        answer.save(html)
    if picture:
        from retx.directory import new_file

        with new_file(picture) as target:
            answer.plot.save(target)
    if as_json:
        print_json(answer.content)
    else:
        _print(answer, [path for path in (html, picture) if path])


def _picture(word: str | None) -> Path | None:
    """The file that `--plot why[=FILE]` names."""
    if word is None:
        return None
    kind, equals, name = word.partition("=")
    if kind != "why" or (equals and not name):
        raise UsageError(f"--plot {word}: write why, or why=FILE; other plots are of `retx run`")
    path = Path(name or "why.png")
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UsageError(f"--plot {word}: the file must end in .png, .svg, .pdf")
    return path


def _print(answer: Answer, written: Sequence[Path]) -> None:
    from rich.markup import escape

    from retx.cli.console import console
    from retx.cli.tables import plain, table
    from retx.explaining.wording import factor, interval, limits_line, price

    out, content = console(), answer.content
    title = content["title"] or "A scenario without a title"
    out.print(f"[bold]{plain(title)}[/bold] (seed {content['seed']})\n")
    for flow in answer.flows[:MOST_FLOWS]:
        out.print(f"{plain(flow['name'])}: {limits_line(flow)}.")
    if len(answer.flows) > MOST_FLOWS:
        out.print(f"and {len(answer.flows) - MOST_FLOWS} more: see --json")
    made = table(
        f"\nWhat would change for {plain(answer.flow)}, in {content['measure']}",
        "Change", ">gain", ">95 % interval", "price",
    )  # fmt: skip

    def add(row: Mapping[str, Any], name: str) -> None:
        mark = "" if row.get("in_linux", True) else " (in no kernel)"
        paid = price(row) if "price" in row else ""
        made.add_row(escape(name) + mark, factor(row["gain"]), interval(row), paid)

    for row in answer.remedies[:MOST_REMEDIES]:
        add(row, row["text"])
    for title, rows in (("Together", answer.combinations), ("Bounds", content["bounds"])):
        if rows:
            made.add_section()
            made.add_row(f"[bold]{title}[/bold]")
        for row in rows:
            add(row, row["text"])
    if answer.remedies:
        out.print(made)
    _print_rest(answer, out)
    for path in written:
        out.print(f"Written: {plain(str(path))}", soft_wrap=True)


def _print_rest(answer: Answer, out: Any) -> None:  # noqa: ANN401
    from retx.cli.tables import plain
    from retx.quantities import seconds

    content = answer.content
    hidden = len(answer.remedies) - MOST_REMEDIES
    if hidden > 0:
        out.print(f"and {hidden} more with less gain: see --json or --html")
    stop = content["stopped"]
    out.print(f"{stop['runs']} runs in {seconds(stop['took_s'])}; ended as {plain(stop['text'])}.")
    names = ", ".join(item["name"] for item in content["left_out"])
    if names:
        out.print(
            f"Left out, as there is nothing for them to mend (--json says why): {plain(names)}."
        )
    out.print(f"\n{plain(answer.summary)}")
