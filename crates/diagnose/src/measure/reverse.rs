//! Bottleneck of the reverse path: a queue of acknowledgments.
//!
//! The receiver's timestamps show when acknowledgments were sent, so a capture at the sender's end
//! shows how long they waited. Without timestamps, acknowledgments that arrive at a constant
//! interval look like those for data that a bottleneck of the forward path has spaced.
//!
//! Delays vary for many reasons. A queue is accepted only if, with the measured rate and the times
//! at which acknowledgments were sent, it explains their delays.

use super::arrivals::TimestampClock;
use super::copies::{AckWaits, Delivery, FlowTrace, SegmentCopy};
use super::delay::transmission_ns;
use super::{Estimate, rate};
use crate::flow::packet_log::{Observed, ObservedAck};
use crate::pair::clock::{MinimumDelay, lower_envelope_slope};

/// Maximum skew between the clocks of receiver and capture. A delay that grows faster than this is
/// due to a queue.
const SKEW_MAX: f64 = 200e-6;
/// Minimum 90 % quantile of the waiting times, as a multiple of the clock's resolution.
const RESOLVED: i64 = 3;
/// Maximum share of the waiting time that the queue leaves unexplained.
const UNEXPLAINED_MAX: f64 = 0.25;
/// Bytes of a SACK option: those of each block, and the others, padded.
const SACK_BYTES: (u32, u32) = (8, 4);

/// Bottleneck of the reverse path.
#[derive(Debug, Clone)]
pub struct Reverse {
    /// Rate in bits per second, counting whole frames.
    pub rate_bit_s: Estimate,
    /// Longest queue that was seen, in bytes on the wire and in packets.
    pub queue_max: (f64, f64),
    /// Waiting times of the acknowledgments.
    pub waits: AckWaits,
}

/// Detects a bottleneck of the reverse path in a capture that is not at the receiver's end.
pub fn measure_reverse_path(observed: &Observed) -> Option<Reverse> {
    measure_by_acks(&observed.packet_log.acks, &FlowTrace::from_observed(observed))
}

/// Detects the bottleneck by acknowledgments. `plain` has the sizes of packets.
fn measure_by_acks(acks: &[ObservedAck], plain: &FlowTrace) -> Option<Reverse> {
    let stamps = || {
        let of = acks.iter().enumerate().filter(|(_, it)| !it.is_syn);
        of.filter_map(|(index, it)| Some((index, it.time_ns, it.timestamp_value?)))
    };
    let clock = TimestampClock::of(stamps().map(|(_, time_ns, value)| (value, time_ns)))?;
    let points: Vec<(i64, i64)> =
        stamps().map(|(_, time_ns, value)| (time_ns, time_ns - clock.sent_ns(value))).collect();
    let slope = lower_envelope_slope(&points).filter(|slope| slope.abs() <= SKEW_MAX);
    let least = MinimumDelay::lower_bound(&points, slope.unwrap_or(0.0));
    let resolution_ns = clock.tick_ns;
    let mut waits = AckWaits { each_ns: vec![0; acks.len()], resolution_ns };
    let mut trace = FlowTrace { resolution_ns, ..plain.clone() };
    for ((index, time_ns, _), point) in stamps().zip(&points) {
        // Within a tick the time of sending is unknown. The latest one is assumed, so that no
        // acknowledgment seems to have been sent before the data arrived.
        let waited_ns = (least.excess(*point) - resolution_ns).max(0);
        waits.each_ns[index] = waited_ns;
        record(&mut trace, &acks[index], (time_ns, waited_ns));
    }
    let evidence = |intervals: usize| {
        format!("by the receiver's timestamps acknowledgments waited, in {intervals} intervals")
    };
    let rate_bit_s = rate::steady_rate(&trace, evidence)?;
    let mut sorted: Vec<i64> = trace.copies.iter().filter_map(|copy| copy.delay_ns).collect();
    sorted.sort_unstable();
    let long_ns = sorted.get(sorted.len() * 9 / 10)?;
    let is_clear = *long_ns >= RESOLVED * resolution_ns;
    let per_ns = rate_bit_s.value? / 8e9;
    let most = *sorted.last()? as f64 * per_ns;
    (is_clear && is_explained(&trace, rate_bit_s.value)).then(|| Reverse {
        queue_max: (most, most / f64::from(plain.header_wire_bytes)),
        rate_bit_s,
        waits,
    })
}

