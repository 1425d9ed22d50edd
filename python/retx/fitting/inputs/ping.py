"""Logs of ping: Linux (iputils), BSD and macOS, BusyBox, Windows.

Replies are recognised in every language, since all contain `icmp_seq=` or `TTL=`. If a line about a
request is not understood, it is counted, and the fate of this request is unknown. If the log has
time stamps (`ping -D`), the time of a request is the stamp of its reply minus the RTT. Without
stamps, requests are one second or `interval_s` apart. A request without a reply counts as lost,
except the last one, which may still be in flight. 16-bit sequence numbers wrap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from retx.fitting.series import Packets, Series

STAMP = re.compile(r"^\s*\[(\d+\.\d+)\]")
CLOCK = re.compile(r"^\s*(\d\d):(\d\d):(\d\d\.\d+)")
STAMPS = re.compile(r"^\s*(?:\[[\d.]+\]|\d\d:\d\d:\d\d\.\d+)")
SEQUENCE = re.compile(r"\b(?:icmp_seq|seq|icmp_req)[= ](\d+)")
RTT = re.compile(r"[=<]\s?(\d+(?:[.,]\d+)?)\s?(?:ms\b|мс|毫秒|ミリ秒)")
# “64 bytes from”, “64 Bytes von”, “64 字节”: an optional time, a number, and a word.
BYTES = re.compile(r"^\s*(?:\[[\d.]+\]\s*|\d\d:\d\d:\d\d\.\d+\s+)?(\d+) [^\W\d]")
# An address and a colon, then size, RTT and TTL for IPv4, or only the RTT for IPv6.
WINDOWS_REPLY = re.compile(r"^\S.*[:：].*?=\s?(\d+)\b.*TTL=\d+\s*$", re.MULTILINE)
WINDOWS_REPLY_IPV6 = re.compile(r"^\S.*:[0-9a-fA-F:.%]* ?: ?\S+[=<]\d+ ?\S+\s*$", re.MULTILINE)
SENT = re.compile(r"(\d+) packets transmitted")
WINDOWS_HEAD = re.compile(r"(?:Pinging|Ping wird ausgef|ping sur|Haciendo ping)")
NOT_YET, TIMED_OUT = "no answer yet", "Request timeout for icmp_seq"
WINDOWS_LOST = re.compile(
    # The encoding of accented letters depends on the console's code page, which is unknown, so any
    # character matches.
    r"(?:Request timed out|Zeit.berschreitung|D.lai d.attente|Tiempo de espera agotado"
    r"|Richiesta scaduta|Esgotado o tempo limite|General failure|Allgemeiner Fehler"
    r"|[Dd]estination (?:host|net|port) unreachable|nicht erreichbar)"
)
UNREACHABLE = re.compile(r"(?:Destination .* Unreachable|Time to live exceeded|Packet filtered)")
# For each request without a reply, Windows prints one sentence. Headings are excluded because they
# end with a colon.
SENTENCE = re.compile(r"^\S.*[.。]\s*$")
WRAP = 1 << 16
WINDOWS_BYTES = 32
"""Default size of the data in Windows' requests."""
IPV4_BYTES, IPV6_BYTES, ICMP_BYTES = 20, 40, 8

UNKNOWN = (
    "whether a packet was lost on the way there or back: the scenario loses it on the way there",
    "the delay of each way: the scenario gives half of the shortest RTT to each",
    "the bottleneck's rate and queue: the scenario has an assumed rate",
    "what happens between two probes: losses and delays that last less than their distance",
    "how the path behaves under load",
)


