"""`retx why`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from retx.cli import options
from retx.cli.opened import opened_files
from retx.cli.parameters import Option
from retx.cli.run import overrides_of, print_json
from retx.errors import UsageError
from retx.errors.meant import meant
from retx.scenarios.places import check_places

if TYPE_CHECKING:
    from retx.cli.tables import Table
    from retx.explaining.answer import Answer

Flow = Annotated[
    str | None,
    Option(metavar="NAME", help="Try remedies for this flow. Default: the first TCP flow."),
]
Budget = Annotated[
    str | None,
    Option(
        metavar="TIME",
        help='Time for trying remedies, such as "10 s". Default: no time limit, but a limit '
        "of seven million simulated packets.",
    ),
]
Draws = Annotated[
    int | None,
    Option(
        "--replications",
        metavar="N",
        min=1,
        help="Number of draws for each remedy, or fewer if --budget is spent. Default: as many as "
        "the ranking needs.",
    ),
]
Html = Annotated[
    Path | None, Option("--html", metavar="FILE", help="Write one self-contained HTML page.")
]
Plot = Annotated[
    str | None,
    Option(
        "--plot",
        metavar="why[=FILE]",
        help="Draw what limits the flow, and the gains of remedies; FILE (.png, .svg, .pdf) is "
        "why.png by default.",
    ),
]
MOST_FLOWS = 10


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
    with opened_files([html, picture]) as files:
        answer = why(
            scenario,
            flow=flow,
            budget=budget,
            replications=replications,
            seed=seed,
            overrides=overrides,
            threads=threads,
        )
        files.write(html, answer.write_page)
        files.write(picture, lambda path: answer.plot.save(path))
    if as_json:
        print_json(answer.content)
    else:
        _print(answer, files.written)
    files.raise_faults()


def _picture(word: str | None) -> Path | None:
    """The file that `--plot why[=FILE]` names."""
    if word is None:
        return None
    kind, equals, name = word.partition("=")
    if kind != "why" or (equals and not name):
        near = meant(kind, ["why"])
        raise UsageError(
            f"--plot {word}: write why, or why=FILE; `retx run` draws the other plots{near}"
        )
    path = Path(name or "why.png")
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UsageError(f"--plot {word}: the file must end in .png, .svg, .pdf")
    return path


def _print(answer: Answer, written: Sequence[Path]) -> None:
    from retx.cli.console import console
    from retx.cli.tables import plain
    from retx.explaining.wording import limits_line

    out, content = console(), answer.content
    title = content["title"] or "A scenario without a title"
    out.print(f"[bold]{plain(title)}[/bold] (seed {content['seed']})\n")
    for flow in answer.flows[:MOST_FLOWS]:
        out.print(f"{plain(flow['name'])}: {limits_line(flow)}.")
    if len(answer.flows) > MOST_FLOWS:
        out.print(f"and {len(answer.flows) - MOST_FLOWS} more: see --json")
    if answer.remedies:
        out.print(_table(answer))
        if len({row["draws"] for row in answer.content["remedies"] if row["draws"]}) > 1:
            out.print(
                "Each gain is over the unchanged flow in the draws of its own row; the order "
                "compares rows in the draws that they share."
            )
    _print_rest(answer, out)
    for path in written:
        out.print(f"Written: {plain(str(path))}", soft_wrap=True)


def _table(answer: Answer) -> Table:
    """Table of the remedies that help, of their combinations, and of the bounds on the gain."""
    from retx.analysis.remedies import shown
    from retx.cli.tables import Table, plain
    from retx.explaining.wording import factor, interval, price
    from retx.terminal.quantities import count, rate, seconds

    content = answer.content
    answers = content["measure"] == "response time"
    made = Table(
        f"\nWhat would make {plain(answer.flow)} faster",
        "Change", f">{content['measure']}", ">gain", ">95 % interval", ">draws", "price",
    )  # fmt: skip

    def add(row: Mapping[str, Any], *, rated: bool = True) -> None:
        measured = seconds(row["response_s"]) if answers else rate(row["goodput_bit_s"])
        measured = measured if rated else ""
        paid = price(row) if "price" in row else ""
        draws = str(row["draws"] or "")
        gained = (factor(row["gain"]), interval(row), draws)
        made.add_row(plain(row["text"]), measured, *gained, paid)

    found = shown(content)
    sections = (
        ("", found.usable),
        ("In no kernel", found.others),
        ("Together", found.combined),
        ("Bounds", content["bounds"]),
    )
    for title, rows in sections:
        if title and rows:
            made.add_section()
            made.add_row(f"[bold]{title}[/bold]")
        for row in rows:
            add(row)
            if row.get("limit_alone"):
                packets = count(row["limit_alone"]["packets"])
                text = f"the same limit, {packets} packets, without early drops"
                add({**row, **row["limit_alone"], "text": text}, rated=False)
            for fewer in row.get("in_fewer_draws", ()):
                add({**row, **fewer, "text": f"the same in {_draws(fewer['draws'])}"}, rated=False)
    return made


def _draws(number: int) -> str:
    return "the first draw alone" if number == 1 else f"{number} draws alone"


def _print_rest(answer: Answer, out: Any) -> None:  # noqa: ANN401
    from retx.analysis.remedies import shown
    from retx.cli.tables import plain
    from retx.explaining.wording import factor
    from retx.terminal.quantities import seconds

    content = answer.content
    names = {row["name"] for row in shown(content).rows}
    hidden = [row["name"] for row in answer.remedies if row["name"] not in names]
    if hidden:
        out.print(f"Tried, and less or no gain: {plain(', '.join(hidden))}.")
    if content["behind"]:
        part = " to ".join(seconds(content["behind"][0][key]) for key in ("start_s", "end_s"))
        alone = ", ".join(f"{row['name']} {factor(row['gain'])}" for row in content["behind"])
        out.print(f"In short runs alone, from {part}: {plain(alone)}.")
    stop = content["stopped"]
    runs = f"{stop['runs']} run{'' if stop['runs'] == 1 else 's'}"
    out.print(f"{runs} in {seconds(stop['took_s'])}; ended as {plain(stop['text'])}.")
    if content["left_out"]:
        out.print(
            f"Left out, as there is nothing for them to mend: {len(content['left_out'])} more "
            "(--json says which, and why)."
        )
    out.print(f"\n{plain(answer.summary)}")
