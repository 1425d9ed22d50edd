"""Shapes of networks: what they say, and that they run."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import retx
from retx import topology

SHORT: dict[str, Any] = {"duration": "2 s"}


@pytest.mark.parametrize(
    ("scenario", "links", "flows"),
    [
        (topology.dumbbell(1, **SHORT), 3, 1),
        (topology.dumbbell(5, reverse=2, **SHORT), 11, 7),
        (topology.chain(1, **SHORT), 1, 1),
        (topology.chain(4, **SHORT), 4, 1),
        (topology.parking_lot(3, **SHORT), 3, 4),
        (topology.satellite(duration="20 s"), 2, 1),
    ],
)
def test_shapes_run(scenario: dict[str, Any], links: int, flows: int) -> None:
    assert (len(scenario["link"]), len(scenario["flow"])) == (links, flows)
    result = retx.run(scenario)
    assert len(result.flows) == flows
    assert all(result.flows["bytes_delivered"].to_list())


def test_keys_are_taken_and_tables_are_not_shared() -> None:
    scenario = topology.dumbbell(
        2,
        bottleneck={"rate": "1 Mbit/s", "forward": {"delay": "3 ms"}},
        access={"channel": {"model": "bernoulli", "p": 0.01}},
        flow={"tcp": "reno", "app": {"kind": "transfer", "bytes": 1000}},
        seed=3,
        **SHORT,
    )
    scenario["link"][1]["channel"]["p"] = 0.5
    scenario["flow"][0]["app"]["bytes"] = 10
    resolved = retx.resolve(scenario)
    links = {link["name"]: link for link in resolved["link"]}
    assert links["bottleneck"]["rate"] == "1 Mbit/s"
    assert [links[f"left{i}"]["channel"]["p"] for i in (0, 1)] == [0.5, 0.01]
    assert [flow["app"]["bytes"] for flow in resolved["flow"]] == [10, 1000]
    assert resolved["seed"] == 3


def test_the_bottleneck_is_one_and_traffic_goes_both_ways() -> None:
    scenario = topology.dumbbell(2, reverse=1, duration="10 s")
    result = retx.run(scenario)
    rows = result.links.filter(result.links["name"] == "bottleneck").to_dicts()
    by_direction = {row["direction"]: row for row in rows}
    # Acknowledgments alone, one frame of 78 bytes for each of 1538, would make up 5 % at most.
    assert by_direction["forward"]["utilisation"] > 0.05
    assert by_direction["reverse"]["utilisation"] > 0.05


@pytest.mark.parametrize(
    "shape",
    [
        lambda cross: topology.dumbbell(2, cross=cross, **SHORT),
        lambda cross: topology.chain(3, cross=cross, **SHORT),
        lambda cross: topology.parking_lot(2, cross=cross, **SHORT),
        lambda cross: topology.satellite(cross=cross, **SHORT),
    ],
)
def test_udp_crosses_both_ways(shape: Any) -> None:
    scenario = shape(topology.Cross(forward=3, reverse=1, flow={"start": "100 ms"}))
    flows = {flow["name"]: flow for flow in scenario["flow"] if "udp" in flow}
    assert list(flows) == ["udp0", "udp1", "udp2", "udp_reverse0"]
    assert flows["udp0"]["from"] == flows["udp_reverse0"]["to"]
    rows = retx.run(scenario).flows.filter(pl.col("tcp").is_null())
    # 512 bytes at 100 kbit/s: a packet each 40.96 ms in 1.9 s.
    assert rows["datagrams_sent"].to_list() == [47] * 4
    assert min(rows["datagrams_delivered"].to_list()) > 0
    with pytest.raises(retx.ScenarioError, match=r"topology.cross.forward: .* found -1"):
        shape(topology.Cross(forward=-1))


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(retx.ScenarioError, match=r"topology.n: 0 lies outside 1 … 10000"):
        topology.dumbbell(0)
    with pytest.raises(retx.ScenarioError, match=r"topology.reverse: 3 lies outside 0 … 2"):
        topology.dumbbell(2, reverse=3)
    with pytest.raises(retx.ScenarioError, match=r"topology.hops: 0 lies outside 1 … 255"):
        topology.parking_lot(0)
    with pytest.raises(retx.ScenarioError, match=r"topology.space.name: the shape itself gives"):
        topology.satellite(space={"name": "up"})
    with pytest.raises(retx.ScenarioError, match="unknown key"):
        retx.run(topology.chain(2, link={"dealy": "1 ms"}))


LINK = 'rate = "3 Mbit/s", queue = "codel", forward = { channel = { model = "ber", ber = 1e-6 } }'
LINK_KEYS = {
    "rate": "3 Mbit/s",
    "queue": "codel",
    "forward": {"channel": {"model": "ber", "ber": 1e-6}},
}
FLOW = {"tcp": "sack", "app": {"kind": "transfer", "bytes": 9000}}
FLOW_TOML = 'flow = { tcp = "sack", app = { kind = "transfer", bytes = 9000 } }'
CROSS = topology.Cross(forward=3, reverse=2, flow={"udp": {"packet": 99, "rate": "1 Mbit/s"}})
CROSS_TOML = """[topology.cross]
forward = 3
reverse = 2
flow = { udp = { packet = 99, rate = "1 Mbit/s" } }
"""


@pytest.mark.parametrize(
    ("scenario", "table"),
    [
        (topology.chain(3), "shape = 'chain'\nhops = 3"),
        (topology.chain(2, link=LINK_KEYS, flow=FLOW, cross=CROSS),
         f"shape = 'chain'\nhops = 2\nlink = {{ {LINK} }}\n{FLOW_TOML}\n{CROSS_TOML}"),
        (topology.dumbbell(2), "shape = 'dumbbell'\nn = 2"),
        (topology.dumbbell(3, reverse=2, bottleneck=LINK_KEYS, access={"delay": "2 ms"},
                           flow=FLOW, cross=CROSS),
         "shape = 'dumbbell'\nn = 3\nreverse = 2\naccess.delay = '2 ms'\n"
         f"bottleneck = {{ {LINK} }}\n{FLOW_TOML}\n{CROSS_TOML}"),
        (topology.parking_lot(4), "shape = 'parking_lot'\nhops = 4"),
        (topology.parking_lot(2, link=LINK_KEYS, flow=FLOW, cross=CROSS),
         f"shape = 'parking_lot'\nhops = 2\nlink = {{ {LINK} }}\n{FLOW_TOML}\n{CROSS_TOML}"),
        (topology.satellite(), "shape = 'satellite'"),
        (topology.satellite(space=LINK_KEYS, ground={"mtu": 1600}, flow=FLOW, cross=CROSS),
         "shape = 'satellite'\nground.mtu = 1600\n"
         f"space = {{ {LINK} }}\n{FLOW_TOML}\n{CROSS_TOML}"),
    ],
)  # fmt: skip
def test_a_file_says_the_same(scenario: dict[str, Any], table: str) -> None:
    text = f'duration = "60 s"\n[topology]\n{table}\n'
    assert retx.resolve(text) == retx.resolve(scenario)
    assert "topology" not in retx.resolve(text)


def test_links_and_flows_of_the_callers_own_follow() -> None:
    own = {"name": "spur", "ends": ["terminal", "host"]}
    scenario = topology.satellite(link=[own], title="with a spur")
    assert [link["name"] for link in scenario["link"]] == ["ground", "space", "spur"]
    file = 'duration = "60 s"\ntitle = "with a spur"\ntopology = "satellite"\n'
    file += '[[link]]\nname = "spur"\nends = ["terminal", "host"]\n'
    assert retx.resolve(file) == retx.resolve(scenario)


def test_every_shape_is_listed() -> None:
    listed = {entry["name"]: entry["parameters"] for entry in retx.describe()["topology"]}
    assert listed.keys() == set(topology.__all__) - {"Cross"}
    assert {parameter["name"] for parameter in listed["dumbbell"]} == {
        "n", "bottleneck", "access", "flow", "reverse", "cross"
    }  # fmt: skip
