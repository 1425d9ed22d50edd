"""Values, tables and quantities that a study declares in TOML."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log
from pathlib import Path
from statistics import fmean

import pytest
from small_study import write_study

import retx
from retx.study import Estimate, Measured, Plan, Points, load
from retx.study.arithmetic import arithmetic
from retx.study.data import StudyError
from retx.study.estimates import (
    Interval,
    as_share,
    bounded,
    estimate,
    of_means,
    paired,
    paired_ratio,
    quotients,
)
from retx.study.filled_tables import filled_tables
from retx.study.items import Scope
from retx.study.measures import Found, Measure, Measuring
from retx.study.verdicts import Doubt, doubt

PLACES = {
    "BOTH_X": '["surface/cubic @ p={x}, delay=50 ms", "surface/reno @ p={x}, delay=50 ms"]',
    "BOTH": '["surface/cubic @ p={p}, delay=50 ms", "surface/reno @ p={p}, delay=50 ms"]',
    "MUCH": '{ much = { short = "more" } }',
    "IN_GRID": '{ d = "delays in surface/delay" }',
    "OWN_AND_RENO": '["surface/{case} @ p=0.1, delay=50 ms", "surface/reno @ p=0.1, delay=50 ms"]',
    "TWICE": '["surface/reno @ p=0.1, delay=50 ms", "surface/reno @ p=0.1, delay=50 ms"]',
}
"""Texts that the file below abbreviates."""
VALUES = """
[list]
delays = ["5 ms", "50 ms", "500 ms"]
losses = { low = "0.01", high = { is = "0.1", label = "a tenth" } }

[[values]]
over = { p = "losses" }
of   = "kbit"
is."rate_{p}" = { mean = "surface/reno @ p={p}, delay=50 ms" }
is."gain_{p}" = { ratio = BOTH }
is."less_{p}" = { difference = BOTH }
is."each_{p}" = { runs = BOTH, is = "100 * (a / b - 1)" }
is."means_{p}" = { means = BOTH, is = "a / b" }
is."smallest_{p}" = { least = BOTH, is = "a - b" }
is."largest_{p}" = { most = BOTH, is = "a - b" }

[[values]]
of = "kbit"
is.mbit = { mean = "surface/reno @ p=0.1, delay=50 ms", scale = 1e-3 }
is.squared = { mean = "surface/reno @ p=0.1, delay=50 ms", then = "x ** 2" }
is.exactly = { mean = "surface/reno @ p=0.1, delay=50 ms", exact = true }
is.curve = { curve = "surface/reno @ p={x}, delay=50 ms", x = "losses" }
is.quotients = { curve = BOTH_X, x = "losses" }
is.all = { means = BOTH, is = "sum(a) / sum(b)", over = { p = "losses" } }
is.geometric = { ratio = BOTH, over = { p = "losses" } }
is.each_all = { runs = BOTH, is = "mean(a) - sum(b)", over = { p = "losses" } }
is.in_grid = { runs = "surface/reno @ p=0.1, delay={d}", is = "sum(a)", over = IN_GRID }
is.least = { lowest = "rate_{p}", over = { p = "losses" } }
is.most = { highest = "rate_{p}", over = { p = "losses" } }
is.some = { count = "each_{p}", over = { p = "losses" }, where = "x > 0" }
is.surely = { count = "each_{p}", over = { p = "losses" }, where = "low > 0" }
is.spread = { values = "rate_{p}", over = { p = "losses" }, is = "max(a) / min(a)" }
is.apart = { values = ["rate_low", "rate_high"], is = "a - b" }
is.dropped = { mean = "surface/reno @ p=0.1, delay=50 ms", of = "dropped", share = true }
is.printed = { paper = ["printed/reno", "twice"], is = "a * b" }
is.again = { value = "least", scale = 2 }
is.nobody = { mean = "surface/reno @ p=0.1, delay=50 ms", of = "nobody" }
is.two = { runs = TWICE, of = ["kbit", "nobody"], is = "a / (1 + b)" }
"""
QUANTITIES = """
[kbit]
from = "flows"
is   = "SUM(goodput_bit_s) / 1e3"

