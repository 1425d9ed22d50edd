"""HTML page that shows an answer, without references to other files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import log
from typing import TYPE_CHECKING, Any

from retx.analysis.limits import PHRASES, per_cent, ranked, shares
from retx.explaining.wording import factor, interval, limits_line, price
from retx.plots.flows import PlotError
from retx.scenarios.source import toml_value
from retx.terminal.quantities import rate, seconds

if TYPE_CHECKING:
    from retx.explaining.answer import Answer
    from retx.plots.report import Figure
    from retx.results.result import Result

MOST_FLOWS = 20
MOST_SHOWN = 10
"""Number of remedies that are shown before the reader unfolds the rest."""
LONG_RUN_SEGMENTS = 300_000
"""Maximum length of a run with a ladder diagram, in segments. A longer run does not record the
fates of segments."""
EDGE = 0.08
"""Space at each edge of the axis, relative to the rest, in which a label of a tick has room."""
LEAST_SHARE = 0.001
PATTERNS = {"": "", "////": "striped", "xxxx": "crossed", "....": "dotted"}
"""CSS class for each hatch of `--plot why`."""


def page(answer: Answer) -> str:
    """Page as HTML, which needs no other file and no network."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from jinja2.loaders import ChoiceLoader

    environment = Environment(
        loader=ChoiceLoader([PackageLoader("retx.explaining"), PackageLoader("retx.plots")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "factor": factor,
        "interval": interval,
        "price": price,
        "limits": limits_line,
        "rate": rate,
        "seconds": seconds,
        "toml": toml_value,
    }
    content = answer.content
    scale = scale_of(content)
    environment.filters["place"] = scale.place
    return environment.get_template("why.html").render(
        content=content,
        parts=_parts(content["limited_by"], content["flows"]),
        flows=content["flows"][:MOST_FLOWS],
        more_flows=max(0, len(content["flows"]) - MOST_FLOWS),
        ticks=scale.ticks,
        shown=MOST_SHOWN,
        figures=_figures(answer),
    )


def _parts(
    limited_by: Mapping[str, float], flows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Parts of the bar, in the colours of `--plot why`."""
    from retx.plots.limit_styles import colour_and_hatch

    found = []
    words = PHRASES | {key: it for flow in flows for key, it in flow["phrases"].items()}
    for key, share in ranked(shares(limited_by)):
        if share < LEAST_SHARE:
            continue
        colour, hatch = colour_and_hatch(key)
        found.append(
            {
                "width": f"{100 * share:.2f}",
                "colour": colour,
                "pattern": PATTERNS[hatch],
                "share": per_cent(share),
                "phrase": words.get(key, key),
                "seconds": seconds(limited_by[key]),
            }
        )
    return found


def scale_of(content: Mapping[str, Any]) -> Scale:
    """Axis for the rows that are shown before the reader unfolds the rest."""
    shown = content["remedies"][:MOST_SHOWN]
    fewer = [row for bound in content["bounds"] for row in bound["in_fewer_draws"]]
    return Scale([*shown, *content["combinations"], *content["bounds"], *fewer])


class Scale:
    """A logarithmic axis for gains, from 0 to 100 per cent of its width.

    Gains beyond the rows of the scale are at its edges.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        values = [
            row[key]
            for row in rows
            for key in ("gain", "gain_low", "gain_high")
            if row[key] and row[key] > 0
        ]
        low, high = min([0.8, *(max(value, 0.1) for value in values)]), max([1.25, *values])
        edge = (high / low) ** EDGE
        self._low, self._high = low / edge, high * edge
        self._span = low, high

    def place(self, value: float) -> str:
        """Position of a gain on the axis, in per cent of the width."""
        bounded = min(max(value, self._low), self._high)
        return f"{100 * log(bounded / self._low) / log(self._high / self._low):.2f}"

    @property
    def ticks(self) -> list[float]:
        """Gains to be labelled along the axis, about five."""
        candidates = [m * 10**e for e in range(-1, 5) for m in (1, 2, 5)]
        inside = [value for value in candidates if self._span[0] <= value <= self._span[1]]
        return inside if len(inside) <= 6 else [it for it in inside if f"{it:g}"[0] == "1"]


def _figures(answer: Answer) -> list[Figure]:
    """Figures of the run with draw 0: the congestion window over time, and the longest episode."""
    from retx.plots.limits_over_time import limits_over_time
    from retx.plots.report import Figure

    result = answer.detailed(LONG_RUN_SEGMENTS)
    flow = str(result.flows["name"][0]) if len(answer.flows) == 1 else answer.first_connection
    found = []
    words: dict[str, str] = next(
        (row["phrases"] for row in answer.flows if row["name"] == flow), {}
    )
    with suppress(PlotError):
        drawn = limits_over_time(
            result.samples, result.limits, result.tables.get("episodes"), phrases=words, flow=flow
        )
        found.append(
            Figure(
                "window",
                drawn,
                f"Congestion window of {flow} in the first draw. The band below it shows what "
                "limited the flow at each moment, in the colours of the bar above; the marks "
                "along the top are recoveries, coloured by their true cause.",
                f"Congestion window of {flow} against time, above a band of its limits",
            )
        )
    ladder = _ladder(result, flow)
    if ladder:
        found.append(ladder)
    return found


def _ladder(result: Result, flow: str) -> Figure | None:
    """Ladder diagram of the longest episode and its surroundings."""
    import polars as pl

    from retx.plots.report import Figure

    if "segments" not in result.tables:
        return None
    mine = result.episodes.filter(pl.col("flow").cast(pl.String) == flow)
    ended = mine.filter(pl.col("end_s").is_not_null())
    if ended.is_empty():
        return None
    row = ended.row(int((ended["end_s"] - ended["start_s"]).arg_max() or 0), named=True)
    kind = {"fast_retransmit": "fast recovery", "rto": "recovery after a timeout"}[row["kind"]]
    length = row["end_s"] - row["start_s"]
    for before, after in ((0.3, 0.2), (0.1, 0.0), (0.02, -0.5), (0.0, -0.8), (0.0, -0.95)):
        with suppress(PlotError):
            drawn = result.plot.ladder(
                row["start_s"] - before * length,
                row["end_s"] + after * length,
                flow=flow,
                shorten=True,
            )
            return Figure(
                "episode",
                drawn,
                f"The costliest episode: a {kind} of {seconds(length)} from "
                f"{row['start_s']:.4g} s on, whose true cause was {row['cause']}.",
                "Packets between sender and receiver during the costliest episode",
            )
    return None
