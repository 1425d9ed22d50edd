//! Trace of a flow captured at the receiver's end: arrivals, and the holes between them.

use super::copies::{Delivery, FlowTrace, SegmentCopy};
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
            // Most losses hit the last packets of a burst, so a missing packet gets the
            // transmission time of the previous packet.
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