[dropped]
from  = "links"
where = "name = 'cloud' AND direction = 'forward'"
is    = "SUM(drops_channel) / SUM(packets_in)"

[nobody]
from  = "flows"
where = "name = 'nobody'"
is    = "COUNT(*)"
else  = 0

[column]
from = "flows"
is   = "SUM(nothing)"

[rows]
from = "flows"
is   = "rto_count"

[kept]
from = "episodes"
is   = "COUNT(*)"
else = 0
"""
TABLES = """
[[table]]
id      = "rates"
title   = "Rates"
rows    = { case = "cases of surface", p = "losses" }
of      = "kbit"
head    = "the paper"
command = "surface/{case} @ p={p}, delay=50 ms"
columns = [
    { key = "{q}", label = "{q.short}", over.q = MUCH, is = "{case} at {p}, {p.key}" },
    { key = "share", label = "share", is = "{case.is}" },
    { key = "rate", label = "rate", is = { mean = "surface/{case} @ p={p}, delay=50 ms" } },
    { key = "at_{q}", label = "at {q}", over.q = "losses", asks = "1", is.value = "gain_{q}" },
    { key = "printed", label = "printed", is = { published = "printed/{case}" } },
    { key = "fast", label = "fast", words = ["no", "yes"], is = { number = "{p} < 0.05" } },
]

[[table]]
id      = "sorted"
title   = "Sorted"
rows    = { case = ["reno", "cubic"] }
sort    = "rate"
of      = "kbit"
columns = [
    { key = "case", label = "case", is = "{case}" },
    { key = "rate", label = "rate", is = { mean = "surface/{case} @ p=0.1, delay=50 ms" } },
    { key = "over", label = "over", is = { ratio = OWN_AND_RENO } },
]

[[table]]
effects = "plain"
"""
PUBLISHED = """
[printed]
title  = "A table"
source = "table 1"
unit   = "kbit/s"
values = { reno = 10.5 }

