"""Captures of IPv6: read like those of IPv4, with a header 20 bytes longer."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import retx
from retx.fitting.captures.capture import fit_capture

LONGER = 20
"""Bytes of IPv6's header beyond IPv4's."""
PREFIX = bytes.fromhex("20010db8") + bytes(8)
SCENARIO: dict[str, Any] = {
    "duration": "60 s",
    "seed": 3,
    "link": [
        {"name": "first", "ends": ["server", "router"], "rate": "1 Gbit/s", "delay": "0.1 ms"},
        {
            "name": "last",
            "ends": ["router", "client"],
            "rate": "8 Mbit/s",
            "delay": "20 ms",
            # Ethernet's 38 bytes, and what IPv6's header has more than the simulated one.
            "overhead": 38 + LONGER,
            "queue": {"discipline": "droptail", "packets": 40},
            "forward": {"channel": {"model": "bernoulli", "p": 0.002}},
        },
    ],
    "flow": [
        {
            "name": "download",
            "from": "server",
            "to": "client",
            "tcp": "linux",
            "app": {"kind": "transfer", "bytes": 3_000_000},
        }
    ],
}


def as_ipv6(capture: bytes) -> bytes:
    """The packets of a pcapng file of retx (raw IPv4, nanoseconds) as a pcap file of raw IPv6."""
    raw_ip, enhanced_packet = 101, 6
    written = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, raw_ip)]
    position = 0
    while position < len(capture):
        kind, length = struct.unpack_from("<II", capture, position)
        body = capture[position + 8 : position + length - 4]
        position += length
        if kind != enhanced_packet:
            continue
        high, low, captured, original = struct.unpack_from("<4xIIII", body)
        packet = body[20 : 20 + captured]
        header = 4 * (packet[0] & 15)
        payload = original - header
        addresses = (PREFIX + packet[at : at + 4] for at in (12, 16))
        fixed = struct.pack(">IHBB", 6 << 28 | packet[1] << 20, payload, packet[9], packet[8])
        ipv6 = fixed + b"".join(addresses) + packet[header:]
        seconds, nanoseconds = divmod(high << 32 | low, 10**9)
        written.append(struct.pack("<IIII", seconds, nanoseconds, len(ipv6), original + LONGER))
        written.append(ipv6)
    return b"".join(written)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A capture of IPv4, and the same packets with headers of IPv6."""
    folder = tmp_path_factory.mktemp("ipv6")
    old, new = folder / "old.pcapng", folder / "new.pcap"
    retx.run(SCENARIO, pcap=old, pcap_at="first@server")
    new.write_bytes(as_ipv6(old.read_bytes()))
    return old, new


def test_a_diagnosis_is_that_of_the_same_packets_in_ipv4(captures: tuple[Path, Path]) -> None:
    old, new = (retx.diagnose(file).flow(1) for file in captures)
    assert new["name"].startswith("[2001:db8::")
    again = [
        [
            {key: value for key, value in it.items() if key != "from"}
            for it in flow["retransmissions"]
        ]
        for flow in (old, new)
    ]
    assert again[0] == again[1]
    assert len(again[0]) > 5
    for key in ("limited_by", "stalls", "life_s", "bytes"):
        assert new[key] == old[key]


def test_a_fitted_scenario_has_the_longer_header_as_overhead(captures: tuple[Path, Path]) -> None:
    fit = fit_capture(captures[1])
    assert fit.path["rate_bit_s"]["value"] == pytest.approx(8e6, rel=0.003)
    # Without the header the rate would be 1.3 % less.
    assert fit_capture(captures[0]).path["rate_bit_s"]["value"] < 7.95e6
    bottleneck = retx.resolve(fit.toml())["link"][1]
    assert bottleneck["overhead"] == 38 + LONGER
