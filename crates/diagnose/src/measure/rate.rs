//! Rate of the bottleneck: bytes delivered while data wait for the bottleneck, divided by the
//! duration.
//!
//! A delivery counts if its newest data were sent so early that, without a queue, they would have
//! arrived before the previous delivery. The bottleneck was then busy between the two deliveries.
//! This criterion does not use the time between the deliveries, so it favours no rate. Sequences of
//! such deliveries give long intervals, in which the jitter of single acknowledgments averages out.
//!
//! If there are too few such deliveries (small windows), the rate is estimated from bursts: it is
//! the most frequent rate at which their segments are delivered.

use super::Estimate;
use super::copies::{Delivery, FlowTrace};

/// Number of segments of a long interval, and minimum number for the last interval of a sequence.
/// Intervals are long, so that one acknowledgment more or less has little effect.
const LONG: (u32, u32) = (32, 8);
/// Numbers of segments, as in `LONG`, for a single gap between two segments.
const SHORT: (u32, u32) = (1, 1);
/// Minimum number of busy intervals; with fewer, bursts are used.
const CHUNKS_MIN: usize = 3;
/// If at least this number of intervals contains no delivery beyond a gap in the sequence space,
/// only these intervals are used. Beyond a gap, a receiver delays acknowledgments by up to a
/// millisecond (SACK compression in Linux).
const CHUNKS_PLAIN: usize = 10;
/// Maximum relative distance of an interval's rate from the median. An interval beyond it is
/// attributed to other traffic on the link.
const NEAR: f64 = 0.1;
/// Minimum share of all bytes that were delivered near a rate for this rate to count as a mode of
/// the distribution.
const MODE_SHARE: f64 = 0.2;
/// Minimum number of bursts for an estimate.
const PAIRS_MIN: usize = 5;
/// Minimum mean duration of single gaps, in seconds. Shorter gaps show the resolution of the
/// capture's clock, and the interrupts of the hosts, rather than a link.
const GAP_MIN_S: f64 = 10e-6;
/// Minimum duration of an interval, as a multiple of the resolution of the times of deliveries.
const RESOLVED: i64 = 10;
/// Normal quantile of a 95 % interval.
const Z: f64 = 1.96;

/// A measured rate is rejected if the flow's mean rate is at least this multiple of it.
const BEYOND: f64 = 1.1;
/// Share of the bytes around the upper mode, below which the link is assumed to have other traffic.
const ALONE: f64 = 0.7;

/// Interval in which the bottleneck was busy.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    seconds: f64,
    bytes: f64,
}

impl Chunk {
    fn rate(&self) -> f64 {
        self.bytes / self.seconds
    }
}

/// Rate of the bottleneck in bits per second, counting whole frames.
pub fn measure_rate(trace: &FlowTrace) -> Estimate {
    let plain = busy_chunks(trace, true, LONG);
    let busy = if plain.len() >= CHUNKS_PLAIN { plain } else { busy_chunks(trace, false, LONG) };
    if busy.len() >= CHUNKS_PLAIN && near_mode(&busy) < ALONE {
        // Long intervals always contain cross traffic between the flow's packets; single gaps may
        // not.
        let gaps = busy_chunks(trace, false, SHORT);
        let found = summary(gaps, |used| {
            format!("{used} gaps of the busy bottleneck without other traffic in them")
        });
        let gap_s = found.value.map(|bit_s| 8.0 * f64::from(trace.segment_wire_bytes) / bit_s);
        if gap_s.is_some_and(|it| it < GAP_MIN_S) {
            return Estimate::unknown("packets follow each other faster than a capture can time");
        }
        return found;
    }
    if busy.len() >= CHUNKS_MIN {
        let segments: f64 =
            busy.iter().map(|it| it.bytes).sum::<f64>() / f64::from(trace.segment_wire_bytes);
        return summary(busy, |used| {
            format!(
                "{segments:.0} segments that waited for the bottleneck, in {used} intervals of \
                 busy time"
            )
        });
    }
    let bursts = bursts(trace);
    if bursts.len() >= PAIRS_MIN {
        let found = summary(bursts, |used| {
            format!("spacing of bursts at the bottleneck ({used} of them); it was seldom busy")
        });
        // A bottleneck cannot be slower than the flow's mean rate. If the measured rate is lower,
        // the application wrote small packets one by one, and determined their spacing.
        if found.value.is_none_or(|bit_s| bit_s * BEYOND <= mean_bit_s(trace)) {
            return Estimate::unknown("the application spaced the packets, not a bottleneck");
        }
        return found;
    }
    Estimate::unknown("too few data follow each other closely")
}

/// Rate of the busy bottleneck, in bits per second, if nearly all intervals agree; none if the
/// bottleneck was seldom busy, or if the intervals differ.
pub fn steady_rate(trace: &FlowTrace, evidence: impl Fn(usize) -> String) -> Option<Estimate> {
    let busy = busy_chunks(trace, false, LONG);
    (busy.len() >= CHUNKS_MIN && near_mode(&busy) >= ALONE).then(|| summary(busy, evidence))
}

/// Mean rate at which the flow sent, bits per second.
fn mean_bit_s(trace: &FlowTrace) -> f64 {
    let [Some(first), Some(last)] = [trace.copies.first(), trace.copies.last()] else { return 0.0 };
    let bytes: f64 = trace.copies.iter().map(|it| f64::from(it.wire_bytes)).sum();
    8e9 * bytes / (last.time_ns - first.time_ns).max(1) as f64
}