[number]
twice = { value = 2, unit = "", source = "section 1" }
"""
AT = "surface/reno @ p=0.1, delay=50 ms"
LOSS, DELAY = "link.cloud.forward.channel.p", "link.cloud.delay"


def write(home: Path, **files: str) -> Path:
    folder = write_study(home)
    values, tables = VALUES, TABLES.replace("PLACE", "surface/{case} @ p={p}, delay=50 ms")
    for short, text in PLACES.items():
        values, tables = values.replace(short, text), tables.replace(short, text)
    texts = {"values": values, "tables": tables, "quantities": QUANTITIES, "published": PUBLISHED}
    for name, text in (texts | files).items():
        (folder / f"{name}.toml").write_text(text)
    return folder


def refused(home: Path, said: str, **files: str) -> None:
    """Checks that a study is refused, with the name of the file and these words."""
    folder = write(home / "study", **files)
    with pytest.raises(StudyError) as error:
        load(str(folder))
    assert str(error.value).startswith(f"{folder}/{next(iter(files))}.toml: ")
    assert said in str(error.value)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = write(tmp_path_factory.mktemp("declared") / "study")
    found = Measured(load(str(folder)), Plan("quick", 1))
    found.run_all()
    return found


@pytest.fixture(scope="module")
def values(measured: Measured) -> dict[str, Found]:
    return measured.values


def series(measured: Measured, case: str, p: float) -> list[float]:
    """Goodput in kbit/s, read in another way than the file does."""
    place = measured.at(f"surface/{case} @ p={p}, delay=50 ms")
    rates = place.values("flow.download.goodput_bit_s")
    return [rate / 1e3 for rate in rates if rate is not None]


def mean_of(found: Found) -> float:
    assert isinstance(found, Estimate)
    return found.mean


@pytest.mark.parametrize(("key", "p"), [("low", 0.01), ("high", 0.1)])
def test_values_repeat_over_lists(
    measured: Measured, values: dict[str, Found], key: str, p: float
) -> None:
    reno, cubic = (series(measured, case, p) for case in ("reno", "cubic"))
    pairs = list(zip(cubic, reno, strict=True))
    expected = {
        "rate": fmean(reno),
        "gain": exp(fmean(log(a / b) for a, b in pairs)),
        "less": fmean(a - b for a, b in pairs),
        "each": fmean(100 * (a / b - 1) for a, b in pairs),
        "means": fmean(cubic) / fmean(reno),
    }
    for name, value in expected.items():
        found = values[f"{name}_{key}"]
        assert isinstance(found, Estimate)
        assert found.n == len(reno) == 3
        assert found.mean == pytest.approx(value)
        assert found.bounds.low <= found.mean <= found.bounds.high
    differences = [above - below for above, below in pairs]
    assert mean_of(values[f"smallest_{key}"]) == pytest.approx(min(differences))
    assert mean_of(values[f"largest_{key}"]) == pytest.approx(max(differences))


def test_results_change_and_combine(measured: Measured, values: dict[str, Found]) -> None:
    low, high = (series(measured, "reno", p) for p in (0.01, 0.1))
    assert mean_of(values["mbit"]) == pytest.approx(fmean(high) / 1e3)
    assert mean_of(values["squared"]) == pytest.approx(fmean(high) ** 2)
    assert values["exactly"] == Estimate(fmean(high))
    assert values["printed"] == Estimate(21.0)
    means = [fmean(low), fmean(high)]
    assert mean_of(values["least"]) == min(fmean(low), fmean(high))
    assert mean_of(values["again"]) == pytest.approx(2 * min(fmean(low), fmean(high)))
    assert mean_of(values["most"]) == max(fmean(low), fmean(high))
    gains = [values["each_low"], values["each_high"]]
    assert values["some"] == Estimate(sum(mean_of(it) > 0 for it in gains))
    lows = [it.bounds.low for it in gains if isinstance(it, Estimate)]
    assert values["surely"] == Estimate(sum(low > 0 for low in lows))
    assert mean_of(values["spread"]) == pytest.approx(max(means) / min(means))
    assert values["apart"] == Estimate(means[0] - means[1])
    cubic = sum(fmean(series(measured, "cubic", p)) for p in (0.01, 0.1))
    assert mean_of(values["all"]) == pytest.approx(cubic / (fmean(low) + fmean(high)))
    pairs = [series(measured, case, p) for p in (0.01, 0.1) for case in ("cubic", "reno")]
    logs = [log(a / b) + log(c / d) for a, b, c, d in zip(*pairs, strict=True)]
    assert mean_of(values["geometric"]) == pytest.approx(exp(fmean(logs) / 2))
    each = [(a + c) / 2 - (b + d) for a, b, c, d in zip(*pairs, strict=True)]
    assert mean_of(values["each_all"]) == pytest.approx(fmean(each))
    assert mean_of(values["in_grid"]) > mean_of(values["rate_high"])
    curve, quotients = values["curve"], values["quotients"]
    assert isinstance(curve, Points)
    assert isinstance(quotients, Points)
    assert list(curve.runs) == ["low", "high"]
    assert curve.means == pytest.approx([fmean(low), fmean(high)])
    assert quotients.means[1] == pytest.approx(
        fmean(a / b for a, b in zip(series(measured, "cubic", 0.1), high, strict=True))
    )


def test_quantities_are_sql_over_the_tables_of_each_run(
    measured: Measured, values: dict[str, Found]
) -> None:
    wanted = ("reno", 0.1, "50 ms", "cloud", "forward")
    keys = ("case", LOSS, DELAY, "name", "direction")
    links = measured.sweep("surface").links.to_dicts()
    own = [row for row in links if tuple(row[key] for key in keys) == wanted]
    shares = [row["drops_channel"] / row["packets_in"] for row in own]
    found = values["dropped"]
    assert isinstance(found, Estimate)
    assert found.mean == pytest.approx(fmean(shares))
    assert found.mean == pytest.approx(0.1, abs=0.05)
    assert found.bounds.low >= 0
    # A run without such rows has the number of `else`.
    assert mean_of(values["nobody"]) == 0
    assert mean_of(values["two"]) == pytest.approx(fmean(series(measured, "reno", 0.1)))


def test_only_the_named_values_are_computed(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def found(self: Measuring, what: Measure, scope: Scope) -> None:
        asked.append(what.kind)
        if what.kind == "lowest":
            self.named("rate_low")

    monkeypatch.setattr(Measuring, "found", found)
    assert replace(measured).value("least") is None
    assert asked == ["lowest", "mean"]


def test_tables_of_the_runs_are_prepared_once(measured: Measured) -> None:
    assert measured.axes("surface") is measured.axes("surface")
    assert measured.runs._floats("flows") is measured.runs._floats("flows")


def test_tables_have_a_row_for_each_combination(
    measured: Measured, values: dict[str, Found]
) -> None:
    rates, ordered, effects = filled_tables(measured)
    assert [column.label for column in rates.columns][3:5] == [
        "at 0.01",
        "at a tenth",
    ]
    assert rates.columns[0].label == "more"
    assert rates.rows[0] == {"much": "the paper", "at_low": "1", "at_high": "1"}
    assert rates.commands[0] == ""
    labels = [row["much"] for row in rates.rows[1:]]
    assert labels[:3] == ["Reno at 0.01, low", "Reno at a tenth, high", "CUBIC at 0.01, low"]
    first = rates.rows[1]
    assert first["rate"] == values["rate_low"]
    assert first["at_high"] == values["gain_high"]
    assert (first["printed"], rates.rows[3]["printed"]) == (10.5, None)
    assert [row["fast"] for row in rates.rows[1:3]] == ["yes", "no"]
    assert "channel.p=0.01" in rates.commands[1]
    sizes = [mean_of(row["rate"]) for row in ordered.rows]  # type: ignore[arg-type]
    assert sizes == sorted(sizes, reverse=True)
    (reno,) = [row for row in ordered.rows if row["case"] == "reno"]
    assert reno["over"] is None, "compared with itself"
    assert effects.id == "plain"
    assert [row["difference"] is None for row in effects.rows] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('is.a = { mean = "surface/vegas @ p=0.01, delay=5 ms" }', "no case 'vegas'"),
        ('is.a = { mean = "surface/reno @ q=1" }', "'q' must be the end of one of"),
        ('is.a = { mean = "surface/reno @ p=0.5, delay=5 ms" }', "is never 0.5 (it is "),
        ('is.a = { mean = "surface/reno @ p=0.01" }', "several points"),
        ('is.a = { mean = "surface/reno @ p=0.01, delay=5 ms", of = "k" }', "no quantity 'k'"),
        ('is.a = { lowest = "b_{p}", over = { p = [1] } }', "no value 'b_1'"),
        ('is.a = { paper = ["printed/vegas"], is = "a" }', "published.toml has no 'printed/vegas'"),
        ('is.a = { lowest = "b" }\nis.b = { highest = "a" }', "'a' is computed from itself"),
        (f'is.a = {{ curve = "{AT}", x = [1] }}\nis.b = {{ lowest = "a" }}', "'a' is a curve"),
        ('is.a = { count = "b", where = "x > 0" }', "no value 'b'"),
        (f'is.a = {{ runs = ["{AT}"], is = "log(-a)" }}', "'log(-a)' with a = "),
        (f'is.a = {{ runs = ["{AT}"], is = "(-a) ** 0.5" }}', "with a = "),
        (f'is.a = {{ mean = "{AT}", then = "x / 0" }}', "division"),
        (f'is.a = {{ mean = "{AT}", share = true }}', "is not a share"),
        (f'is.a = {{ mean = "{AT}", of = "column" }}', "quantities.toml: column: 'SUM(nothing)'"),
        (f'is.a = {{ mean = "{AT}", of = "rows" }}', "quantities.toml: rows: 'rto_count': one"),
        ('is.a = { mean = "plain/reno", of = "kept" }', "quantities.toml: kept: episodes are not"),
    ],
)  # fmt: skip
def test_an_error_names_file_and_value(
    measured: Measured, tmp_path: Path, text: str, said: str
) -> None:
    folder = write(tmp_path / "study", values=f"[[values]]\n{text}\n", tables="")
    found = replace(measured, study=load(str(folder)))
    with pytest.raises(StudyError) as error:
        _ = found.values
    assert f"{folder}/values.toml: " in str(error.value)
    assert ": a: " in str(error.value) or ": b: " in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('is.a = { mean = "x/y", ratio = ["x/y", "x/z"] }', "exactly one of"),
        ('is.a = { meen = "x/y" }', "needed; found meen"),
        ('is.a = { runs = ["x/y"] }', "`runs` needs `is`"),
        ('is.a = { curve = "x/y" }', "`curve` needs `x`"),
        ('is.a = { count = "b" }', "`count` needs `where`"),
        ('is.a = { count = "b", where = "y > 0" }', "no 'y' here (there are x, low, high)"),
        ('is.a = { values = "b", is = "a + b" }', "no 'b' here (there are a)"),
        ('is.a = { mean = "x/y", is = "a" }', "a.is: unknown key with `mean`"),
        ('is.a = { mean = "x/y", over = {} }', "a.over: unknown key with `mean`"),
        ('is.a = { curve = "x/y", x = [1], scale = 2 }', "a.scale: unknown key with `curve`"),
        ('is.a = { lowest = "b", of = "c" }', "a.of: unknown key with `lowest`"),
        ('is.a = { mean = ["x/y"] }', "a.mean: expected a text; found ['x/y']"),
        ('is.a = { mean = "x/y", of = ["b", "c"] }', "of: one quantity is needed, or 1; found 2"),
        ('is.a = { ratio = ["x/y"] }', "ratio: needs 2 places; found 1"),
        ('is.a = { difference = ["x", "y", "z"] }', "difference: needs 2 places; found 3"),
        ('is.a = { curve = ["x", "y", "z"], x = [1] }', "curve: needs 1 or 2 places; found 3"),
        ('is.a = { runs = ["x/y"], is = "a + b" }', "'a + b': no 'b' here (there are a)"),
        ('is.a = { mean = "x/y", then = "y" }', "'y': no 'y' here (there are x)"),
        ('is.a = { mean = "x/y", scale = "2" }', "a.scale: expected a number; found '2'"),
        ('is.a = { mean = "x/y", share = 1 }', "a.share: expected true or false; found 1"),
        ('is.a = { mean = "x/y", then = 2 }', "a.then: expected a text; found 2"),
        ("is.a = 5", "values[0].is.a: expected a table; found 5"),
        ("of = 5", "values[0].of: expected a text or a list; found 5"),
        ("over = 5", "values[0].over: expected a table; found 5"),
        ('over.p = "nolist"\nis.a = { mean = "x/y" }', "no list 'nolist'"),
        ('over.p = "cases of x"\nis.a = { mean = "x/y" }', "no experiment 'x'"),
        ('over.p = []\nis.a = { mean = "x/y" }', "[]: expected a list or table with items"),
        ('over.p = 5\nis.a = { mean = "x/y" }', "5: expected a list or table with items"),
        ('over.p = [1, "1"]\nis."a_{p}" = { mean = "x/y" }', "an item is there twice"),
        ('over.p = "q"\nis.a = { mean = "x/y" }\n[list]\nq = "r"\nr = "q"', "defined by itself"),
        ('over.p = [1]\nis."a_{q}" = { mean = "x/y" }', "no item 'q' (there are: p)"),
        ('over.p = [1]\nis."a_{p.upper}" = { mean = "x/y" }', "no item 'p.upper' (there are: p)"),
        ('over.p = [1, 2]\nis.a = { mean = "x/y" }', "a is there twice"),
        ("[other]", "other: unknown key (keys here: list, values)"),
        ("values = 5", "values: expected a list; found 5"),
        ("values = [5]", "values[0]: expected a table; found 5"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_before_any_run(tmp_path: Path, text: str, said: str) -> None:
    block = "" if text.startswith(("[other", "values")) else "[[values]]\n"
    if block and "is." not in text:
        text += '\nis.a = { value = "b" }'
    refused(tmp_path, said, values=block + text)


COLUMN = 'columns = [{ key = "k", label = "", is = "" }]'


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('id = "t"', "lacks `title`"),
        (f'id = "t-1"\ntitle = ""\nrows.p = [1]\n{COLUMN}', "id: 't-1': only letters"),
        (f'id = 5\ntitle = ""\nrows.p = [1]\n{COLUMN}', "id: expected a text; found 5"),
        (f'id = "t"\ntitle = ""\nrows.p = []\n{COLUMN}', "table[0]: []: expected a list"),
        (f'id = "t"\ntitle = ""\nrows = {{}}\n{COLUMN}', "may not be empty"),
        ('effects = "nothing"', "no experiment 'nothing' with a `reference`"),
        ('effects = "surface"', "no experiment 'surface' with a `reference`"),
        ('effects = "plain"\ntitle = "T"', "title: unknown key (keys here: effects)"),
        ('effects = "plain"\n[[table]]\neffects = "plain"', "the id 'plain' is there twice"),
    ],
)
def test_wrong_tables_are_refused_before_any_run(tmp_path: Path, table: str, said: str) -> None:
    refused(tmp_path, said, tables=f"[[table]]\n{table}")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ('{ key = "k", label = "", is = 5 }', "columns[0].is: expected a text or a table; found 5"),
        ('{ key = "k", label = "", is.value = "v", is.unit = "s" }', "is.unit: unknown key"),
        ('{ key = "k", label = "", is.published = "s/c", is.of = "q" }', "is.of: unknown key"),
        ('{ key = "k", label = "", is.men = "x/y" }', "columns[0].is: exactly one of"),
        ('{ key = "k", label = "" }', "columns: 'k' lacks `is`"),
        ('{ key = "k", label = "", is = "", digits = 1.5 }', "digits: expected a whole number"),
        ('{ key = "k", label = "", is = "" }, { key = "k", label = "", is = "" }', "a key 'k' is"),
        ('{ key = "k", label = "", is = "", over.p = [1, 2] }', "a key 'k' is there twice"),
    ],
)
def test_wrong_columns_are_refused_before_any_run(tmp_path: Path, columns: str, said: str) -> None:
    table = f'[[table]]\nid = "t"\ntitle = ""\nrows.p = [1]\ncolumns = [{columns}]'
    refused(tmp_path, said, tables=table)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[a]\nform = "flows"', "a.form: unknown key (keys here: from, is, where, else)"),
        ("a = 5", "a: expected a table; found 5"),
        ('a = { from = "flows", is = 5 }', "a.is: expected a text; found 5"),
        ('a = { from = "flowz", is = "COUNT(*)" }', "a: from: no table 'flowz' (there are runs"),
    ],
)
def test_wrong_quantities_are_refused_before_any_run(tmp_path: Path, text: str, said: str) -> None:
    refused(tmp_path, said, quantities=text)


def test_a_number_without_a_word_names_its_table(measured: Measured, tmp_path: Path) -> None:
    column = '{ key = "k", label = "", words = ["no", "yes"], is.number = "1 + {p}" }'
    table = f'[[table]]\nid = "wrong"\ntitle = ""\nrows.p = [1]\ncolumns = [{column}]'
    study = load(str(write(tmp_path / "study", tables=table)))
    with pytest.raises(StudyError, match=r"tables.toml: wrong: 2 has none of the `words`"):
        list(filled_tables(replace(measured, study=study)))


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ('value = "typo_{p}"', "no value 'typo_1'"),
        ('lowest = "typo"', "no value 'typo'"),
        ('value = "curve"', "a cell is a number, not a curve"),
        ('published = "nothing/{p}"', "published.toml has no 'nothing/1'"),
        ('published = "printed"', "published.toml has no 'printed'"),
        ('setting = "plain/cubic", key = "flow.download.tpc"', "did you mean 'flow.download.tcp'"),
        ('mean = "plain/nobody"', "no case 'nobody'"),
    ],
)
def test_a_wrong_cell_names_its_table(
    measured: Measured, tmp_path: Path, cell: str, said: str
) -> None:
    columns = f'columns = [{{ key = "k", label = "", is = {{ {cell} }} }}]'
    table = f'[[table]]\nid = "wrong"\ntitle = ""\nrows.p = [1]\n{columns}'
    study = load(str(write(tmp_path / "study", tables=table)))
    with pytest.raises(StudyError) as error:
        list(filled_tables(replace(measured, study=study)))
    assert "tables.toml: wrong: " in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "().x", "open('x')", "a[0]", "max(a, key=b)", "lambda: 1", "'text'", "a +",
        "[a for a in b]",
        "c", "a // b", "a % b", "a | b", "not a", "a in b", "a and b", "True", "1j", "max(*a)",
        "9" * 400, "(" * 500 + "a" + ")" * 500, "-" * 99_999 + "a", "a\0",
    ],
)  # fmt: skip
def test_arithmetic_is_only_arithmetic(text: str) -> None:
    with pytest.raises(StudyError):
        arithmetic(text, "ab")


@pytest.mark.parametrize(
    "text", ["2 ** 10 ** 10", "log(a)", "(-1) ** 0.5", "sqrt(-1)", "exp(999)", "sum(a)", "a + sum"]
)
def test_what_is_no_number_is_an_error(text: str) -> None:
    with pytest.raises(StudyError, match="with a = 0"):
        arithmetic(text, "a")(a=0)


def test_arithmetic_computes() -> None:
    whole = arithmetic("(a - b) / c if c != 0 else inf", "abc")
    assert whole(a=5, b=2, c=2) == 1.5
    assert whole(a=5, b=2, c=0) == inf
    assert arithmetic(" sum(a) + max(b, 3) + sqrt(4)", "ab")(a=[1, 2], b=1) == 8


def test_runs_with_the_same_draws_are_paired() -> None:
    # A deterministic case is combined with every run; a run without a partner is left out.
    assert paired([2], [1, None, 3]) == [(2, 1), None, (2, 3)]
    assert paired([2, 2], [1, 2, 3]) == [(2, 1), (2, 2), (2, 3)]
    assert paired([1, 2], [1, 2, 3]) == [(1, 1), (2, 2)]
    assert quotients([6], [1, 2, 0]) == [6, 3, None]
    found = of_means(lambda a, b: a / b, [2, 4], [1, 2, 3])
    assert found is not None
    assert (found.mean, found.n) == (2, 2)


def test_a_ratio_to_nothing_is_missing() -> None:
    found = paired_ratio([0, 2, 8], [1, 0, 2])
    assert found is not None
    assert found.mean == pytest.approx(4)
    assert (found.n, found.missing) == (1, 2)


def test_an_interval_may_be_unbounded() -> None:
    # Without the third run, the divisor is zero.
    found = of_means(lambda a, b: a / b, [1, 2, 3], [0, 0, 1])
    assert found == Estimate(6, 3, Interval(-inf, inf))
    assert doubt((1.0,), found) == Doubt(1.0, None)


def test_a_share_is_at_most_one() -> None:
    assert as_share(Estimate(1 + 1e-12)).mean == pytest.approx(1)
    assert bounded(Estimate(90, 5, Interval(57, 123)), 100).interval == Interval(57, 100)
    with pytest.raises(StudyError, match=r"1\.1 is not a share"):
        as_share(Estimate(1.1))


def test_a_share_of_runs_has_the_interval_of_wilson() -> None:
    """One of 20 runs never ends; by Student's t, the interval would begin at 0."""
    one = estimate([1.0] + [0.0] * 19)
    assert one is not None
    found = as_share(one).interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.0089, 0.2361), abs=1e-4)
    fractions = estimate([0.9, 0.1, 1.0, 0.0])
    assert fractions is not None
    assert as_share(fractions).interval == Interval(0.0, 1.0)