@dataclass
class _Log:
    """Requests of one log, by unwrapped sequence number."""

    rtts: dict[int, float] = field(default_factory=dict)
    left: dict[int, float] = field(default_factory=dict)
    reported_lost: set[int] = field(default_factory=set)
    not_understood: dict[int, str] = field(default_factory=dict)
    """First line that was not understood, for each request."""
    duplicates: int = 0
    reordered: int = 0
    unreachable: int = 0
    bytes: int = 64
    is_ipv6: bool = False
    last: int = -1
    sent: int | None = None
    stamped: bool = False

    def unwrapped(self, number: int) -> int:
        """Unwrapped sequence number: the one equal modulo 2¹⁶ that is nearest to the last one."""
        if self.last < 0:
            return number
        turns = round((self.last - number) / WRAP)
        return number + max(turns, 0) * WRAP


def read(text: str, name: str, interval_s: float = 1.0) -> Series:
    """Reads a log.

    Args:
        text: The log.
        name: Name of the file.
        interval_s: Time between requests if the log has no stamps.

    Raises:
        ValueError: The log has no reply and no loss.
    """
    log = _Log()
    is_windows = bool(
        WINDOWS_HEAD.search(text) or (not SEQUENCE.search(text) and _windows_reply(text))
    )
    (_read_windows if is_windows else _read_lines)(log, text)
    understood = len(log.rtts) + len(log.reported_lost)
    if log.not_understood and len(log.not_understood) >= understood:
        first = next(iter(log.not_understood.values()))
        raise ValueError(
            f"lines not understood: {len(log.not_understood)}, understood: {understood}; the "
            f"first is “{first}”: set the language of ping to English (LC_ALL=C ping -D …)"
        )
    if not understood:
        raise ValueError(
            "no reply of a ping in it: the log of `ping -D` (Linux), `ping` (BSD, macOS, Windows)"
        )
    return _series(log, name, interval_s, spaced=is_windows)


def _read_lines(log: _Log, text: str) -> None:
    """Reads the format of iputils, BSD and BusyBox: a sequence number in each line."""
    for line in text.splitlines():
        if sent := SENT.search(line):
            log.sent = int(sent[1])
        found = SEQUENCE.search(line)
        if not found:
            continue
        number, stamp = log.unwrapped(int(found[1])), _stamp(line)
        size, rtt = BYTES.search(line), RTT.search(line)
        if NOT_YET in line or line.lstrip().startswith(TIMED_OUT) or UNREACHABLE.search(line):
            log.unreachable += bool(UNREACHABLE.search(line))
            log.reported_lost.add(number)
            log.last = max(log.last, number)
        elif size and rtt:
            _reply(log, number, float(rtt[1].replace(",", ".")) / 1000, stamp)
            log.bytes, log.is_ipv6 = int(size[1]), _is_ipv6(line)
        elif size or rtt:
            log.not_understood.setdefault(number, line.strip())
            log.last = max(log.last, number)
        else:
            # A line about a request that has no size and no RTT is not a reply: it reports an
            # error, or that no reply has arrived yet.
            log.reported_lost.add(number)
            log.last = max(log.last, number)


def _reply(log: _Log, number: int, rtt_s: float, stamp: float | None) -> None:
    if number in log.rtts:
        log.duplicates += 1
        return
    log.reordered += number < log.last
    log.last = max(log.last, number)
    log.rtts[number] = rtt_s
    if stamp is not None:
        log.left[number] = stamp - rtt_s
        log.stamped = True


def _read_windows(log: _Log, text: str) -> None:
    """Reads the format of Windows: no numbers and no stamps; each line is the next request."""
    number = 0
    time_s = 0.0
    for line in text.splitlines():
        reply, rtt = _windows_reply(line), RTT.search(line)
        if reply and rtt:
            log.rtts[number] = float(rtt[1].replace(",", ".")) / 1000
            log.is_ipv6 = reply.re is WINDOWS_REPLY_IPV6
            size = WINDOWS_BYTES if log.is_ipv6 else int(reply[1])
            log.bytes = size + ICMP_BYTES
            waited_s = 1.0
        elif WINDOWS_LOST.search(line):
            log.reported_lost.add(number)
            # Windows waits 4 s for a reply, and sends the next request a second later.
            waited_s = 5.0
        elif reply or SENTENCE.search(line):
            log.not_understood[number] = line.strip()
            waited_s = 5.0
        else:
            continue
        log.left[number] = time_s
        number, time_s = number + 1, time_s + waited_s
    log.last = number - 1
    log.sent = number


