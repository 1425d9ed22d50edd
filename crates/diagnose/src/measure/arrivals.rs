//! Trace of a flow captured at the receiver's end: arrivals, and the holes between them.

use super::copies::{Delivery, FlowTrace, SegmentCopy};
use super::delay::transmission_ns;
use crate::answer::Necessity;
use crate::flow::packet_log::{CapturedData, Observed};
use std::collections::BTreeMap;

/// Lengths of timestamp ticks that senders use, in nanoseconds.
const TICKS_NS: [i64; 4] = [1_000_000, 1_000, 4_000_000, 10_000_000];
/// Relative tolerance for a known tick.
const TOLERANCE: f64 = 0.25;
/// Minimum duration of the observation to determine the length of the tick, nanoseconds.
const LEAST_NS: i64 = 300_000_000;
/// Maximum size of a hole in segments. The data of a larger hole count as not captured, instead of
/// as lost.
const HOLE_MAX: i64 = 4_096;

/// Trace of a flow, from captured arrivals.
pub fn trace_from_arrivals(observed: &Observed) -> FlowTrace {
    let stamps =
        observed.packet_log.sent.iter().filter_map(|it| Some((it.timestamp_value?, it.time_ns)));
    let clock = TimestampClock::of(stamps);
    let mut builder =
        Builder { trace: FlowTrace::from_observed(observed), clock, ..Builder::default() };
    for passed in observed.packet_log.sent.iter().filter(|it| it.payload_bytes > 0) {
        builder.arrive(observed, passed);
    }
    let mut trace = builder.trace;
    trace.compute_least_delay();
    trace
}

/// Spreads the transmission times of missing copies, which are those of the previous copy, evenly
/// between that of the previous and that of the next copy. A sender that paces sends them so. A
/// sender of bursts sends them at once, and most losses hit the last packets of a burst: each copy
/// is therefore at most the time in which the bottleneck transmits it later than the one before.
pub fn spread_missing(trace: &mut FlowTrace, rate_bit_s: f64) {
    let mut next = 0;
    while next < trace.copies.len() {
        let start = next;
        while trace.copies.get(next).is_some_and(|copy| copy.delay_ns.is_none()) {
            next += 1;
        }
        if let (Some(before), Some(after)) = (start.checked_sub(1), trace.copies.get(next))
            && let (Some(from), Some(to)) = (trace.copies[before].sent_ns, after.sent_ns)
        {
            let even_ns = (to - from).max(0) / (next - start + 1) as i64;
            let mut sent_ns = from;
            for copy in &mut trace.copies[start..next] {
                sent_ns += even_ns.min(transmission_ns(copy.wire_bytes, Some(rate_bit_s)) as i64);
                copy.sent_ns = Some(sent_ns);
            }
        }
        next += 1;
    }
}

/// Clock of an endpoint's timestamps.
#[derive(Debug, Clone, Copy)]
pub struct TimestampClock {
    first: (u32, i64),
    /// Length of a tick, nanoseconds.
    pub tick_ns: i64,
}

impl TimestampClock {
    /// Clock of timestamps, each with its capture time; none if their tick is not a known one.
    pub fn of(mut stamps: impl Iterator<Item = (u32, i64)>) -> Option<Self> {
        let first = stamps.next()?;
        let last = stamps.last()?;
        let (ticks, elapsed) = (last.0.wrapping_sub(first.0) as i32, last.1 - first.1);
        let each = elapsed as f64 / f64::from(ticks);
        let is_near = |tick: &&i64| (each / **tick as f64 - 1.0).abs() < TOLERANCE;
        let tick_ns = *TICKS_NS.iter().find(is_near)?;
        (ticks > 0 && elapsed >= LEAST_NS).then_some(Self { first, tick_ns })
    }

    /// Estimated transmission time, plus the delay of the first packet. The packet is assumed to
    /// have been sent in the middle of its timestamp tick.
    pub fn sent_ns(&self, value: u32) -> i64 {
        let ticks = i64::from(value.wrapping_sub(self.first.0) as i32);
        self.first.1 + ticks * self.tick_ns + self.tick_ns / 2
    }
}

#[derive(Debug, Default)]
struct Builder {
    trace: FlowTrace,
    clock: Option<TimestampClock>,
    end: Option<i64>,
    /// Indices of missing copies, by first position.
    missing: BTreeMap<i64, usize>,
    /// Index of the last arrival.
    last: Option<usize>,
}