OWN = """
def number(measured, *texts):
    return float("".join(texts))


def nothing(measured):
    return None


def text(measured):
    return "words"


def rows(measured, case):
    for p in ("0.01", "0.1"):
        place = measured.at(f"surface/{case} @ p={p}, delay=50 ms")
        yield {"p": p, "rate": place.mean("kbit")}, place.command()


def cell(measured, p):
    return f"p is {p}"
"""
BY_PYTHON = """
[list]
losses = { low = "0.01", high = "0.1" }

[[values]]
over = { p = "losses" }
is."own_{p}" = { python = "own.number", with = ["{p}", "5"], scale = 2 }
is."calculated_{p}" = { number = "2 * {p} + 1" }

[[values]]
is.nothing = { python = "own.nothing" }
"""
TABLES_BY_PYTHON = """
[[table]]
id      = "rows_{case}"
over    = { case = ["reno", "cubic"] }
title   = "Rates of {case}"
python  = "own.rows"
with    = ["{case}"]
columns = [{ key = "p", label = "loss" }, { key = "rate", label = "rate" }]

[[table]]
id      = "cells"
title   = "Cells"
rows    = { p = "losses" }
columns = [
    { key = "p", label = "", is = { python = "own.cell", with = ["{p}"] } },
    { key = "printed", label = "", is = { published = "printed/reno", printed = true } },
]
"""