def _windows_reply(text: str) -> re.Match[str] | None:
    return WINDOWS_REPLY.search(text) or WINDOWS_REPLY_IPV6.search(text)


def _stamp(line: str) -> float | None:
    if found := STAMP.match(line):
        return float(found[1])
    if found := CLOCK.match(line):
        return 3600 * int(found[1]) + 60 * int(found[2]) + float(found[3])
    return None


def _is_ipv6(line: str) -> bool:
    sender = line[: found.start()] if (found := SEQUENCE.search(line)) else line
    return re.search(r"[0-9a-fA-F]*:[0-9a-fA-F]*:", STAMPS.sub("", sender)) is not None


def _series(log: _Log, name: str, interval_s: float, *, spaced: bool) -> Series:
    first = min([*log.rtts, *log.reported_lost, *log.not_understood])
    # Sequence numbers begin at 0 (BSD, BusyBox) or 1 (iputils), so any requests before the first
    # reply are added.
    first = min(first, 1) if first <= 1 else (1 if log.sent and log.sent >= log.last else first)
    last = max(log.last, first + log.sent - 1 if log.sent else log.last)
    numbers = np.arange(first, last + 1)
    rtts = np.array([log.rtts.get(int(it), np.nan) for it in numbers])
    lost = np.isnan(rtts).astype(float)
    for number in log.not_understood.keys() - log.rtts.keys() - log.reported_lost:
        lost[number - first] = np.nan
    if lost[-1] and int(numbers[-1]) not in log.reported_lost:
        lost[-1] = np.nan  # it may still be under way
    known = [(index, log.left[int(it)]) for index, it in enumerate(numbers) if int(it) in log.left]
    if len(known) > 1:
        places, times = np.array(known).T
        left = np.interp(np.arange(len(numbers)), places, times)
        step = (times[-1] - times[0]) / (places[-1] - places[0])
        index = np.arange(len(numbers))
        left = np.where(index > places[-1], times[-1] + step * (index - places[-1]), left)
        left = np.where(index < places[0], times[0] + step * (index - places[0]), left)
    else:
        left = np.arange(len(numbers)) * interval_s
    times_s = np.maximum.accumulate(left - left[0])
    size = log.bytes + (IPV6_BYTES if log.is_ipv6 else IPV4_BYTES)
    packets = Packets(times_s, np.full(len(numbers), float(size)), lost, rtts)
    findings = _findings(log, interval_s, spaced=spaced, ends_open=bool(np.isnan(lost[-1])))
    return Series("ping", name, True, packets, findings=findings, unknown=UNKNOWN)


def _findings(log: _Log, interval_s: float, *, spaced: bool, ends_open: bool) -> tuple[str, ...]:
    found = []
    if spaced:
        found.append(
            "Windows prints no times: a second after a reply, five after a loss is assumed"
        )
    elif not log.stamped:
        found.append(
            f"no time stamps (ping -D prints them): requests are taken as {interval_s:g} s apart"
        )
    if lines := log.not_understood:
        found.append(
            f"lines not understood: {len(lines)}, the first “{next(iter(lines.values()))}”: "
            "whether their requests were lost is not counted"
        )
    if log.duplicates:
        found.append(f"{log.duplicates} duplicate replies: counted once")
    if log.reordered:
        found.append(f"{log.reordered} replies came after that to a later request")
    if log.unreachable:
        found.append(
            f"{log.unreachable} requests were answered by an error of a router: counted as lost"
        )
    if ends_open:
        found.append("the last request may still be under way: its fate is not counted")
    return tuple(found)
