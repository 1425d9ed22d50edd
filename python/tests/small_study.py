"""A study of a second, for tests of what holds for any."""

from __future__ import annotations

import re
from pathlib import Path

from sweeping import SCENARIO

STUDY = """
title = "A small study"

[paper]
title = "A paper"
authors = "Its authors"
reference = "Its journal"

[experiment.plain]
title = "Two TCPs"
scenario = "s.toml"
quantity = "flow.download.response_time_s"
replications = { quick = 6, full = 12 }
reference = "reno"
case = [
    { name = "reno", label = "Reno" },
    { name = "cubic", label = "CUBIC", set = { "flow.download.tcp" = "cubic" } },
    { name = "fast", label = "faster", random = false, set = { "link.cloud.rate" = "99 Mbit/s" } },
]

[experiment.surface]
title = "Two TCPs over loss and delay"
scenario = "s.toml"
quantity = "flow.download.goodput_bit_s"
replications = { quick = 3, full = 5 }
cases_of = "plain"
tables = ["episodes"]
derive_from = ["segments"]

[experiment.surface.grid]
"link.cloud.forward.channel.p" = { from = 1e-3, to = 0.1, steps = 3, scale = "log" }
link.cloud.delay = ["5 ms", "50 ms"]
"""

FIGURES = """
from retx.study.estimates import paired_ratio


def ratio(measured):
    return paired_ratio(*(measured.at(f"plain/{it}").values() for it in ("cubic", "reno")))
"""

VALUES = """
[[values]]
is.ratio = { python = "figures.ratio" }
is.resent = { mean = "surface/cubic @ p=0.01, delay=50 ms", of = "resent" }
"""

BODY = """
{% extends "base.html" %}{% block body %}{{ v.ratio | estimate }}{% endblock %}
"""

QUANTITIES = """
def quantities(run):
    try:
        segments = run.segments
    except LookupError:
        return {}
    return {"resent": int(segments["retransmission"].sum()), "never": None}
"""


def write_study(home: Path) -> Path:
    """Writes its files into a new folder."""
    home.mkdir(parents=True)
    files = {
        "s.toml": SCENARIO,
        "study.toml": STUDY,
        "figures.py": FIGURES,
        "values.toml": VALUES,
        "quantities.py": QUANTITIES,
        "published.toml": "",
        "claims.toml": "",
        "body.html": BODY,
    }
    for name, text in files.items():
        (home / name).write_text(text)
    return home


def write_guide(home: Path) -> Path:
    """Writes the files that docs/how-to/write-a-study.md prints into a new folder."""
    guide = (Path(__file__).parents[2] / "docs/how-to/write-a-study.md").read_text()
    blocks = re.findall(r"```(?:toml|python|jinja)\n(.*?)```", guide, re.DOTALL)
    files = (
        "download.toml", "study.toml", "quantities.toml", "published.toml", "claims.toml",
        "values.toml", "tables.toml", "figures.toml", "figures.py", "body.html",
    )  # fmt: skip
    home.mkdir(parents=True)
    for file, block in zip(files, blocks, strict=True):
        (home / file).write_text(block)
    return home