def by_python(
    measured: Measured, home: Path, values: str = BY_PYTHON, tables: str = TABLES_BY_PYTHON
) -> Measured:
    """The runs with a study that names functions."""
    folder = write(home / "study", values=values, tables=tables)
    (folder / "own.py").write_text(OWN)
    return replace(measured, study=load(str(folder)))


def test_functions_compute_values(measured: Measured, tmp_path: Path) -> None:
    found = by_python(measured, tmp_path)
    computed = found.values
    assert computed["own_low"] == Estimate(2 * 0.015)
    assert computed["own_high"] == Estimate(2 * 0.15)
    assert computed["calculated_high"] == Estimate(1.2)
    assert computed["nothing"] is None


def test_functions_compute_rows_and_cells(measured: Measured, tmp_path: Path) -> None:
    reno, cubic, cells = filled_tables(by_python(measured, tmp_path))
    assert (reno.id, reno.title, cubic.id) == ("rows_reno", "Rates of reno", "rows_cubic")
    rates = [fmean(series(measured, "cubic", p)) for p in (0.01, 0.1)]
    assert [row["rate"] for row in cubic.rows] == pytest.approx(rates)
    assert "channel.p=0.1" in cubic.commands[1]
    assert [row["p"] for row in cells.rows] == ["p is 0.01", "p is 0.1"]
    assert cells.rows[0]["printed"] == "10.5"
    assert not cells.commands


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("own.text", "own.text returns 'words', which is no number"),
        ("own.numbr", "python: no function 'numbr'; did you mean 'number'?"),
        ("number", "python: 'number': write FILE.FUNCTION; there is no number.py"),
    ],
)
def test_a_wrong_function_names_file_and_value(
    measured: Measured, tmp_path: Path, function: str, said: str
) -> None:
    values = f'[[values]]\nis.a = {{ python = "{function}" }}\n'
    found = by_python(measured, tmp_path, values, "")
    with pytest.raises(StudyError) as error:
        _ = found.values
    assert str(error.value) == f"{found.study.folder}/values.toml: a: {said}"


def test_a_failing_function_is_named_with_its_file(measured: Measured, tmp_path: Path) -> None:
    values = '[[values]]\nis.a = { python = "own.number" }\n'
    found = by_python(measured, tmp_path, values, "")
    with pytest.raises(retx.UserCodeError, match=r"own\.py: number: ValueError"):
        _ = found.values


def test_a_row_has_only_declared_columns(measured: Measured, tmp_path: Path) -> None:
    tables = TABLES_BY_PYTHON.replace('{ key = "rate", ', '{ key = "rates", ')
    with pytest.raises(StudyError, match=r"own\.rows: no column 'rate'; did you mean 'rates'"):
        list(filled_tables(by_python(measured, tmp_path, BY_PYTHON, tables)))
