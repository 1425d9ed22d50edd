"""Drawings that figures.toml cannot say: ladders, the paper's figure 1, and silences."""

from __future__ import annotations

import numpy as np
from scipy.special import chndtr

from retx.plots import style
from retx.study import Measured, new_figure

COLOURS = {"keep": style.RED, "reset": style.BLUE, "linux": style.GREEN}


def ladder(measured: Measured, case: str, end: str) -> style.Figure:
    """The paper's figure 2, from the exchange to a time in seconds."""
    drawn = measured.at(f"table_2/{case}").run().plot.ladder(0.16, float(end), shorten=True)
    drawn.set_size_inches(5.6, 7.6)
    return drawn


def noise(measured: Measured) -> style.Figure:
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
    return figure


def silences(measured: Measured) -> style.Figure:
    """Distribution of the longest silence of a transfer."""
    figure, axes = new_figure()
    for policy in measured.study.declared.lists.items("policies")[:3]:
        found = measured.at(f"policies/2 {policy.key}").values("flow.file.idle_max_s")
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
    return figure
