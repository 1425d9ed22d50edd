"""Scenarios made so that what limits their flow is known."""

from __future__ import annotations

import pytest

import retx
from retx.analysis.limits import flat, shares

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
        {"app": '{ kind = "transfer", bytes = 1000 }', "delay": "200 ms"},
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


def test_the_way_of_the_first_request_is_no_handshake() -> None:
    """A kept connection saves the handshake, one of two round trips; the request takes its time."""
    app = REQUESTS.format(response=200, think="0 s", connection="each")
    found = limits({"app": app, "delay": "200 ms"})
    assert found["handshake"] == pytest.approx(0.5, abs=0.01), found
    assert found["application"] == pytest.approx(0.5, abs=0.01), found


ASYMMETRIC = """
seed = 1
duration = "30 s"
tcp.linux.like = "linux"
[[link]]
name = "net"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "10 ms"
queue = {{ discipline = "droptail", packets = 100 }}
reverse.rate = "{back}"
[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "linux"
app = "bulk"
"""
UPLOAD = """
[[flow]]
name = "upload"
from = "client"
to = "server"
tcp = "linux"
app = "bulk"
"""


def test_acknowledgments_behind_an_upload_make_the_window_the_limit() -> None:
    """Data that have arrived keep no link busy while their acknowledgment waits."""
    result = retx.run(ASYMMETRIC.format(back="1 Mbit/s") + UPLOAD)
    found = shares(flat(result.summary["flows"][0]["limited_by"]))
    busy = next(it for it in result.summary["links"] if it["direction"] == "forward")["utilisation"]
    assert busy < 0.6
    assert found["bottleneck"] < busy, found
    assert found["window.congestion"] == max(found.values()), found


def test_a_link_too_slow_for_the_acknowledgments_is_the_bottleneck() -> None:
    """The acknowledgments keep the slow direction busy: a larger window would gain nothing."""
    result = retx.run(ASYMMETRIC.format(back="100 kbit/s"))
    found = shares(flat(result.summary["flows"][0]["limited_by"]))
    ways = {it["direction"]: it["utilisation"] for it in result.summary["links"]}
    assert ways["forward"] < 0.8 < 0.99 < ways["reverse"]
    assert found["bottleneck"] >= ONLY, found


SILENT = """
seed = 1
duration = "60 s"
[tcp.ours]
like = "sack"
timestamps = true
max_cwnd = 300000 # so that the window remains the limit
spurious = "{spurious}"
[[link]]
name = "way"
ends = ["server", "client"]
rate = "100 Mbit/s"
delay = "100 ms"
queue = {{ discipline = "droptail", packets = 3000 }}
schedule = [{{ at = "10 s", delay = "2 s" }}, {{ at = "10.1 s", delay = "100 ms" }}]
[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "ours"
app = "bulk"
"""


def test_an_undone_reduction_counts_until_its_undo() -> None:
    """One delay, one spurious timeout: with the undo of Linux the window is soon as before."""
    found = {}
    for name in ("none", "linux"):
        result = retx.run(SILENT.format(spurious=name))
        assert result.summary["flows"][0]["episodes"]["rto"]["spurious"] >= 1
        found[name] = shares(flat(result.summary["flows"][0]["limited_by"]))["window.spurious"]
    assert found["none"] > 0.7, found
    assert found["linux"] < 0.05, found


def test_a_timer_that_outlasts_a_recovery_has_its_cause() -> None:
    """NewReno repairs one of many losses per round trip; its timer expires in between."""
    result = retx.run(
        NETWORK.format(**BASE | {"like": "newreno", "delay": "120 ms", "rate": "10 Mbit/s"})
    )
    flow = result.summary["flows"][0]
    assert flow["episodes"]["rto"]["spurious"] >= 1
    found = shares(flat(flow["limited_by"]))
    assert sum(share for key, share in found.items() if key.endswith(".spurious")) == 0, found
