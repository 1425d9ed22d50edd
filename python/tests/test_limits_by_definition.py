"""`limited_by` beside a second reading of its definitions, from the tables of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from limits_by_definition import ALIKE, reading
from removed_limits import scenario


@pytest.mark.parametrize("seed", range(6))
def test_the_tables_tell_the_same_limits(seed: int) -> None:
    data = scenario(Random(seed)) | {"duration": "10 s"}
    engine, tables = reading(data)
    life = sum(engine.values())
    assert sum(tables.values()) == pytest.approx(life, rel=1e-6)
    for key in {*engine, *tables}:
        assert abs(engine.get(key, 0.0) - tables.get(key, 0.0)) < ALIKE * life, key


def test_a_retransmission_under_way_leaves_the_peers_window() -> None:
    """A buffer of four segments and 2 % of loss: recoveries have sent again all that is missing.

    What then keeps new data back is the peer's window, of which a gap holds the room.
    """
    random = Random(1)
    data = [scenario(random) for _ in range(20)][19]
    assert data["tcp"]["ours"] == {"like": "rack", "receive_buffer": 6000}
    engine, tables = reading(data | {"duration": "10 s"})
    life = sum(engine.values())
    for key in {*engine, *tables}:
        assert abs(engine.get(key, 0.0) - tables.get(key, 0.0)) < 0.005 * life, key


@pytest.mark.parametrize(
    ("number", "key"),
    [
        # Under one limit the peer delays an acknowledgment, and a later one never comes.
        (84, "timeout.spurious"),
        # Thirty segments are six bytes less than 95 % of the path's product.
        (266, "bottleneck"),
    ],
)
def test_silences_and_products_are_counted_to_the_end(number: int, key: str) -> None:
    random = Random(1)
    data = [scenario(random) for _ in range(number + 1)][number]
    engine, tables = reading(data)
    life = sum(engine.values())
    assert engine[key] > 0.1 * life
    assert abs(engine[key] - tables[key]) < 0.005 * life
