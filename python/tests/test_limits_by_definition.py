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
