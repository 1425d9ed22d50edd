"""Recomputes the limits of a flow from the tables of a run, and compares them with the engine.

This is a second implementation of docs/decisions/0018-what-limits-a-flow.md: at each sample (an
acknowledgment or a timeout) the limit follows from the window, the peer's window, the segments sent
and those that have arrived; episodes and acknowledgments give the causes, the silences of timers
and the delayed acknowledgments. The accounting of the engine is not used. Scenarios are those of
removed_limits.py: one bulk flow over a path with several limits.

    tools/limits_by_definition.py --scenarios 300
"""

from __future__ import annotations

import argparse
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import polars as pl
from removed_limits import scenario

import retx
from retx.analysis.limits import flat
from retx.scenarios.units import rate_of, seconds_of

ALIKE = 0.02
"""Maximum difference of agreeing shares of the lifetime: no table shows which segments a sender
considers lost within a recovery."""
HEADERS, ACK, BUSY, THRESHOLD = 40, 52, 0.95, 3
NOW = 1e-10
"""Tolerance of times in seconds: times in tables are nanoseconds converted to seconds."""


@dataclass
class Reading:
    """Tables of one flow as lists, and the state at a time that follows from them."""

    tcp: Mapping[str, Any]
    link: Mapping[str, Any]
    samples: list[tuple[float, int, int, str, int]]
    segments: list[tuple[float, int, float | None]]
    acks: list[tuple[float, float, int]]
    episodes: list[tuple[float, float, str, str, int]]
    timers: list[float]
    """Timeout in force at each episode."""
    start: float
    end: float
    sent: list[float] = field(init=False)
    reach: list[int] = field(init=False)
    """Position after the last byte sent so far, for each entry of `sent`."""

    def __post_init__(self) -> None:
        self.sent = [sent for sent, _, _ in self.segments]
        self.reach, most = [], 1
        for _, to, _ in self.segments:
            most = max(most, to)
            self.reach.append(most)
        # Timeouts, and the opening of the connection, have no acknowledgment.
        for start, _, kind, _, cwnd in self.episodes:
            place = bisect_right(self.samples, start + NOW, key=lambda row: row[0])
            last, _, rwnd, _, acked = self.samples[place - 1]
            if kind == "rto" or last < start - NOW:
                state = "timeout" if kind == "rto" else "fast_recovery"
                self.samples.insert(place, (start, cwnd, rwnd, state, acked))
        self._take_over()
        self._add_probes()
        self.samples.insert(0, (self.start, 0, 0, "closed", 0))
        self.heard = [arrived for _, arrived, _ in self.acks]
        self.begun = [start for start, *_ in self.episodes]
        self.sampled = [row[0] for row in self.samples]
        self.first_data = next(sent for sent, to, _ in self.segments if to > 1)
        self.enough = BUSY * self._product()
        self.came = sorted((arrived, to) for _, to, arrived in self.segments if arrived is not None)

    def _add_probes(self) -> None:
        """Adds rows for data sent without an acknowledgment: tail loss probes beyond the window."""
        times = [row[0] for row in self.samples]
        found: dict[float, int] = {}
        for sent in self.sent:
            place = bisect_right(times, sent + NOW)
            if place and times[place - 1] < sent - NOW:
                found[sent] = place
        for sent, place in reversed(found.items()):
            self.samples.insert(place, (sent, *self.samples[place - 1][1:]))

    def _take_over(self) -> None:
        """Assigns to a timeout the cause of the recovery during which its timer ran.

        Such a timer had been running since before the last partial acknowledgment.
        """
        for place in range(1, len(self.episodes)):
            before, (start, end, kind, _, cwnd) = self.episodes[place - 1], self.episodes[place]
            started = start - self.timers[place]
            advances = bisect_right(self.samples, start - NOW, key=lambda row: row[0])
            row = self.samples[advances - 1]
            first = bisect_left(self.samples, row[4], key=lambda row: row[4])
            partial = self.samples[first][0]
            if (
                kind == "rto"
                and before[2] == "fast_retransmit"
                and before[1] >= start - NOW
                and partial > max(before[0], started) + NOW
            ):
                self.episodes[place] = (start, end, kind, before[3], cwnd)

    def _product(self) -> float:
        mss, overhead = self.tcp["mss"], self.link["overhead"]
        rate, delay = rate_of(self.link["rate"]), seconds_of(self.link["delay"])
        frame = mss + HEADERS + overhead
        rtt = 2 * delay + 8 * (frame + ACK + overhead) / rate
        return rate * rtt / 8 * mss / frame + mss * (self.tcp["delayed_ack"]["segments"] - 1)

    def sent_to(self, time: float) -> int:
        """Position after the last byte sent until this time."""
        place = bisect_right(self.sent, time + NOW)
        return self.reach[place - 1] if place else 1

    def spans(self) -> Iterator[tuple[float, float, str]]:
        """Start, end and limit of each span between two samples."""
        ends = [row[0] for row in self.samples[1:]] + [self.end]
        for row, until in zip(self.samples, ends, strict=True):
            if until > row[0]:
                yield row[0], until, self._limit(row)

    def _limit(self, row: tuple[float, int, int, str, int]) -> str:
        time, cwnd, rwnd, state, acked = row
        una, mss = acked + 1, self.tcp["mss"]
        if time < self.first_data - NOW:
            return "handshake"
        sent_to = self.sent_to(time)
        flight = sent_to - una
        pipe = flight - self._beyond(time, una)
        episode = self._episode(time)
        repairs = "slow_start" if episode is None else f"window.{episode[3]}"
        if state == "fast_recovery" and episode is not None:
            repairs = f"recovery.{episode[3]}"
        queued = self.tcp["send_buffer"] - flight
        after_timeout = (
            episode is not None and episode[2] == "rto" and una < self.sent_to(episode[0] - 2 * NOW)
        )
        repairing = state == "fast_recovery" or after_timeout
        # Lost data are not in the network. Without SACK the window limits the data in the network.
        lost = self._lost(time, una) if repairing else set()
        if repairing:
            pipe = pipe - mss * len(lost) if self.tcp["sack"] else min(pipe, cwnd)
        filled = pipe >= self.enough
        needed = min(queued, mss)
        if queued <= 0:
            return "bottleneck" if filled else repairs if repairing else "send_buffer"
        waits = bool(lost) and cwnd - pipe < mss
        if una + rwnd - sent_to < needed and not waits:
            return "bottleneck" if filled else "receive_window"
        if filled:
            return "bottleneck"
        if cwnd - pipe < needed or repairing:
            return repairs
        return "send_buffer" if queued < mss else repairs

    def _episode(self, time: float) -> tuple[float, float, str, str, int] | None:
        place = bisect_right(self.begun, time + NOW)
        return self.episodes[place - 1] if place else None

    def _lost(self, time: float, una: int) -> set[int]:
        """Ends of segments that a recovery considers lost and has not retransmitted."""
        episode = self._episode(time)
        if episode is None:
            return set()
        begun = episode[0]
        outstanding = self._outstanding(time, una)
        heard = sorted(self._heard_beyond(time, una))
        # After a timeout all sent data are considered lost; in a recovery, the data below three
        # received segments, or with RACK below one.
        needed = 1 if self.tcp["loss_detection"]["name"] == "rack" else THRESHOLD
        below = heard[-needed] if len(heard) >= needed else 0
        until = self.sent_to(begun - 2 * NOW) if episode[2] == "rto" else below
        resent = {to for sent, to, _ in outstanding if sent >= begun - NOW}
        missing = {to for _, to, _ in outstanding if to <= until and to not in heard}
        return missing - resent

    def _beyond(self, time: float, una: int) -> int:
        """Bytes beyond a gap that acknowledgments have reported to the sender."""
        return sum(min(self.tcp["mss"], to - una) for to in self._heard_beyond(time, una))

    def _heard_beyond(self, time: float, una: int) -> set[int]:
        """Ends of segments beyond a gap that acknowledgments have reported to the sender."""
        heard = [sent for sent, arrived, _ in self.acks_before(time)]
        if not heard or not self.tcp["sack"]:
            return set()
        last = max(heard) + NOW
        return {to for _, to, at in self._outstanding(time, una) if at is not None and at <= last}

    def _outstanding(self, time: float, una: int) -> list[tuple[float, int, float | None]]:
        """Transmissions so far of unacknowledged segments."""
        # Earlier ones end before the gap.
        low = bisect_right(self.reach, una)
        sent = self.segments[low : bisect_right(self.sent, time + NOW)]
        return [it for it in sent if it[1] > una]

    def shares(self) -> dict[str, float]:
        """Seconds by limit, from the spans; timers and the receiver take parts of them."""
        claims = [(start, end, f"timeout.{cause}") for start, end, cause in self._silences()]
        held = list(self._held())
        found: dict[str, float] = {}
        for start, end, limit in self.spans():
            if limit.split(".")[0] in ("slow_start", "window", "recovery", "nagle"):
                for from_, to in held:
                    part = min(end, to) - max(start, from_)
                    if part > 0:
                        found["delayed_ack"] = found.get("delayed_ack", 0.0) + part
                        found[limit] = found.get(limit, 0.0) - part
            for from_, to, cause in claims:
                part = min(end, to) - max(start, from_)
                if part > 0 and limit != "handshake":
                    found[cause] = found.get(cause, 0.0) + part
                    found[limit] = found.get(limit, 0.0) - part
            found[limit] = found.get(limit, 0.0) + end - start
        return found

    def _silences(self) -> Iterator[tuple[float, float, str]]:
        """Time from the last data to each timeout, with its cause."""
        for start, _, kind, cause, _ in self.episodes:
            place = bisect_left(self.sent, start - NOW)
            if kind == "rto" and place:
                yield self.sent[place - 1], start, cause

    def _held(self) -> Iterator[tuple[float, float]]:
        """Periods during which the receiver delayed the acknowledgment of all sent data."""
        arrivals = [time for time, _ in self.came]
        highest = 1
        reached = []
        for _, to in self.came:
            highest = max(highest, to)
            reached.append(highest)
        before = 1
        for sent, _, acked in self.acks:
            place = bisect_right(arrivals, sent + NOW)
            if place and arrivals[place - 1] < sent - NOW:
                arrived = arrivals[place - 1]
                una = max((row[4] + 1 for row in self._samples_before(sent)), default=1)
                # Data sent meanwhile were released by something else than this acknowledgment.
                if reached[place - 1] == acked == self.sent_to(sent) and una >= before:
                    yield arrived, sent
            before = max(before, acked)

    def _samples_before(self, time: float) -> list[tuple[float, int, int, str, int]]:
        place = bisect_right(self.sampled, time + NOW)
        return self.samples[max(0, place - 1) : place]

    def acks_before(self, time: float) -> list[tuple[float, float, int]]:
        """The last acknowledgments that had reached the sender."""
        place = bisect_right(self.heard, time + NOW)
        return self.acks[max(0, place - 3) : place]


