"""Tables of sweeps on their way: between threads, files, processes and data frames."""

from __future__ import annotations

import pickle
import random
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sweeping import SCENARIO, SWEEP

import retx
from retx._native import Batch, Table, joined, merged
from retx.sweeps.batches import frame_of

KEYS = ["first", "second", "third"]
P = "link.cloud.forward.channel.p"
KEEP = ["samples", "segments", "drops", "episodes"]
SAMPLED = 'sample_interval = "0.1 s"\n' + SCENARIO + SWEEP


def batch_of(**tables: pl.DataFrame) -> Batch:
    """A batch, from files that polars writes."""
    content = b""
    for name, table in tables.items():
        file = BytesIO()
        table.write_parquet(file, compression="lz4")
        for part in (name.encode(), file.getvalue()):
            content += len(part).to_bytes(8, "little") + part
    return Batch(content)


def whole(batches: list[Batch], name: str) -> Table:
    table = joined(batches, KEYS, name)
    assert table is not None
    return table


def as_file(table: Table) -> pl.DataFrame:
    return pl.read_parquet(BytesIO(table.parquet()))


EVERY_KIND = {
    "number": [0.1, None, float("inf"), -0.0, 5e-324, -1.7976931348623157e308],
    "no_number": pl.Series([None] * 6, dtype=pl.Float64),
    "whole": [0, 1, None, 2**63 - 1, 2**32, 7],
    "same": [3] * 6,
    "flag": [True, False, False, True, True, False],
    "text": ["b", None, "", "ü → 𝄞", "b", "a" * 2000],
}


def test_every_kind_of_column_comes_through() -> None:
    point = pl.Series("point", [2, 0, 0, 1, 1, 2], dtype=pl.Int64)
    replication = pl.Series("replication", [0, 2**32 - 1, 0, 5, 4, 0], dtype=pl.Int64)
    given = pl.DataFrame([point, replication]).with_columns(**pl.DataFrame(EVERY_KIND).to_dict())
    key = pl.col("point").replace_strict(dict(enumerate(KEYS)), return_dtype=pl.String)
    expected = given.sort("point", "replication", maintain_order=True).select(
        key.alias("key"), pl.col("replication").cast(pl.UInt32), pl.exclude("point", "replication")
    )
    batch = batch_of(flows=given)
    table = whole([batch], "flows")
    assert_frame_equal(as_file(table), expected)
    assert_frame_equal(frame_of(table), expected)
    again = pickle.loads(pickle.dumps(batch))
    assert whole([again], "flows").parquet() == table.parquet()
    assert len(table) == 6
    assert table.runs() == [
        ("first", [(0, 1), (2**32 - 1, 1)]), ("second", [(4, 2)]), ("third", [(0, 1)]),
    ]  # fmt: skip
    # The bits, too: 0.0 == -0.0.
    assert str(as_file(table)["number"].to_list()) == str(expected["number"].to_list())


def drawn(draw: random.Random, rows: int) -> pl.Series:
    """A column of some kind; a third of what may be absent is."""
    kind = draw.choice(["float", "whole", "flag", "text", "constant", "counter"])
    if kind == "flag":
        return pl.Series([draw.random() < 0.5 for _ in range(rows)], dtype=pl.Boolean)
    if kind == "constant":
        return pl.Series([draw.choice([None, 0.0, 1e300])] * rows, dtype=pl.Float64)
    if kind == "counter":
        return pl.Series([1460 * row for row in range(rows)], dtype=pl.Int64)
    value, dtype = {
        "float": (lambda: draw.uniform(-1, 1) * 10.0 ** draw.randint(-300, 300), pl.Float64),
        "whole": (lambda: draw.randrange(2 ** draw.randint(1, 63)), pl.Int64),
        "text": (lambda: "".join(map(chr, draw.choices(range(1, 400), k=2))), pl.String),
    }[kind]
    return pl.Series([None if draw.random() < 1 / 3 else value() for _ in range(rows)], dtype=dtype)


