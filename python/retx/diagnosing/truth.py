"""Simulated captures with known truth, to validate the diagnosis."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from retx.results.result import Result
from retx.running.run import run

PLACES = ("sender", "middle", "receiver")
"""Interfaces of the captures, in their order."""

PRESETS = ("linux", "linux_reno", "linux_bbr", "sack", "newreno", "reno", "rack")
PRESETS_OF_LINUX = ("linux", "linux_reno", "linux_bbr")
CHANNELS: dict[str, dict[str, Any]] = {
    "bernoulli": {"model": "bernoulli", "p": 0.01},
    "bernoulli-heavy": {"model": "bernoulli", "p": 0.05},
    "bursts": {"model": "gilbert_elliott", "p": 0.002, "r": 0.2, "h": 0.2},
    "queue": {},
    "delays": {"model": "random_delay", "share": 0.004, "law": "exponential", "delay": "400 ms"},
    "reordering": {"model": "reorder", "p": 0.02, "packets": 4},
    "reordering-and-loss": {},
}
BOTH = [{"model": "reorder", "p": 0.02, "packets": 4}, {"model": "bernoulli", "p": 0.01}]


SAME_S = 1e-3
"""Maximum time by which a host delays the first retransmission after the start of its episode."""


@dataclass
class Packet:
    """Data packet of the sender in a capture."""

    frame: int
    identity: int
    time_s: float
    seq: int
    is_retransmission: bool
    is_needless: bool
    kind: str | None = field(default=None)
    """Kind of a retransmission: `fast_retransmit`, `rto` or `tlp`."""


@dataclass(frozen=True)
class Case:
    """A simulated download."""

    preset: str
    channel: str
    timestamps: bool
    draw: int
    ids: bool = True

    @property
    def name(self) -> str:
        """Name of the case and of its files."""
        stamps = "timestamps" if self.timestamps else "none"
        return f"{self.preset}-{self.channel}-{stamps}-{self.draw}"

    def scenario(self) -> dict[str, Any]:
        """The scenario."""
        queue = 25 if self.channel == "queue" else 200
        last: dict[str, Any] = {
            "name": "last",
            "ends": ["router", "client"],
            "rate": ["4 Mbit/s", "10 Mbit/s", "30 Mbit/s"][self.draw % 3],
            "delay": ["8 ms", "30 ms", "90 ms"][self.draw // 3 % 3],
            "queue": {"discipline": "droptail", "packets": queue},
        }
        first: dict[str, Any] = {
            "name": "first",
            "ends": ["server", "router"],
            "rate": "200 Mbit/s",
            "delay": "6 ms",
        }
        of_name = CHANNELS.get(self.channel)
        channel = BOTH if self.channel == "reordering-and-loss" else of_name
        if channel:
            # In odd draws packets are lost before the capture in the middle, in even draws after
            # it.
            (first if self.draw % 2 else last)["forward"] = {"channel": channel}
        flow = {"name": "download", "from": "server", "to": "client", "tcp": "tcp",
                "app": {"kind": "transfer", "bytes": 1_500_000}}  # fmt: skip
        return {
            "title": self.name,
            "duration": "300 s",
            "tcp": {"tcp": {"like": self.preset, "timestamps": self.timestamps}},
            "link": [first, last],
            "flow": [flow],
        }

    def run(self, capture: Path) -> Result:
        """Simulates the case, with captures at all places."""
        places = ["first@server", "last@router", "last@client"]
        return run(self.scenario(), seed=self.draw + 1, pcap=capture, pcap_at=places)


@dataclass(frozen=True)
class RandomCase(Case):
    """Download with a random path, channel, receive buffer and size, drawn by its number."""

    def scenario(self) -> dict[str, Any]:
        """The scenario."""
        draw = Random(self.draw)
        scenario = super().scenario()
        first, last = scenario["link"]
        last["rate"] = f"{round(math.exp(draw.uniform(0.0, 4.0)), 2)} Mbit/s"
        last["delay"] = f"{round(math.exp(draw.uniform(1.0, 4.6)), 1)} ms"
        last["queue"] = {"discipline": "droptail", "packets": draw.randint(15, 300)}
        for link in (first, last):
            link.pop("forward", None)
        channels: list[Any] = [
            {},
            {"model": "bernoulli", "p": round(math.exp(draw.uniform(-7.0, -3.0)), 5)},
            {"model": "gilbert_elliott", "p": 0.002, "r": 0.2, "h": draw.choice([0.0, 0.3])},
            CHANNELS["delays"],
            CHANNELS["reordering"],
        ]
        if channel := draw.choice(channels):
            draw.choice([first, last])["forward"] = {"channel": channel}
        tcp = scenario["tcp"]["tcp"]
        if draw.random() < 0.25:
            tcp["receive_buffer"] = draw.choice([16_384, 65_536])
        scenario["flow"][0]["app"]["bytes"] = round(math.exp(draw.uniform(12.0, 15.0)))
        return scenario


@dataclass(frozen=True)
class ShortCase(RandomCase):
    """Random path with little data at a time: a short transfer, or short requests."""

    def scenario(self) -> dict[str, Any]:
        """The scenario."""
        draw = Random(self.draw + 2_000_000)
        scenario = super().scenario()
        size = round(math.exp(draw.uniform(7.0, 11.5)))
        app: dict[str, Any] = {"kind": "transfer", "bytes": size}
        if draw.random() < 0.5:
            think = f"{round(draw.choice([0.0, draw.uniform(1.0, 300.0)]), 1)} ms"
            app = {"kind": "request_response", "request": 400, "response": size, "think": think}
            app["exchanges"] = draw.randint(2, 40)
        scenario["flow"][0]["app"] = app
        return scenario


@dataclass(frozen=True)
class UploadCase(RandomCase):
    """Random download beside an upload, behind whose data its acknowledgments wait."""

    def scenario(self) -> dict[str, Any]:
        """The scenario."""
        draw = Random(self.draw + 3_000_000)
        scenario = super().scenario()
        queue = {"discipline": "droptail", "packets": draw.randint(15, 100)}
        rate = f"{round(math.exp(draw.uniform(-0.7, 2.3)), 2)} Mbit/s"
        scenario["link"][1]["reverse"] = {"rate": rate, "queue": queue}
        upload = {"name": "upload", "from": "client", "to": "server", "tcp": "linux", "app": "bulk"}
        scenario["flow"].append(upload)
        # An upload without end would make the run last that long.
        scenario["duration"] = "60 s"
        return scenario


LATENESS_S = 0.02
"""Maximum lateness of an emulation that is used, seconds. Late packets do not invalidate the known
truth.
"""


@dataclass(frozen=True)
class KernelCase(RandomCase):
    """Random download with this machine's kernel as sender and receiver."""

    def run(self, capture: Path) -> Result:
        """Emulates the case, with captures at all places."""
        from retx.running.emulation import emulate

        places = ["first@server", "last@router", "last@client"]
        scenario = self.scenario()
        return emulate(
            scenario,
            seed=self.draw + 1,
            pcap=capture,
            pcap_at=places,
            lateness_bound_s=LATENESS_S,
        )