/// Adds an acknowledgment to the trace of the reverse path.
fn record(trace: &mut FlowTrace, ack: &ObservedAck, (time_ns, waited_ns): (i64, i64)) {
    let blocks = ack.blocks.iter().filter(|block| **block != (0, 0)).count() as u32;
    let sack = if blocks > 0 { blocks * SACK_BYTES.0 + SACK_BYTES.1 } else { 0 };
    let wire_bytes = trace.header_wire_bytes + sack + ack.payload_bytes;
    trace.deliveries.push(Delivery {
        time_ns,
        wire_bytes: u64::from(wire_bytes),
        newest: trace.copies.len(),
        segments: 1,
        is_consecutive: true,
        is_plain: blocks == 0,
    });
    trace.copies.push(SegmentCopy {
        sent_ns: Some(time_ns - waited_ns),
        time_ns,
        start: ack.ack,
        wire_bytes,
        delay_ns: Some(waited_ns),
        lost: Some(0.0),
    });
}

/// True if a queue with this rate explains the waiting times.
fn is_explained(trace: &FlowTrace, rate_bit_s: Option<f64>) -> bool {
    let (mut free_ns, mut unexplained, mut total) = (f64::MIN, 0.0, 0.0);
    for copy in &trace.copies {
        let (Some(sent_ns), Some(waited_ns)) = (copy.sent_ns, copy.delay_ns) else { continue };
        let begins_ns = free_ns.max(sent_ns as f64);
        let difference = (begins_ns - sent_ns as f64 - waited_ns as f64).abs();
        unexplained += (difference - trace.resolution_ns as f64).max(0.0);
        total += waited_ns as f64;
        free_ns = begins_ns + transmission_ns(copy.wire_bytes, rate_bit_s);
    }
    unexplained <= UNEXPLAINED_MAX * total
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Acknowledgments sent at these times, which pass a link of 300 kbit/s (2.4 ms each) after a
    /// delay of 20 ms.
    fn passed(
        sent_ns: impl Iterator<Item = i64>,
        extra_ns: impl Fn(i64) -> i64,
    ) -> Vec<ObservedAck> {
        let mut free_ns = 0;
        let mut one = |(index, sent_ns): (usize, i64)| {
            free_ns = free_ns.max(sent_ns) + 2_400_000;
            ObservedAck {
                time_ns: free_ns + 20 * MS + extra_ns(sent_ns),
                ack: 1 + 2_896 * index as i64,
                blocks: [(0, 0); 4],
                window: 1 << 20,
                timestamp_value: Some(7_000 + (sent_ns / MS) as u32),
                payload_bytes: 0,
                is_syn: false,
            }
        };
        sent_ns.enumerate().map(&mut one).collect()
    }

    fn plain() -> FlowTrace {
        FlowTrace { header_wire_bytes: 90, segment_wire_bytes: 1_538, ..FlowTrace::default() }
    }

    #[test]
    fn timestamps_show_the_queue_of_acknowledgments() {
        // Bursts of 100 acknowledgments, one per 1.2 ms, wait for up to 120 ms.
        let sent = (0..2_000).map(|number| number / 100 * 400 * MS + number % 100 * 1_200_000);
        let found = measure_by_acks(&passed(sent.clone(), |_| 0), &plain()).expect("they wait");
        let rate = found.rate_bit_s.value.expect("a rate");
        assert!((rate / 300e3 - 1.0).abs() < 1e-3, "{rate}");
        assert!((found.queue_max.1 - 49.5).abs() < 1.0, "{:?}", found.queue_max);
        // The waiting times are known to within a tick.
        let mut free_ns = 0;
        for (sent_ns, waited_ns) in sent.zip(&found.waits.each_ns) {
            let waits_ns = (free_ns - sent_ns).max(0);
            free_ns = free_ns.max(sent_ns) + 2_400_000;
            assert!((-2 * MS..=0).contains(&(waited_ns - waits_ns)), "{waited_ns} {waits_ns}");
        }
    }

    #[test]
    fn acknowledgments_that_a_slow_bottleneck_of_the_data_spaces_do_not_wait() {
        let sent = (0..2_000).map(|number| number * 2_500_000);
        assert!(measure_by_acks(&passed(sent, |_| 0), &plain()).is_none());
    }

    #[test]
    fn delays_without_a_queue_are_no_queue() {
        // Delays that grow by 30 ms for 2 s each, while acknowledgments arrive at the link's pace.
        let sent = (0..4_000).map(|number| number * 2_500_000);
        let slow = |sent_ns: i64| sent_ns / (2_000 * MS) % 2 * 30 * MS;
        assert!(measure_by_acks(&passed(sent, slow), &plain()).is_none());
    }
}
