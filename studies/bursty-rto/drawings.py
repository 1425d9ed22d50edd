"""Figures of the study."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import ncx2

from retx.plots import style
from retx.study import Figure, Measured, new_figure

from .values import IDLE_MAX, IDLE_TOTAL

COLOURS = {
    "keep": style.RED,
    "reset": style.BLUE,
    "linux": style.GREEN,
    "linux_reno": style.ORANGE,
}


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures in the order of the report."""
    with style.styled():
        yield _ladder(measured, "keep", "ladder_keep", 61.09)
        yield _ladder(measured, "reset_on_ack", "ladder_reset", 6.85)
        yield _noise(measured)
        yield _levels(measured)
        yield _lengths(measured)
        yield _progress(measured)
        yield _gains(measured)
        yield _silences(measured)


def _ladder(measured: Measured, case: str, name: str, end: float) -> Figure:
    """The paper's figure 2."""
    drawn = measured.run("table_2", case).plot.ladder(0.16, end, shorten=True)
    drawn.set_size_inches(5.6, 7.6)
    kept = case == "keep"
    waited = "57.86 s" if kept else "3.62 s"
    return Figure(
        name,
        drawn,
        f"The exchange of table II (the paper's figure 2), backoff {'kept' if kept else 'reset'}: "
        f"the last segment waits {waited}. Long times without packets are compressed.",
        f"Ladder diagram of segments and ACKs that ends in a silence of {waited}.",
    )


def _noise(measured: Measured) -> Figure:
    """The paper's figure 1: distribution of the signal-to-noise ratio."""
    figure, axes = new_figure(height=2.8)
    ratios_db = np.linspace(-5, 20, 501)
    step = ratios_db[1] - ratios_db[0]
    for test, colour in zip("12345", style.COLOURS, strict=False):
        fading = measured.study.experiments["fading"].overrides(test)["wlan.office.channel"][0]
        k, mean = fading["rician_k"], 10 ** (fading["mean_snr_db"] / 10)
        # Power of a direct path and scattered paths: noncentral chi-square with two degrees of
        # freedom.
        power = 10 ** (ratios_db / 10)
        share = np.diff(ncx2.cdf(2 * (1 + k) * power / mean, 2, 2 * k)) / step
        axes.plot(ratios_db[1:] - step / 2, share, color=colour, label=f"test {test}")
    axes.axvline(10, color=style.BLACK, lw=1, label="published: around 10 dB")
    axes.set_xlabel("signal-to-noise ratio (dB)")
    axes.set_ylabel("density (1/dB)")
    axes.set_xlim(0, 15)
    axes.set_ylim(bottom=0)
    figure.legend(loc="outside upper left", ncols=3)
    return Figure(
        "noise",
        figure,
        "Signal-to-noise ratios at which fading causes the frame errors of the paper. (The text "
        "does not describe the curve of the paper's figure 1.) The ratios themselves were not "
        "fitted.",
        "Density of the signal-to-noise ratio for five fitted fading channels, 7 to 10 dB.",
    )


def _levels(measured: Measured) -> Figure:
    """Throughput of the five tests, published and measured."""
    figure, axes = new_figure(height=3.2)
    places = np.arange(5)
    published = measured.study.published.series["throughput"].values
    kinds = (
        ("table_1", "bursts that wait", style.RED, -0.24),
        ("fading", "fading", style.BLUE, -0.1),
        ("outages", "outages", style.ORANGE, 0.1),
        ("rare", "fading, bad periods of 10 s", style.GREEN, 0.24),
    )
    for experiment, label, colour, aside in kinds:
        known = [it for it in "12345" if it in measured.study.experiments[experiment].cases]
        found = [measured.estimate(experiment, test, "throughput") for test in known]
        means = [it.mean for it in found if it]
        ranges = [it.single for it in found if it and it.single]
        spread = [
            [mean - it.low for mean, it in zip(means, ranges, strict=True)],
            [it.high - mean for mean, it in zip(means, ranges, strict=True)],
        ]
        at = np.array([int(test) - 1 for test in known]) + aside
        axes.errorbar(at, means, yerr=spread, fmt="o", color=colour, capsize=3, label=label)
    axes.plot(places, list(published.values()), "x", ms=8, color=style.BLACK, label="published")
    clean = measured.mean("table_1", "none", "throughput")
    axes.axhline(clean, color=style.GREY, lw=0.8, ls="--", label="no errors")
    axes.set_xticks(places, [f"test {test}" for test in "12345"])
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    figure.legend(loc="outside upper left", ncols=3, handlelength=1.4)
    return Figure(
        "levels",
        figure,
        "Throughput of the five tests (the paper's table I): the published run, and means with the "
        "range of 95 % of our single runs.",
        "Published and measured throughput of five tests; tests 2 and 4 differ widely.",
    )