/// Upper mode of the rates of `chunks`, with its 95 % interval.
fn summary(mut chunks: Vec<Chunk>, evidence: impl Fn(usize) -> String) -> Estimate {
    chunks.sort_by(|one, other| one.rate().total_cmp(&other.rate()));
    let middle = upper_mode(&chunks);
    let near: Vec<Chunk> =
        chunks.into_iter().filter(|it| (it.rate() / middle).ln().abs() < NEAR).collect();
    let (bytes, seconds): (f64, f64) =
        near.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.bytes, sum.1 + it.seconds));
    let value = bytes / seconds;
    // Standard error of a ratio of sums.
    let squares: f64 = near.iter().map(|it| (it.bytes - value * it.seconds).powi(2)).sum();
    let error = squares.sqrt() / seconds;
    // The resolution of capture times limits the precision.
    let error = error.max(value * 1e-6 / seconds);
    let of = |rate: f64| rate * 8.0;
    Estimate::known(of(value), (of(value - Z * error), of(value + Z * error)), evidence(near.len()))
}

/// Cross traffic at the bottleneck while it was busy.
pub fn measure_cross_traffic(trace: &FlowTrace, rate_bit_s: &Estimate) -> Estimate {
    let busy = busy_chunks(trace, false, LONG);
    let (Some(rate), true) = (rate_bit_s.value, busy.len() >= CHUNKS_PLAIN) else {
        return Estimate::unknown("the bottleneck was seldom busy");
    };
    let (bytes, seconds): (f64, f64) =
        busy.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.bytes, sum.1 + it.seconds));
    let own = bytes / seconds;
    let squares: f64 = busy.iter().map(|it| (it.bytes - own * it.seconds).powi(2)).sum();
    let error = Z * squares.sqrt() / seconds * 8.0;
    let value = (rate - own * 8.0).max(0.0);
    let evidence = format!(
        "the flow got {:.1} % of the rate while the bottleneck was busy with its \
                            own data and others'",
        own * 800.0 / rate
    );
    Estimate::known(value, ((value - error).max(0.0), value + error), evidence)
}

/// Share of the bytes around the upper mode.
fn near_mode(chunks: &[Chunk]) -> f64 {
    let mut sorted = chunks.to_vec();
    sorted.sort_by(|one, other| one.rate().total_cmp(&other.rate()));
    let middle = upper_mode(&sorted);
    let near = sorted.iter().filter(|it| (it.rate() / middle).ln().abs() < NEAR / 2.0);
    near.map(|it| it.bytes).sum::<f64>() / sorted.iter().map(|it| it.bytes).sum::<f64>()
}

/// Highest rate near which a large share of the bytes was delivered. Without cross traffic nearly
/// all bytes are delivered near one rate. With cross traffic, only the fastest intervals show the
/// bottleneck's rate.
fn upper_mode(sorted: &[Chunk]) -> f64 {
    let total: f64 = sorted.iter().map(|it| it.bytes).sum();
    let (mut first, mut end, mut weight) = (0, 0, 0.0);
    let mut best = sorted[sorted.len() / 2].rate();
    if sorted.len() < CHUNKS_PLAIN {
        // If there are too few gaps, the distribution has no clear modes.
        return best;
    }
    for it in sorted {
        let part = |other: &Chunk| (other.rate() / it.rate()).ln();
        while end < sorted.len() && part(&sorted[end]) < NEAR / 2.0 {
            weight += sorted[end].bytes;
            end += 1;
        }
        while part(&sorted[first]) < -NEAR / 2.0 {
            weight -= sorted[first].bytes;
            first += 1;
        }
        if weight >= MODE_SHARE * total {
            best = sorted[usize::midpoint(first, end - 1)].rate();
        }
    }
    best
}

fn busy_chunks(trace: &FlowTrace, plain_only: bool, segments: (u32, u32)) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut run = (0_i64, 0_u64, 0_u32);
    for pair in trace.deliveries.windows(2) {
        let [before, delivery] = pair else { continue };
        let sent = trace.copies[delivery.newest].sent_ns;
        let is_plain = !plain_only || (delivery.is_plain && before.is_plain);
        let is_busy = delivery.is_consecutive
            && is_plain
            && sent
                .is_some_and(|sent| sent + trace.least_ns + trace.resolution_ns <= before.time_ns);
        if is_busy {
            run.0 += delivery.time_ns - before.time_ns;
            run.1 += delivery.wire_bytes;
            run.2 += delivery.segments;
        }
        let is_enough = run.2 >= if is_busy { segments.0 } else { segments.1 }
            && run.0 >= RESOLVED * trace.resolution_ns;
        if is_enough && run.0 > 0 {
            chunks.push(Chunk { seconds: run.0 as f64 * 1e-9, bytes: run.1 as f64 });
        }
        if is_enough || !is_busy {
            run = (0, 0, 0);
        }
    }
    chunks
}

/// Intervals between deliveries that are longer than the intervals between the transmissions.
fn bursts(trace: &FlowTrace) -> Vec<Chunk> {
    let spread = |pair: &[Delivery]| {
        let [before, delivery] = pair else { return None };
        let gap = delivery.time_ns - before.time_ns;
        let sent = |delivery: &Delivery| trace.copies[delivery.newest].sent_ns;
        let is_burst = match (sent(before), sent(delivery)) {
            (Some(one), Some(other)) => other - one < gap / 2,
            _ => true,
        };
        let is_full = delivery.segments > 1 || before.segments == 1;
        let is_resolved = gap >= RESOLVED * trace.resolution_ns;
        (delivery.is_consecutive && gap > 0 && is_resolved && is_burst && is_full)
            .then_some(Chunk { seconds: gap as f64 * 1e-9, bytes: delivery.wire_bytes as f64 })
    };
    trace.deliveries.windows(2).filter_map(spread).collect()
}
