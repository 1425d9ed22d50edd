"""Printed rows of many flows: the same as if every flow were read."""

from pathlib import Path

import pytest

import retx
from retx.cli import flow_rows
from retx.cli.flow_rows import FlowRows

SCENARIO = """
duration = "4 s"
[tcp.guessing]
like = "sack"
loss_cause = "spike"
[[link]]
name = "path"
ends = ["a", "b"]
rate = "200 Mbit/s"
delay = "5 ms"
queue = { discipline = "droptail", packets = 300 }
channel = { model = "bernoulli", p = 0.02 }
[[flow]]
name = "download"
from = "a"
to = "b"
tcp = "newreno"
app = "bulk"
count = 150
stagger = "5 ms"
[[flow]]
name = "guess"
from = "a"
to = "b"
tcp = "guessing"
app = "bulk"
count = 100
[[flow]]
name = "voice"
from = "a"
to = "b"
udp = { packet = 160, rate = "64 kbit/s" }
app = "cbr"
count = 30
[[flow]]
name = "web"
from = "a"
to = "b"
tcp = "newreno"
app = { kind = "request_response", request = 300, response = 5000, think = "0.1 s" }
count = 90
"""


@pytest.mark.parametrize("at_once", [1, 100, 2048])
def test_many_flows_are_counted_by_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(flow_rows, "COUNTED_AT_ONCE", at_once)
    file = tmp_path / "many.toml"
    file.write_text(SCENARIO)
    result = retx.run(file)
    summary = result.summary
    assert len(summary["flows"]) == 370
    fast = FlowRows(summary["scenario"], result.outline["flows"])
    slow = FlowRows(summary["scenario"], list(summary["flows"]))
    for name in ("tcp", "udp", "exchanges", "episodes", "inferred"):
        assert getattr(fast, name).total == getattr(slow, name).total > 20, name
        assert list(getattr(fast, name)) == list(getattr(slow, name))
