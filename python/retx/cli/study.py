"""`retx study`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from retx.cli.parameters import Argument, Option
from retx.errors import UsageError
from retx.terminal.streams import echo

EVERY = "all"

Name = Annotated[
    str | None,
    Argument(
        metavar="NAME",
        help="A study of `retx list study`, its folder, or `all`.",
        show_default=False,
        completion="retx.cli.completion:studies",
    ),
]
Quick = Annotated[
    bool, Option("--quick", help="Fewer replications: under two minutes, without emulations.")
]
Full = Annotated[bool, Option("--full", help="All replications (the default).")]
Out = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="Directory of the report, or of the reports of `all`; an earlier report is replaced. "
        "Default: out/NAME.",
    ),
]
Seed = Annotated[int, Option(metavar="N", help="Seed of all runs.")]
Replications = Annotated[
    int | None,
    Option(
        metavar="N", min=2, help="Number of draws of each random case. Default: that of the form."
    ),
]
Threads = Annotated[int | None, Option(metavar="N", min=1, help="Use N cores instead of all.")]
Emulations = Annotated[
    int | None,
    Option(
        metavar="N",
        help="Number of emulations of each case that the study emulates: 0, or at least 2; by "
        "default that of the form. They take real time.",
    ),
]
Calibrate = Annotated[
    bool,
    Option(
        "--calibrate",
        help="Search the open parameters (open.toml) together instead of writing a report.",
    ),
]
Freeze = Annotated[
    int | None,
    Option(metavar="TRIAL", help="Write the set-up of a trial to base.toml, and write front.csv."),
]
SetUp = Annotated[
    str | None,
    Option(
        metavar="default|base|TRIAL",
        help="Set-up of all runs. Default: base.toml if the study has one.",
    ),
]
Listing = Annotated[bool, Option("--list", help="List the studies.")]


def command(
    name: Name = None,
    quick: Quick = False,
    full: Full = False,
    out: Out = None,
    seed: Seed = 1,
    replications: Replications = None,
    threads: Threads = None,
    emulations: Emulations = None,
    calibrate: Calibrate = False,
    freeze: Freeze = None,
    set_up: SetUp = None,
    listing: Listing = False,
) -> None:
    """Reproduce a published paper: published and measured results side by side, in one HTML report.

    \b
    Examples:
      retx study --list
      retx study high-ber --quick
      retx study my-study --calibrate --quick
    """
    if listing:
        _print_names()
        return
    if name is None:
        raise UsageError("name a study: `retx study --list` shows them")
    if quick and full:
        raise UsageError("--quick and --full exclude each other")
    if emulations is not None and emulations != 0 and emulations < 2:
        raise UsageError(f"--emulations {emulations}: use 0 for none, or at least 2")
    from retx.cli.resuming import print_resume_hint
    from retx.cli.study_output import print_index, print_report
    from retx.study.emulated import Emulator
    from retx.study.index import check_index, write_index
    from retx.study.library import load
    from retx.study.reproduction import begin, finish
    from retx.study.runs import RUNS, Plan
    from retx.study.set_up import at_set_up
    from retx.study.shipped import names

    every = name == EVERY
    form = "quick" if quick else "full"
    if calibrate or freeze is not None:
        if every or (calibrate and freeze is not None):
            raise UsageError("--calibrate and --freeze take one study, and exclude each other")
        _calibrate(name, form, seed, out, threads, freeze)
        return
    plan = Plan("quick" if quick else "full", seed, replications, threads, emulations)
    place = out or Path("out")
    if every:
        check_index(place)
    reports = []
    with Emulator() as emulator:
        # All studies are read before the first is run, so that an invalid file is reported at once.
        # All emulations begin now, and end while the first studies are simulated.
        begun = {}
        for study in [load(one) for one in (names() if every else [name])]:
            home = place if out and not every else place / study.name
            begun[home] = begin(at_set_up(study, set_up, plan, home), plan, home, emulator)
        for home, measured in begun.items():
            try:
                reports.append(finish(measured))
            except KeyboardInterrupt:
                print_resume_hint(home.resolve() / RUNS)
                raise
            print_report(reports[-1])
    if every:
        print_index(write_index(place, reports))


def _calibrate(
    name: str, form: str, seed: int, out: Path | None, threads: int | None, freeze: int | None
) -> None:
    from retx.study.calibration import Search
    from retx.study.library import load
    from retx.study.trials import Trial

    study = load(name)
    search = Search.of(study, form, seed, out or Path("out") / study.name, threads)
    if freeze is not None:

        def look(found: Trial) -> None:
            echo(f"{found.kind or 'the set-up'}: {len(found.agreeing)} claims agree")

        echo(f"Set-up of trial {freeze}: {search.freeze(freeze, look)}")
        return

    def show(trial: Trial) -> None:
        bends = ", ".join(f"{it} = {trial.values[it]}" for it in trial.bent) or "default"
        agree = f"{len(trial.agreeing)} of {len(trial.scores)} agree"
        echo(f"trial {trial.number} ({trial.kind}): {agree}; {bends}")

    try:
        trials = search.run(show)
    except KeyboardInterrupt:
        echo(f"{len(search.trials())} trials are kept; the same command goes on.", err=True)
        raise
    for sentence in search.summary(trials):
        echo(sentence)


def _print_names() -> None:
    from retx.study import describe

    for entry in describe():
        echo(f"{entry['name']}: {entry['summary']}")
