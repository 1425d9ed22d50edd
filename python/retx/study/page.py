"""Writes the page of a report: texts with measured values, tables, figures and verdicts."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from math import floor, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.loaders import BaseLoader, ChoiceLoader, PackageLoader
from markupsafe import Markup, escape

import retx
from retx.plots.report import Figure
from retx.study.chance import chance_of
from retx.study.data import StudyError
from retx.study.estimates import Estimate, Interval
from retx.study.measured import Measured
from retx.study.overview import overview
from retx.study.points import Points
from retx.study.shipped import names
from retx.study.tables import Column, Noted, Table
from retx.study.texts import Names, check, rendered
from retx.study.verdicts import Doubt, Tally, Verdict

if TYPE_CHECKING:
    from retx.study.reproduction import Report

BODY = "body.html"
PAGE_NAMES = (
    "study", "plan", "tables", "rows", "claims", "figures", "resolved", "assumptions", "tally",
    "held_out", "places", "verdicts", "chance", "versions",
)  # fmt: skip
"""Variables of the page."""
NARROW = "\u202f"
SIGNIFICANT = 4
LARGE = 1e9
MANY_RUNS = 1_000_000
SHORT = 12
"""Length of a note in a cell that is not broken into lines."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

MARKS = {
    Verdict.AGREES: ("agrees", "✓"),
    Verdict.UNSETTLED: ("unsettled", "~"),
    Verdict.DIFFERS: ("differs", "≠"),
    Verdict.CONTRADICTS: ("contradicts", "⚡"),
    Verdict.UNDECIDED: ("undecided", "?"),
}
"""Class in the style sheet, and a sign that is clear without colours."""