@pytest.mark.parametrize("seed", range(25))
def test_random_columns_come_through_however_they_are_spread(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    runs = draw.sample([(point, run) for point in range(3) for run in range(30)], 40)
    rows = [run for run in runs for _ in range(draw.randint(0, 5))]
    columns = {f"c{at}": drawn(draw, len(rows)) for at in range(draw.randint(1, 9))}
    frame = pl.DataFrame(rows, schema=["point", "replication"], orient="row").cast(pl.Int64)
    frame = frame.with_columns(**columns)
    cuts = sorted(draw.choices(range(41), k=3))
    parts = [runs[a:b] for a, b in zip([0, *cuts], [*cuts, 40], strict=True) if a < b]
    batches = []
    for part in parts:
        belongs = pl.Series([run in part for run in rows], dtype=pl.Boolean)
        batches.append(batch_of(flows=frame.filter(belongs)))
    expected = whole([batch_of(flows=frame)], "flows")
    content = as_file(expected).drop("key").cast({"replication": pl.Int64})
    assert_frame_equal(
        content, frame.sort("point", "replication", maintain_order=True).drop("point")
    )
    assert whole(batches, "flows").parquet() == expected.parquet()
    # Tables joined from files, which partly hold the same rows.
    sources = []
    for at, part in enumerate(parts):
        path = tmp_path / f"{at}.parquet"
        path.write_bytes(whole([batches[at], batches[at - 1]], "flows").parquet())
        keys = sorted({point for point, _ in part})
        chosen = [(KEYS[key], [(run, 1) for point, run in part if point == key]) for key in keys]
        sources.append((path, chosen))
    if len(parts) > 1:
        assert merged(sources, KEYS).parquet() == expected.parquet()
    turned = as_file(merged(sources, KEYS[::-1]))
    assert turned["key"].unique(maintain_order=True).to_list() == [
        key for key in KEYS[::-1] if key in turned["key"]
    ]


def test_what_is_no_batch_is_an_error() -> None:
    content = batch_of(flows=pl.DataFrame({"point": [1], "replication": [1]})).to_bytes()
    for wrong in (b"flows", content[:-1], content[:20] + b"?" + content[21:]):
        with pytest.raises(ValueError, match=r"."):
            Batch(wrong)


def test_a_file_that_is_gone_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"gone\.parquet"):
        merged([(tmp_path / "gone.parquet", [("first", [(0, 1)])])], KEYS)


def test_tables_in_memory_and_in_files_are_the_same(tmp_path: Path) -> None:
    def derive(run: retx.RunTables) -> dict[str, float | None]:
        return {"rows": float(run.segments.height), "none": None}

    wanted = {"derive": derive, "derive_from": ["segments"], "tables": KEEP}
    kept = retx.sweep(SAMPLED, replications=3, out=tmp_path / "out", **wanted)
    there = retx.sweep(SAMPLED, replications=3, **wanted)
    assert {"flows", "link_samples", "acks", "episodes", "derived"} <= kept.tables.keys()
    assert kept.tables.keys() == there.tables.keys()
    for name, table in kept.tables.items():
        assert_frame_equal(table, there.tables[name])
    one = kept.segments.filter(
        pl.col(P) == 0.05, pl.col("flow.download.tcp") == "cubic", pl.col("replication") == 2
    )
    values = {P: 0.05, "flow.download.tcp": "cubic"}
    alone = retx.replicate(SAMPLED, 3, overrides=values, segments=True)
    again = alone[2].segments.with_columns(pl.col(pl.Enum).cast(pl.String))
    assert_frame_equal(one.select(again.columns), again)


def test_what_is_recorded_alike_comes_together_from_one_queue() -> None:
    pool = retx._native.Pool(retx._native.Control(), threads=2)
    scenario = retx._native.parse(SCENARIO, "")
    for point in range(4):
        drops = point % 2
        pool.submit(point, scenario, 3, 5, tables=["drops"] * drops, kind=drops)
    found: dict[tuple[int, bool], int] = {}
    idle = False
    while not idle:
        batches, idle, failed = pool.take(1.0)
        assert not failed
        for batch in batches:
            for point, runs, _, _ in batch.runs():
                place = (point, "drops" in batch.names())
                found[place] = found.get(place, 0) + runs
    pool.close()
    assert found == {(0, False): 5, (1, True): 5, (2, False): 5, (3, True): 5}