def _numbered(
    kind: type[RandomCase], count: int, first: int, presets: Sequence[str]
) -> Iterator[Case]:
    """Cases of a kind, numbered from `first`; half of them have timestamps."""
    for number in range(first, first + count):
        preset = Random(number + 1_000_000).choice(presets)
        yield kind(preset, "random", number % 2 == 0, number)


def kernel_cases(count: int, *, first: int = 0) -> Iterator[Case]:
    """Random cases for the kernel, numbered from `first`."""
    return _numbered(KernelCase, count, first, PRESETS_OF_LINUX)


def random_cases(count: int, *, first: int = 0, ids: bool = True) -> Iterator[Case]:
    """Random cases, numbered from `first`."""
    return (replace(case, ids=ids) for case in _numbered(RandomCase, count, first, PRESETS))


def short_cases(count: int, *, first: int = 0) -> Iterator[Case]:
    """Random cases with little data at a time, numbered from `first`."""
    return _numbered(ShortCase, count, first, PRESETS)


def upload_cases(count: int, *, first: int = 0) -> Iterator[Case]:
    """Random cases beside an upload, numbered from `first`."""
    return _numbered(UploadCase, count, first, PRESETS)


def cases(draws: int, *, ids: bool = True) -> Iterator[Case]:
    """Every case, with `draws` draws of each."""
    for preset, channel, timestamps in product(PRESETS, CHANNELS, (True, False)):
        for draw in range(draws):
            yield Case(preset, channel, timestamps, draw, ids)