def _lengths(measured: Measured) -> Figure:
    """Throughput, frame error rate and idle time by the length of bad periods."""
    figure = style.Figure(figsize=(5.2, 5.4), layout="constrained")
    upper, middle, lower = figure.subplots(3, 1, sharex=True)
    lengths = {"30 ms": 0.03, "100 ms": 0.1, "300 ms": 0.3, "1 s": 1.0, "3 s": 3.0}
    panels = (
        (upper, "throughput", "throughput\n(Mbit/s)"),
        (middle, "fer", "frame error rate"),
        (lower, IDLE_TOTAL, "total idle (s)"),
    )
    for axes, quantity, label in panels:
        for share, colour in (("0.1", style.BLUE), ("0.3", style.RED)):
            found = [
                measured.estimate("pauses", f"{share} {length}", quantity) for length in lengths
            ]
            known = [it for it in found if it]
            axes.errorbar(
                list(lengths.values()),
                [it.mean for it in known],
                yerr=[(it.bounds.high - it.bounds.low) / 2 for it in known],
                fmt="o-",
                color=colour,
                capsize=3,
                label=f"bad {float(share):.0%} of the time",
            )
        none = measured.mean("pauses", "none", quantity)
        axes.axhline(none, color=style.GREY, lw=0.8, ls="--", label="the fading alone")
        axes.set_ylabel(label)
    for axes, name in ((upper, "throughput"), (middle, "fer"), (lower, "idle_total")):
        value = measured.study.published.series[name].values["2"]
        axes.axhline(value, color=style.BLACK, lw=1, label="published")
    lower.set_yscale("log")
    lower.set_xscale("log")
    lower.set_xticks(list(lengths.values()), list(lengths))
    lower.minorticks_off()
    lower.set_xlabel("mean length of the bad periods")
    figure.legend(*upper.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return Figure(
        "lengths",
        figure,
        "Test 2 under fading with additional bad periods, in which no frame is delivered. The "
        "longer these are, the fewer frame errors they cause, because a silent sender sends no "
        "frames.",
        "Throughput, frame error rate and idle time against the length of bad periods.",
    )


def _progress(measured: Measured) -> Figure:
    """Data sent over time on one realisation of the channel."""
    figure, axes = new_figure()
    experiment = "policies"
    number = measured.typical(experiment, "2 keep")
    for policy in measured.study.declared.lists.items("policies")[:3]:
        result = measured.run(experiment, f"2 {policy.key}", number)
        sent = result.segments
        axes.plot(
            sent["sent_s"],
            sent["seq"] / 1e6,
            ".",
            ms=2,
            color=COLOURS[policy.key],
            label=policy.label,
        )
    axes.set_xlabel("time (s)")
    axes.set_ylabel("sequence number (MB)")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.legend(markerscale=4)
    return Figure(
        "progress",
        figure,
        "Segments sent in one run of test 2, whose throughput with the backoff kept is closest to"
        " the mean. Horizontal steps are silences.",
        "Sequence numbers against time for three policies.",
    )


def _gains(measured: Measured) -> Figure:
    """Throughput by policy and channel."""
    figure, axes = new_figure(height=3.4)
    labels = []
    width = 0.2
    lists = measured.study.declared.lists
    for place, at in enumerate(lists.scopes({"kind": "kinds", "test": "tests"})):
        kind, test = at["kind"], at["test"]
        labels.append(f"{kind.key}\ntest {test.key}")
        for number, policy in enumerate(lists.items("policies")):
            found = measured.estimate(kind.value, f"{test.key} {policy.key}", "throughput")
            assert found is not None
            axes.bar(
                place + (number - 1.5) * width,
                found.mean,
                width,
                yerr=(found.bounds.high - found.bounds.low) / 2,
                color=COLOURS[policy.key],
                error_kw={"capsize": 2, "lw": 0.8},
                label=policy.label if place == 0 else None,
            )
    axes.set_xticks(range(len(labels)), labels)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("throughput (Mbit/s)")
    figure.legend(loc="outside upper left", ncols=2)
    kinds = lists.items("kinds")
    listed = "; ".join(f"{it.key}: {it.label}" for it in kinds if it.key != it.label)
    return Figure(
        "gains",
        figure,
        f"Throughput of four policies; means with 95 % confidence intervals. {listed}.",
        "Throughput of four policies on four kinds of channel.",
    )


def _silences(measured: Measured) -> Figure:
    """Distribution of the longest silence of a transfer."""
    figure, axes = new_figure()
    for policy in measured.study.declared.lists.items("policies")[:3]:
        found = measured.values("policies", f"2 {policy.key}", IDLE_MAX)
        ordered = np.sort([value for value in found if value is not None])
        share = 1 - np.arange(len(ordered)) / len(ordered)
        axes.step(ordered, share, where="pre", color=COLOURS[policy.key], label=policy.label)
    published = measured.study.published.series["idle_max"].values
    for test in "24":
        axes.axvline(published[test], color=style.BLACK, lw=0.8, ls="--")
        axes.annotate(
            f"test {test}", (published[test], 1.0), fontsize=7, ha="right", va="top", rotation=90
        )
    axes.set_xscale("log")
    axes.set_xlabel("longest silence of a transfer (s)")
    axes.set_ylabel("share of transfers with a longer silence")
    axes.legend(loc="lower left")
    return Figure(
        "silences",
        figure,
        "Longest silences on the channel of test 2; dashed lines: those of the paper's tests 2 "
        "and 4. The maximum RTO of that Linux is 120 s.",
        "Distribution of the longest silence for three policies.",
    )
