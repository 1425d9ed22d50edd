"""Figure 4, which figures.toml cannot say."""

from __future__ import annotations

from retx.plots import style
from retx.study import Measured

COLOURS = {"reno": style.BLUE, "vegas": style.GREEN, "veno": style.RED}
LABELS = {"reno": "Reno", "vegas": "Vegas", "veno": "Veno"}


def chart(measured: Measured) -> style.Figure:
    """The paper's temporal chart: imposed losses and delays, and the resulting goodput."""
    figure = style.Figure(figsize=(5.2, 4.6), layout="constrained")
    upper, middle, lower = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1, 2))
    seconds = list(range(0, 10_800, 10))
    upper.step(seconds, [it // 10 % 100 for it in seconds], where="post", color=style.BLACK, lw=0.7)
    middle.step(seconds, [it // 1000 for it in seconds], where="post", color=style.BLACK)
    for tcp in LABELS:
        samples = measured.at(f"chart/{tcp} @ reorder=false").run().samples.sort("time_s")
        rate = samples["ack_bytes"].diff() * 8 / samples["time_s"].diff() / 1e3
        # Means over a minute: those over ten seconds fluctuate too much.
        smooth = rate.rolling_mean(6, min_samples=1)
        lower.plot(samples["time_s"], smooth, color=COLOURS[tcp], lw=0.8, label=LABELS[tcp])
    upper.set_ylabel("delayed (%)")
    middle.set_ylabel("loss (%)")
    lower.set_ylabel("acknowledged (kbit/s)")
    lower.set_yscale("log")
    lower.set_ylim(1, 6000)
    lower.set_xlabel("time (s)")
    lower.set_xlim(0, 10_800)
    figure.legend(*lower.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return figure