def captured(folder: Path, case: Case) -> Iterator[tuple[str, list[Packet], Path]]:
    """Yields each capture point with the data packets seen there, and a capture file of its own.

    The files lack the simulator's comments, which contain the truth.
    """
    frames = list(_frames((folder / "whole.pcapng").read_bytes()))
    # Packets of other flows, such as an upload, are left out.
    ports = {frames[0][2][at : at + 2] for at in (20, 22)}
    frames = [it for it in frames if {it[2][20:22], it[2][22:24]} == ports]
    for index, place in enumerate(PLACES):
        here = [frame for frame in frames if frame[0] == index]
        packets = []
        origin: int | None = None
        pieces = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)]
        for number, (_, time_ns, data, comment) in enumerate(here, start=1):
            port = data[20:22]
            is_data = port == here[0][2][22:24]
            identity = struct.unpack_from(">H", data, 4)[0]
            counted = (identity + 4710) & 0xFFFF if case.ids else 0
            data = data[:4] + struct.pack(">H", counted) + data[6:]
            pieces.append(
                struct.pack("<IIII", *divmod(time_ns, 10**9), len(data), len(data)) + data
            )
            seq = struct.unpack_from(">I", data, 24)[0]
            length = len(data) - 20 - (data[32] >> 4) * 4
            if is_data and data[33] & 2:
                origin = seq
            if is_data and length > 0 and origin is not None:
                again = "retransmission" in comment
                needless = "unnecessary" in comment
                position = (seq - origin) & 0xFFFFFFFF
                packets.append(Packet(number, identity, time_ns / 1e9, position, again, needless))
        path = folder / f"{place}.pcap"
        path.write_bytes(b"".join(pieces))
        yield place, packets, path


def _frames(content: bytes) -> Iterator[tuple[int, int, bytes, str]]:
    """Interface, nanoseconds, IP packet and comment of each frame of a capture made by retx."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:
            interface, high, low, captured_bytes = struct.unpack_from("<IIII", content, at + 8)
            data = content[at + 28 : at + 28 + captured_bytes]
            options = at + 28 + (captured_bytes + 3) // 4 * 4
            comment = ""
            while options < at + length - 4:
                code, size = struct.unpack_from("<HH", content, options)
                if code == 1:
                    comment = content[options + 4 : options + 4 + size].decode()
                options += 4 + (size + 3) // 4 * 4
            yield interface, high << 32 | low, data, comment
        at += length


class Kinds:
    """Kind of each retransmission, by the simulator's packet number."""

    def __init__(self, sent: Sequence[Packet], result: Result) -> None:
        segments = result.segments.filter(result.segments["length_bytes"] > 0)
        rows: dict[int, list[str | None]] = {}
        for seq, cause in segments.select("seq", "cause").iter_rows():
            rows.setdefault(seq, []).append(cause)
        self._kinds: dict[int, str] = {}
        self._sent_s = {packet.identity: packet.time_s for packet in sent}
        self._episodes = list(result.episodes.select("kind", "start_s", "cause").iter_rows())
        for packet in sent:
            left = rows.get(packet.seq)
            cause = left.pop(0) if left else None
            self._kinds[packet.identity] = cause or "tlp"

    def set(self, packets: Sequence[Packet]) -> None:
        """Sets the kind of each retransmission."""
        for packet in packets:
            if packet.is_retransmission:
                packet.kind = self._kinds.get(packet.identity)

    def cause(self, trigger: Packet, kind: str) -> str | None:
        """Cause of the episode that this retransmission started; None if it started none."""
        sent_s = self._sent_s[trigger.identity]
        for own, start_s, cause in self._episodes:
            if own == kind and abs(start_s - sent_s) < SAME_S:
                return str(cause)
        return None
