"""Figures of the study."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import chndtr

from retx.plots import style
from retx.study import Figure, Measured, new_figure

from .quantities import quantities
from .tables import tables
from .values import IDLE_MAX, calibration, held_out, values

__all__ = ["calibration", "figures", "held_out", "quantities", "tables", "values"]

COLOURS = {"keep": style.RED, "reset": style.BLUE, "linux": style.GREEN}


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures that figures.toml cannot say."""
    with style.styled():
        yield _ladder(measured, "keep", "ladder_keep", 61.09)
        yield _ladder(measured, "reset_on_ack", "ladder_reset", 6.85)
        yield _noise(measured)
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
        share = np.diff(chndtr(2 * (1 + k) * power / mean, 2, 2 * k)) / step
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
    axes.set_ylabel("share of transfers with\na longer silence")
    axes.legend(loc="lower left")
    return Figure(
        "silences",
        figure,
        "Longest silences on the channel of test 2; dashed lines: those of the paper's tests 2 "
        "and 4. The maximum RTO of that Linux is 120 s.",
        "Distribution of the longest silence for three policies.",
    )
