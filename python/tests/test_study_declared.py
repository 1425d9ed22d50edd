"""Values, tables and quantities that a study declares in TOML."""

from __future__ import annotations

from math import exp, log
from pathlib import Path
from statistics import fmean

import pytest
from small_study import write_study

from retx.study import Estimate, Measured, Plan, Points, load
from retx.study.arithmetic import arithmetic
from retx.study.data import StudyError
from retx.study.filled_tables import filled_tables
from retx.study.reproduction import computed_values, module_of

PLACES = {
    "BOTH_X": '["surface/cubic @ p={x}, delay=50 ms", "surface/reno @ p={x}, delay=50 ms"]',
    "BOTH": '["surface/cubic @ p={p}, delay=50 ms", "surface/reno @ p={p}, delay=50 ms"]',
    "TWICE": '["surface/reno @ p=0.1, delay=50 ms", "surface/reno @ p=0.1, delay=50 ms"]',
}
"""Texts that the file below abbreviates."""
VALUES = """
[list]
losses = { low = "0.01", high = { is = "0.1", label = "a tenth" } }

[[values]]
over = { p = "losses" }
of   = "kbit"
is."rate_{p}" = { mean = "surface/reno @ p={p}, delay=50 ms" }
is."gain_{p}" = { ratio = BOTH }
is."less_{p}" = { difference = BOTH }
is."each_{p}" = { runs = BOTH, is = "100 * (a / b - 1)" }
is."means_{p}" = { means = BOTH, is = "a / b" }

[[values]]
of = "kbit"
is.mbit = { mean = "surface/reno @ p=0.1, delay=50 ms", scale = 1e-3 }
is.squared = { mean = "surface/reno @ p=0.1, delay=50 ms", then = "x ** 2" }
is.exactly = { mean = "surface/reno @ p=0.1, delay=50 ms", exact = true }
is.curve = { curve = "surface/reno @ p={x}, delay=50 ms", x = "losses" }
is.quotients = { curve = BOTH_X, x = "losses" }
is.all = { means = BOTH, is = "sum(a) / sum(b)", over = { p = "losses" } }
is.least = { lowest = "rate_{p}", over = { p = "losses" } }
is.most = { highest = "rate_{p}", over = { p = "losses" } }
is.dropped = { mean = "surface/reno @ p=0.1, delay=50 ms", of = "dropped", share = true }
is.printed = { paper = ["printed/reno", "twice"], is = "a * b" }
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
    { key = "case", label = "sender", is = "{case} at {p}, {p.key}" },
    { key = "share", label = "{q.short}", over = { q = { one = { short = "much" } } }, is = "{q}" },
    { key = "rate", label = "rate", is = { mean = "surface/{case} @ p={p}, delay=50 ms" } },
    { key = "runs", label = "", is = { mean = "PLACE", single = true } },
    { key = "at_{q}", label = "at {q}", over.q = "losses", asks = "1", is.value = "gain_{q}" },
    { key = "printed", label = "printed", is = { published = "printed/{case}" } },
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
LOSS, DELAY = "link.cloud.forward.channel.p", "link.cloud.delay"


def write(home: Path, **files: str) -> Path:
    folder = write_study(home)
    values = VALUES
    for short, text in PLACES.items():
        values = values.replace(short, text)
    tables = TABLES.replace("PLACE", "surface/{case} @ p={p}, delay=50 ms")
    texts = {"values": values, "tables": tables, "quantities": QUANTITIES, "published": PUBLISHED}
    for name, text in (texts | files).items():
        (folder / f"{name}.toml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = write(tmp_path_factory.mktemp("declared") / "study")
    study = load(str(folder))
    found = Measured(study, Plan("quick", 1), derive=module_of(study).quantities)
    found.run_all()
    return found


@pytest.fixture(scope="module")
def values(measured: Measured) -> dict[str, Estimate | Points]:
    return computed_values(module_of(measured.study), measured)


def series(measured: Measured, case: str, p: float) -> list[float]:
    """Goodput in kbit/s, read in another way than the file does."""
    at = {LOSS: p, DELAY: "50 ms"}
    rates = measured.values("surface", case, "flow.download.goodput_bit_s", at=at)
    return [rate / 1e3 for rate in rates if rate is not None]


def mean_of(found: Estimate | Points) -> float:
    assert isinstance(found, Estimate)
    return found.mean


@pytest.mark.parametrize(("key", "p"), [("low", 0.01), ("high", 0.1)])
def test_values_repeat_over_lists(
    measured: Measured, values: dict[str, Estimate | Points], key: str, p: float
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


def test_results_change_and_combine(
    measured: Measured, values: dict[str, Estimate | Points]
) -> None:
    low, high = (series(measured, "reno", p) for p in (0.01, 0.1))
    assert mean_of(values["mbit"]) == pytest.approx(fmean(high) / 1e3)
    assert mean_of(values["squared"]) == pytest.approx(fmean(high) ** 2)
    assert values["exactly"] == Estimate(fmean(high))
    assert values["printed"] == Estimate(21.0)
    assert mean_of(values["least"]) == min(fmean(low), fmean(high))
    assert mean_of(values["most"]) == max(fmean(low), fmean(high))
    cubic = sum(fmean(series(measured, "cubic", p)) for p in (0.01, 0.1))
    assert mean_of(values["all"]) == pytest.approx(cubic / (fmean(low) + fmean(high)))
    curve, quotients = values["curve"], values["quotients"]
    assert isinstance(curve, Points)
    assert isinstance(quotients, Points)
    assert list(curve.runs) == ["low", "high"]
    assert curve.means == pytest.approx([fmean(low), fmean(high)])
    assert quotients.means[1] == pytest.approx(
        fmean(a / b for a, b in zip(series(measured, "cubic", 0.1), high, strict=True))
    )


def test_quantities_are_sql_over_the_tables_of_each_run(
    measured: Measured, values: dict[str, Estimate | Points]
) -> None:
    at = {LOSS: 0.1, DELAY: "50 ms"}
    links = measured.table("surface", "links", "reno", at=at).to_dicts()
    own = [row for row in links if (row["name"], row["direction"]) == ("cloud", "forward")]
    shares = [row["drops_channel"] / row["packets_in"] for row in own]
    found = values["dropped"]
    assert isinstance(found, Estimate)
    assert found.mean == pytest.approx(fmean(shares))
    assert found.mean == pytest.approx(0.1, abs=0.05)
    assert found.bounds.low >= 0
    # A run without such rows has the number of `else`.
    assert mean_of(values["nobody"]) == 0
    assert mean_of(values["two"]) == pytest.approx(fmean(series(measured, "reno", 0.1)))


def test_only_the_named_values_are_computed(measured: Measured) -> None:
    found = measured.study.declared.computed(measured, ["least"])
    assert list(found) == ["least"]


def test_tables_have_a_row_for_each_combination(
    measured: Measured, values: dict[str, Estimate | Points]
) -> None:
    rates, effects = filled_tables(measured, values)
    assert [column.label for column in rates.columns][4:6] == [
        "at 0.01",
        "at a tenth",
    ]
    assert rates.columns[1].label == "much"
    assert rates.rows[0] == {"case": "the paper", "at_low": "1", "at_high": "1"}
    assert rates.commands[0] == ""
    labels = [row["case"] for row in rates.rows[1:]]
    assert labels[:3] == ["Reno at 0.01, low", "Reno at a tenth, high", "CUBIC at 0.01, low"]
    first = rates.rows[1]
    assert first["rate"] == values["rate_low"]
    assert first["runs"] == values["rate_low"].single  # type: ignore[union-attr]
    assert first["at_high"] == values["gain_high"]
    assert (first["printed"], rates.rows[3]["printed"]) == (10.5, None)
    assert "channel.p=0.01" in rates.commands[1]
    assert effects.id == "plain"
    assert effects.rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('is.a = { mean = "surface/vegas @ p=0.01, delay=5 ms" }', "no such case"),
        ('is.a = { mean = "surface/reno @ q=1" }', "'q' must be the end of one of"),
        ('is.a = { mean = "surface/reno @ p=0.5, delay=5 ms" }', "is never 0.5 (it is "),
        ('is.a = { mean = "surface/reno @ p=0.01" }', "several points"),
        ('is.a = { mean = "surface/reno @ p=0.01, delay=5 ms", of = "k" }', "no quantity 'k'"),
        ('is.a = { lowest = "b_{p}", over = { p = [1] } }', "no value 'b_1'"),
        ('is.a = { paper = ["printed/vegas"], is = "a" }', "published.toml has no 'printed/vegas'"),
        ('is.a = { runs = ["plain/reno"], is = "a + c" }', "'c' is not defined"),
    ],
)  # fmt: skip
def test_an_error_names_file_and_value(tmp_path: Path, text: str, said: str) -> None:
    folder = write(tmp_path / "study", values=f"[[values]]\n{text}\n", tables="")
    measured = Measured(load(str(folder)), Plan("quick", 1, replications=2))
    measured.run_all()
    with pytest.raises(StudyError) as error:
        measured.study.declared.computed(measured)
    assert f"{folder}/values.toml: a: " in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"values": 'is.a = { mean = "x/y", ratio = ["x/y", "x/z"] }'}, "exactly one of"),
        ({"values": 'is.a = { runs = ["x/y"] }'}, "`is` is needed with"),
        ({"values": 'is.a = { meen = "x/y" }'}, "meen: unknown key"),
        ({"values": 'over.p = "nolist"\nis.a = { mean = "x/y" }'}, "no list 'nolist'"),
        ({"values": 'over.p = "cases of x"\nis.a = { mean = "x/y" }'}, "no experiment 'x'"),
        ({"values": 'over.p = [1]\nis."a_{q}" = { mean = "x/y" }'}, "(there are p)"),
        ({"values": 'over.p = [1, 2]\nis.a = { mean = "x/y" }'}, "a is there twice"),
        ({"values": "[other]"}, "unknown key"),
        ({"tables": '[[table]]\nid = "t"'}, "needs `effects`, or `id`"),
        ({"tables": "[other]"}, "other: unknown key"),
        ({"quantities": '[a]\nform = "flows"'}, "form: unknown key"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_before_any_run(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    texts = {
        name: f"[[values]]\n{text}" if text.startswith(("is", "over")) else text
        for name, text in files.items()
    }
    folder = write(tmp_path / "study", **texts)
    with pytest.raises(StudyError) as error:
        load(str(folder))
    assert f"{next(iter(files))}.toml" in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["().x", "open('x')", "a[0]", "max(a, key=b)", "lambda: 1", "'text'", "a +", "[1 for a in b]"],
)
def test_arithmetic_is_only_arithmetic(text: str) -> None:
    with pytest.raises(StudyError):
        arithmetic(text)


def test_arithmetic_computes() -> None:
    assert arithmetic("(a - b) / c if c != 0 else inf")(a=5, b=2, c=2) == 1.5
    assert arithmetic("(a - b) / c if c != 0 else inf")(a=5, b=2, c=0) == float("inf")
    assert arithmetic("sum(a) + max(b, 3) + sqrt(4)")(a=[1, 2], b=1) == 8
