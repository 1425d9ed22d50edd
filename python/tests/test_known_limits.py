"""Scenarios made so that what limits their flow is known."""

from __future__ import annotations

import pytest

import retx
from retx.shares import flat, shares

NETWORK = """
seed = 1
duration = "{duration}"
[tcp.ours]
like = "{like}"
{tcp}
[[link]]
name = "way"
ends = ["server", "client"]
rate = "{rate}"
delay = "{delay}"
queue = {{ discipline = "droptail", packets = {packets} }}
{link}
[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "ours"
app = {app}
{flow}
"""
BASE = {
    "duration": "30 s",
    "like": "sack",
    "tcp": "",
    "rate": "20 Mbit/s",
    "delay": "20 ms",
    "packets": 100,
    "link": "",
    "app": '"bulk"',
    "flow": "",
}
REQUESTS = (
    '{{ kind = "request_response", request = 300, response = {response}, think = "{think}",'
    ' connection = "{connection}" }}'
)
ONLY = 0.9
"""Least share of a limit that is the only one."""
MOST = 0.6

KNOWN = {
    "zero window": (
        {"tcp": "receive_buffer = 40000", "flow": 'read_rate = "500 kbit/s"'},
        "receive_window",
        ONLY,
    ),
    "receive window": ({"tcp": "receive_buffer = 20000"}, "receive_window", ONLY),
    "send buffer": ({"tcp": "send_buffer = 20000"}, "send_buffer", ONLY),
    "application": (
        {"app": REQUESTS.format(response=1000, think="2 s", connection="one")},
        "application",
        ONLY,
    ),
    "handshake": (
        {"app": REQUESTS.format(response=200, think="0 s", connection="each"), "delay": "200 ms"},
        "handshake",
        MOST,
    ),
    "standing queue": ({"packets": 1000}, "bottleneck", ONLY),
    "random loss": (
        {"link": 'forward.channel = { model = "bernoulli", p = 0.002 }', "rate": "100 Mbit/s"},
        "window.wireless",
        ONLY,
    ),
    "small queue": (
        {"packets": 3, "rate": "100 Mbit/s", "duration": "60 s"},
        "window.congestion",
        ONLY,
    ),
    "silence of the timer": (
        {"link": 'forward.channel = { model = "bernoulli", p = 0.35 }', "duration": "300 s"},
        "timeout.wireless",
        ONLY,
    ),
    "spurious timeouts": (
        {
            "link": 'forward.channel = { model = "random_delay", share = 0.002, law = "constant", '
            'delay = "3 s" }',
            "tcp": 'spurious = "none"',
            "rate": "100 Mbit/s",
            "duration": "300 s",
        },
        ".spurious",
        ONLY,
    ),
    "lost acknowledgments": (
        {
            "link": 'reverse.channel = { model = "bernoulli", p = 0.6 }',
            "tcp": "receive_buffer = 6000",
            "duration": "120 s",
        },
        ".spurious",
        ONLY,
    ),
    "delayed acknowledgment": (
        {
            "app": REQUESTS.format(response=2000, think="0 s", connection="one"),
            "tcp": "nagle = true",
            "delay": "1 ms",
        },
        "delayed_ack",
        ONLY,
    ),
}


def limits(changes: dict) -> dict[str, float]:
    """Shares of the life of the flow of a scenario."""
    result = retx.run(NETWORK.format(**BASE | changes))
    return shares(flat(result.summary["flows"][0]["limited_by"]))


@pytest.mark.parametrize("case", KNOWN.values(), ids=KNOWN)
def test_the_limit_that_was_built_in_is_the_largest(case) -> None:
    changes, key, least = case
    found = limits(changes)
    kinds = found if key[0] != "." else {key: sum(v for k, v in found.items() if k.endswith(key))}
    rest = {k: v for k, v in found.items() if not k.endswith(key)}
    assert kinds[key] >= least, found
    assert kinds[key] > max(rest.values()), found