def environment(*folders: BaseLoader) -> Environment:
    """Environment of Jinja with the templates of retx, after those of some folders."""
    own = [PackageLoader("retx.study"), PackageLoader("retx.plots")]
    made = Environment(
        loader=ChoiceLoader([*folders, *own]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["verdict"] = verdict_mark
    return made


class Writer:
    """Renders the texts of one study with the measured values."""

    def __init__(self, measured: Measured, values: Mapping[str, Estimate | Points]) -> None:
        self._measured = measured
        self._environment = environment(FileSystemLoader(measured.study.folder))
        self._environment.filters |= {
            "number": number,
            "plain": plain,
            "interval": interval,
            "estimate": estimate_text,
            "cell": cell,
            "percent": percent,
            "doubt": doubt_text,
            "text_columns": text_columns,
            "headings": headings,
            "unbroken": unbroken,
        }
        self._environment.globals |= {
            "v": values,
            "measured": measured,
            "published": measured.study.published.series,
            "paper": measured.study.published.numbers,
        }

    def check(self, known: Names, texts: Iterable[tuple[str, str]]) -> None:
        """Checks the page and the short texts of the study, before any run.

        Args:
            known: Names of the page's variables, as far as they are known then.
            texts: Short texts, each after its file and key.

        Raises:
            StudyError: A text is no template, or a name or filter in it is unknown.
        """
        page = self._measured.study.folder / BODY
        if not page.is_file():
            raise StudyError(f"{page}: a study needs this file")
        names = dict.fromkeys(PAGE_NAMES) | dict(known)
        check(self._environment, page.read_text(encoding="utf-8"), str(page), names)
        for where, template in texts:
            check(self._environment, template, where, {"v": known["v"]})

    def text(self, template: str, where: str) -> str:
        """A short text of the study, as HTML.

        Raises:
            StudyError: The text is wrong; `where` is its file and key.
        """
        made = self._environment.from_string
        return Markup(rendered(lambda: made(template.strip()).render(), where))

    def page(self, report: Report, figures: Mapping[str, Figure]) -> str:
        """The whole page."""
        study = report.study
        resolved = {
            name: _resolved_toml(study.folder / name, report.plan.seed)
            for name in study.scenarios()
        }
        everything = report.everything
        texts = str(study.folder / "study.toml")
        given: dict[str, Any] = {
            "study": study,
            "plan": report.plan,
            "tables": report.tables,
            "rows": report.rows,
            "claims": report.claims,
            "figures": figures,
            "resolved": resolved,
            "assumptions": [
                (item, self.text(item.effect, f"{texts}: assumption: {item.parameter}: effect"))
                for item in study.assumptions
            ],
            "tally": report.tally,
            "held_out": Tally.of(line for line in everything if line.claim.use == "held out"),
            "places": overview(everything, names(), figures.values(), report.tables.values()),
            "verdicts": Verdict,
            "chance": chance_of(everything),
            "versions": _versions(),
        }
        page = str(study.folder / BODY)
        return rendered(
            lambda: self._environment.get_template(BODY).render(**given), page, file=page
        )


def _resolved_toml(scenario: Path, seed: int) -> str:
    """A scenario with every value written out."""
    return retx.run(scenario, seed=seed, segments=False, progress=False).scenario_toml()


def _versions() -> dict[str, str]:
    found = {"retx": retx.__version__, "Python": platform.python_version()}
    for name in ("numpy", "polars", "scipy", "matplotlib", "jinja2"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def number(value: float | None, digits: int | None = None) -> str:
    """A number with the given decimals, or with four significant digits, in groups of thousands."""
    if value is None or not isfinite(value):
        return "–"
    if digits is None:
        if float(value).is_integer() and abs(value) < LARGE:
            digits = 0
        else:
            magnitude = floor(log10(abs(value)))
            if not -SIGNIFICANT < magnitude < log10(LARGE):
                return _scientific(f"{value:.{SIGNIFICANT - 1}e}")
            digits = max(0, SIGNIFICANT - 1 - magnitude)
    return f"{value:,.{digits}f}".replace(",", NARROW).replace("-", "−")


def plain(value: float) -> str:
    """Text of a number with its original digits, such as a number of the paper."""
    text = f"{value:.10g}"
    if "e" in text:
        return _scientific(text)
    whole, point, decimals = text.partition(".")
    return f"{int(whole):,}".replace(",", NARROW).replace("-", "−") + point + decimals


def _scientific(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    power = str(int(exponent)).translate(SUPERSCRIPT)
    return f"{mantissa} × 10{power}".replace("-", "−")


def percent(value: float | Estimate, digits: int = 1) -> str:
    """A fraction as a percentage."""
    share = value.mean if isinstance(value, Estimate) else value
    return f"{number(100 * share, digits)}{NARROW}%"


def interval(value: Interval | None, digits: int | None = None) -> str:
    """Text of an interval: both ends; empty if there is none."""
    if value is None:
        return ""
    return f"{number(value.low, digits)}\u00a0… {number(value.high, digits)}"


def estimate_text(value: Estimate, unit: str = "", digits: int | None = None) -> str:
    """A mean with its interval, in a line of text."""
    digits = _decimals(value, digits)
    tail = f"{NARROW}{unit}" if unit else ""
    if value.interval is None or value.interval.low == value.interval.high:
        return f"{number(value.mean, digits)}{tail}"
    return f"{number(value.mean, digits)}{tail} ({interval(value.interval, digits)})"


def _decimals(value: Estimate, digits: int | None) -> int | None:
    """Number of decimals that the interval's width justifies."""
    if digits is not None or value.interval is None:
        return digits
    width = value.interval.high - value.interval.low
    if not isfinite(width) or width <= 0:
        return None
    return max(0, 1 - floor(log10(width)))


def cell(value: Any, column: Column) -> Markup:  # noqa: ANN401
    """Content of a cell of a table."""
    if value is None:
        return Markup("–")
    if isinstance(value, Verdict):
        return verdict_mark(value)
    if isinstance(value, Estimate):
        return _estimate_cell(value, column.digits)
    if isinstance(value, Interval):
        return Markup('<span class="range">{}</span>').format(interval(value, column.digits))
    if isinstance(value, Noted):
        short = len(value.note) <= SHORT
        note = value.note.replace(" ", "\u00a0") if short else value.note
        return Markup('{}<span class="ci note">{}</span>').format(value.text, note)
    if isinstance(value, int | float):
        return escape(number(value, column.digits))
    return escape(value)


def _estimate_cell(value: Estimate, digits: int | None) -> Markup:
    digits = _decimals(value, digits)
    text = escape(number(value.mean, digits))
    if value.interval and value.interval.low < value.interval.high:
        text += Markup('<span class="ci">{}</span>').format(interval(value.interval, digits))
    if value.missing:
        text += Markup('<span class="ci">{} of {} runs did not end</span>').format(
            value.missing, value.missing + value.n
        )
    return text


def doubt_text(value: Doubt, runs: int) -> str:
    """Text on a verdict that more runs might change."""
    said = f"The interval reaches across {plain(value.bound)}: these {runs} runs do not settle it"
    if value.runs is None or value.runs >= MANY_RUNS:
        return f"{said}, and no affordable number would."
    # The estimated number of runs is rounded, because it is not known to more than two digits.
    digits = max(0, floor(log10(value.runs)) - 1)
    return f"{said}; about {number(round(value.runs, -digits))} would."


def verdict_mark(value: Verdict) -> Markup:
    """The verdict as a coloured mark with a text."""
    style, sign = MARKS[value]
    return Markup(
        '<span class="verdict {}"><b aria-hidden="true">{}</b> <span>{}</span></span>'
    ).format(style, sign, value.value)


def headings(page: str) -> list[tuple[str, Markup]]:
    """Anchor and heading of each section of a page, for its table of contents."""
    found = re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', page)
    return [(anchor, Markup(text)) for anchor, text in found]


def unbroken(command: str) -> Markup:
    """A command whose lines may break between words, but not after the hyphens of an option."""
    option = re.compile(r"(?<!\S)--[a-z-]+")
    return Markup(option.sub(r'<span class="option">\g<0></span>', str(escape(command))))


def text_columns(table: Table) -> set[str]:
    """Columns of a table that contain words, and are therefore left-aligned."""
    return {
        column.key
        for column in table.columns
        if not column.right
        and (cells := [it for row in table.rows if (it := row.get(column.key)) is not None])
        and all(isinstance(it, str | Noted | Verdict) for it in cells)
    }