def reading(data: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds by limit: from the engine, and from the tables."""
    result = retx.run({**data, "sample_interval": "every_ack"})
    link = result.scenario["link"][0]
    flow, end = result.summary["flows"][0], result.summary["engine"]["simulated_s"]
    rows = result.samples.group_by("time_s", maintain_order=True).last()
    data_rows = result.segments.with_columns(to=pl.col("seq") + pl.col("length_bytes"))
    acks = result.acks.filter(pl.col("arrived_s").is_not_null())
    one = Reading(
        tcp=result.scenario["tcp"]["ours"],
        link=link,
        samples=rows.select(
            "time_s", "cwnd_bytes", "rwnd_bytes", pl.col("state").cast(str), "ack_bytes"
        ).rows(),
        segments=data_rows.select("sent_s", "to", "arrived_s").rows(),
        acks=acks.select("sent_s", "arrived_s", "ack").rows(),
        episodes=result.episodes.select(
            "start_s",
            "end_s",
            pl.col("kind").cast(str),
            pl.col("cause").cast(str),
            "cwnd_after_bytes",
        ).rows(),
        timers=result.episodes["rto_s"].to_list(),
        start=flow["start_s"],
        end=end,
    )
    return flat(flow["limited_by"]), one.shares()


def main() -> None:
    """Prints where the two readings differ, and how often they agree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scenarios", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    random = Random(chosen.seed)
    agree = 0
    for number in range(chosen.scenarios):
        data = scenario(random)
        engine, tables = reading(data)
        life = sum(engine.values())
        off = {
            key: (engine.get(key, 0.0) / life, tables.get(key, 0.0) / life)
            for key in sorted({*engine, *tables})
            if abs(engine.get(key, 0.0) - tables.get(key, 0.0)) > ALIKE * life
        }
        agree += not off
        if off:
            differences = ", ".join(f"{key} {a:.1%} and {b:.1%}" for key, (a, b) in off.items())
            print(f"{number}: {differences}", flush=True)
    print(f"{agree} of {chosen.scenarios} agree")


if __name__ == "__main__":
    main()