impl Builder {
    fn arrive(&mut self, observed: &Observed, passed: &CapturedData) {
        let sent_ns =
            self.clock.zip(passed.timestamp_value).map(|(clock, value)| clock.sent_ns(value));
        if let Some(end) = self.end {
            // `spread_missing` gives missing packets later times, once the rate is known.
            let before = self.trace.copies.last().and_then(|copy| copy.sent_ns);
            self.miss((end, passed.start), before.or(sent_ns), passed.time_ns);
        }
        self.end = Some(self.end.map_or(passed.end, |end| end.max(passed.end)));
        let pieces: Vec<_> = self.trace.segments_of(passed).collect();
        for (start, payload) in pieces {
            let hole = self.missing.remove(&start);
            if let (Some(hole), true) = (hole, passed.is_reordered) {
                // The packet fills a hole, so it was late, not lost.
                self.trace.copies[hole].lost = Some(0.0);
                let overtakers = self.trace.copies.len() - 1 - hole;
                self.trace.overtaken.push(overtakers as u32);
                continue;
            }
            if let Some(hole) = hole {
                let verdict = passed.retransmission_record.map(|record| &observed.verdicts[record]);
                self.trace.copies[hole].lost = Some(match verdict {
                    Some(it) if it.needless == Necessity::Yes => 1.0 - it.confidence,
                    Some(it) => it.confidence,
                    None => 0.9,
                });
            }
            self.push(passed, (start, payload), sent_ns);
        }
    }

    /// Adds copies for a range of sequence numbers that has not arrived.
    fn miss(&mut self, (start, end): (i64, i64), sent_ns: Option<i64>, time_ns: i64) {
        let unit = i64::from(self.trace.segment_bytes);
        if end <= start || (end - start) / unit > HOLE_MAX {
            return;
        }
        let mut at = start;
        while at < end {
            let payload_bytes = (end - at).min(unit) as u32;
            let index = self.trace.copies.len();
            self.missing.insert(at, index);
            self.trace.copies.push(SegmentCopy {
                sent_ns,
                time_ns,
                start: at,
                wire_bytes: self.trace.header_wire_bytes + payload_bytes,
                delay_ns: None,
                lost: None,
            });
            at += i64::from(payload_bytes);
        }
    }

    fn push(&mut self, passed: &CapturedData, piece: (i64, u32), sent_ns: Option<i64>) {
        let index = self.trace.copies.len();
        let mut copy = self.trace.segment_copy(passed, piece);
        copy.sent_ns = sent_ns;
        copy.delay_ns = sent_ns.map(|sent| passed.time_ns - sent);
        copy.lost = Some(0.0);
        let follows = self.last.is_some_and(|last| last + 1 == index);
        self.trace.deliveries.push(Delivery {
            time_ns: passed.time_ns,
            wire_bytes: u64::from(copy.wire_bytes),
            newest: index,
            segments: 1,
            is_consecutive: follows,
            is_plain: true,
        });
        self.trace.copies.push(copy);
        self.last = Some(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: u32 = 1_500;

    fn copy(sent_ms: f64, is_missing: bool) -> SegmentCopy {
        let sent_ns = (sent_ms * 1e6) as i64;
        SegmentCopy {
            sent_ns: Some(sent_ns),
            time_ns: sent_ns,
            start: 1,
            wire_bytes: WIRE,
            delay_ns: (!is_missing).then_some(1),
            lost: Some(f64::from(u8::from(is_missing))),
        }
    }

    /// Two copies are missing between copies that are 3 ms apart, and two before a pause.
    #[test]
    fn missing_copies_were_sent_one_after_another() {
        let sent = [(0.0, false), (0.0, true), (0.0, true), (3.0, false), (3.0, true), (3.0, true)];
        let copies = sent.into_iter().chain([(90.0, false), (90.0, true)]);
        let copies = copies.map(|(sent_ms, is_missing)| copy(sent_ms, is_missing)).collect();
        let mut trace = FlowTrace { copies, ..FlowTrace::default() };
        // Transmission of a packet takes 2 ms.
        spread_missing(&mut trace, 6e6);
        let sent_ms: Vec<f64> =
            trace.copies.iter().filter_map(|copy| Some(copy.sent_ns? as f64 / 1e6)).collect();
        assert_eq!(sent_ms, [0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 90.0, 90.0]);
    }
}
