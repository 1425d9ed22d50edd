"""`retx fit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from retx.cli import options
from retx.cli.parameters import Argument, Option
from retx.cli.run import print_json
from retx.errors import UsageError
from retx.terminal.streams import echo

if TYPE_CHECKING:
    from retx.fitting.fit import Fit

Captures = Annotated[
    list[Path] | None,
    Argument(
        metavar="[A.pcapng [B.pcapng]]",
        help="A capture of a TCP flow, or two captures, one at each of its ends: pcap or pcapng, "
        "plain or compressed.",
        show_default=False,
    ),
]
Number = Annotated[
    int | None,
    Option(
        "--flow",
        metavar="N",
        min=1,
        help="Fit flow N of the list of retx diagnose. Default: the largest flow.",
    ),
]
WithCheck = Annotated[
    bool, Option("--check", help="Compare 30 simulations of the fit with the capture.")
]
Ping = Annotated[
    Path | None,
    Option(metavar="LOG", help="Log of ping -D (Linux), or of ping (BSD, macOS, Windows)."),
]
Iperf3 = Annotated[Path | None, Option("--iperf3", metavar="JSON", help="Report of iperf3 --json.")]
Trace = Annotated[
    Path | None,
    Option(
        metavar="CSV",
        help="Table of packets: time_s, lost or delay_s (or both); bytes is optional.",
    ),
]
Mahimahi = Annotated[Path | None, Option(metavar="FILE", help="Packet-delivery trace of Mahimahi.")]
Out = Annotated[
    Path | None, Option("--out", "-o", metavar="S.toml", help="File for the fitted scenario.")
]
Convert = Annotated[
    str | None,
    Option(
        "--convert",
        metavar="TEXT",
        help='Show a loss model, such as "loss gemodel 1% 10% 70% 0.1%", in the notations of '
        "scenarios, netem and ITU-T.",
    ),
]
Replay = Annotated[
    bool,
    Option("--replay", help="Replay losses and delays as recorded, instead of fitted models."),
]


def command(
    captures: Captures = None,
    flow: Number = None,
    with_check: WithCheck = False,
    ping: Ping = None,
    iperf3: Iperf3 = None,
    trace: Trace = None,
    mahimahi: Mahimahi = None,
    out: Out = None,
    replay: Replay = False,
    convert: Convert = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit a path to a capture or a measured series, and write a scenario that behaves like it.

    \b
    Examples:
      retx fit capture.pcapng -o path.toml && retx run path.toml
      retx fit capture.pcapng --flow 3 --check
      retx fit sender.pcapng receiver.pcapng --json
      ping -D -i 0.2 -c 3000 host > ping.log && retx fit --ping ping.log -o path.toml
      retx fit --iperf3 server.json
      retx fit --trace packets.csv --json
      retx fit --mahimahi cellular.down -o cellular.toml && retx run cellular.toml
      retx fit --convert "loss gemodel 1% 10% 70% 0.1%"
      retx fit --convert "loss=1% mean_burst=3"
    """
    from retx.fitting.fit import fit

    if convert is not None:
        if any((captures, flow, with_check, ping, iperf3, trace, mahimahi, out, replay)):
            raise UsageError("--convert takes no other input: leave the other options out")
        _convert(convert, as_json=as_json)
        return
    if replay and out is None and not with_check:
        raise UsageError("--replay changes the scenario: add -o S.toml")
    if out is not None and out.suffix != ".toml":
        raise UsageError(f"{out}: a scenario is a TOML file: choose a name that ends in .toml")
    if captures:
        if ping or iperf3 or trace or mahimahi:
            raise UsageError("a capture and a series describe different paths: name one of them")
        if len(captures) > 2:
            raise UsageError(f"{captures[2]}: at most two captures of a flow, one of each end")
        from retx.cli.fit_capture import fit_captures

        fit_captures(
            tuple(captures), flow, out, replay=replay, with_check=with_check, as_json=as_json
        )
        return
    if flow is not None or with_check:
        raise UsageError("--flow and --check are for captures: name one")
    found = fit(ping=ping, iperf3=iperf3, trace=trace, mahimahi=mahimahi)
    if out is not None:
        found.save(out, replay=replay)
    if as_json:
        print_json(found.content)
    elif out is not None:
        echo(f"{out} is written. Run it: retx run {out}")
    else:
        _print(found)


def _convert(text: str, *, as_json: bool) -> None:
    from retx.fitting.conversion import convert, lines

    found = convert(text)
    if as_json:
        print_json(found)
    else:
        echo("\n".join(lines(found)))


def _print(fit: Fit) -> None:
    from retx.cli.console import console
    from retx.cli.tables import plain
    from retx.fitting.wording import delay_lines, loss_lines, rate_lines

    out = console()
    out.print(f"[bold]{plain(fit.series.file)}[/bold] ({fit.series.kind})")
    for finding in fit.series.findings:
        out.print(f"  {plain(finding)}.")
    for line in [*loss_lines(fit), *delay_lines(fit), *rate_lines(fit)]:
        out.print(plain(line))
    if fit.losses is not None:
        _models(fit, out)
    out.print("\nThis kind of input cannot tell:")
    for item in fit.series.unknown:
        out.print(f"  - {plain(item)}")


def _models(fit: Fit, out: Any) -> None:  # noqa: ANN401
    from retx.cli.tables import Table, plain
    from retx.fitting.wording import estimate
    from retx.terminal.quantities import share

    assert fit.losses is not None
    least = min(model["bic"] for model in fit.losses.models)
    rows = Table("", "Model", ">BIC", ">loss", ">burst", "parameters")
    for model in fit.losses.models:
        burst = model["mean_burst"]
        rows.add_row(
            model["name"], f"+{model['bic'] - least:.1f}", share(model["mean_loss"]),
            "–" if burst is None else f"{burst:.3g}",
            plain(", ".join(estimate(it) for it in model["parameters"])),
        )  # fmt: skip
    out.print(rows)
    checks = Table("", "Test", "of", ">p", "finding")
    for test in fit.losses.content["tests"]:
        checks.add_row(test["name"], test["model"], f"{test['p_value']:.3f}", test["finding"])
    out.print(checks)
