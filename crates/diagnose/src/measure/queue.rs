//! Queue before the bottleneck: its length when packets were lost, and its greatest length.
//!
//! The delay of a copy above the minimum delay, times the rate, is the queue length at the copy's
//! arrival. Between such delays, the length changes by the bytes sent, and the bytes that the
//! bottleneck has forwarded (`waiting`).
//!
//! A drop-tail queue drops packets only at its limit. The loss rate of packets that arrived at a
//! queue of nearly the greatest length is therefore compared with that of all other packets. If it
//! is much higher, the greatest length is the limit. Many thresholds near the greatest length are
//! tried, because measured lengths are noisy.

use super::Estimate;
use super::copies::{FlowTrace, SegmentCopy, is_lost};
use super::early::{self, EarlyDrops, Outcome};
use super::waiting::{queued_bytes, round};
use serde::Serialize;
use std::collections::BTreeSet;

/// Thresholds from which on a queue counts as full, in segments relative to the greatest length.
const FULL_SEGMENTS: [f64; 5] = [0.5, 0.0, -0.5, -1.0, -2.0];
/// Samples that must lie near the greatest length: their number, and their maximum distance from it
/// in segments.
const SUPPORT: (usize, f64) = (3, 2.0);
/// Significance level: losses are attributed to a full (or long) queue only if losses that are
/// independent of the queue would coincide with such a queue as often with at most this
/// probability.
const SIGNIFICANT: f64 = 0.01;

/// Round trips count as interrupted if their queues are clearly longer than the median length at
/// losses, if at least this fraction of the packets that arrive at about this median length are
/// lost, and if `RARER` times as many round trips have such losses.
const LOST_AT_LIMIT: f64 = 0.25;
const RARER: usize = 10;

/// Kind of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Packets that arrive at a full queue are lost.
    TailDrop,
    /// Packets are lost before the queue is full; the longer the queue, the more often.
    EarlyDrops,
    /// The capture contains no evidence.
    Unknown,
}

/// Estimate of the bottleneck's queue.
#[derive(Debug, Clone, Serialize)]
pub struct Queue {
    /// Limit, in bytes on the wire.
    pub bytes: Estimate,
    /// Limit in full segments; none if unknown.
    pub packets: Option<f64>,
    /// Kind of the queue.
    pub kind: Kind,
    /// Number of losses while the queue was full, and number of packets that arrived during these
    /// times.
    pub full: (u64, u64),
    /// Number of other losses, and number of packets that arrived at other times.
    pub elsewhere: (u64, u64),
}

impl Queue {
    /// Limit of a drop-tail queue, bytes.
    pub fn limit(&self) -> Option<f64> {
        self.bytes.value.filter(|_| self.kind == Kind::TailDrop)
    }
}

/// Number of packets that arrived at a queue of at least a certain length, number of other packets,
/// and number of losses among both.
#[derive(Debug, Clone, Copy)]
struct Split {
    from: f64,
    full: (u64, u64),
    elsewhere: (u64, u64),
    by_channel: f64,
    ln_chance: f64,
}

/// Queue lengths at the arrivals of all packets, longest first.
struct Arrivals {
    lengths: Vec<f64>,
    /// Number of losses among the packets with this index or a lower one.
    lost: Vec<u64>,
}

impl Arrivals {
    /// Sorts arrivals, given as the length and whether the packet was lost.
    fn sorted(mut arrivals: Vec<(f64, bool)>) -> Self {
        arrivals.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut sum = 0;
        let mut count = |arrival: &(f64, bool)| {
            sum += u64::from(arrival.1);
            sum
        };
        Self {
            lost: arrivals.iter().map(&mut count).collect(),
            lengths: arrivals.into_iter().map(|it| it.0).collect(),
        }
    }

    /// Number of packets that arrived at a queue of at least this length.
    fn at_least(&self, length: f64) -> usize {
        self.lengths.partition_point(|it| *it >= length)
    }

    /// Split at the length of the packet with index `count` - 1. The split is one of `tried`.
    fn split(&self, count: usize, from: f64, tried: f64) -> Split {
        let lost = |count: usize| count.checked_sub(1).map_or(0, |last| self.lost[last]);
        let all = (lost(self.lost.len()), self.lost.len() as u64);
        let full = (lost(count), count as u64);
        let elsewhere = (all.0 - full.0, all.1 - full.1);
        let by_channel = (elsewhere.0 as f64 + 0.5) / (elsewhere.1 as f64 + 1.0);
        let ln_chance = ln_at_least(full.0, full.1, by_channel) + tried.ln();
        Split { from, full, elsewhere, by_channel, ln_chance }
    }
}

/// Split near the greatest length at which losses that are independent of the queue are the most
/// unlikely.
///
/// Two sets of splits are tried, each at half of the significance level (Bonferroni): five fixed
/// ones, which also find a single overflow; and those at each arrival near the greatest length,
/// which separate overflows that differ by less than a segment from arrivals just before them.
fn most_unlikely(arrivals: &Arrivals, most: f64, wire: f64) -> Split {
    let fixed = FULL_SEGMENTS.map(|segments| most + segments * wire);
    let one_of_fixed = |from: &f64| {
        arrivals.split(arrivals.at_least(*from), *from, 2.0 * FULL_SEGMENTS.len() as f64)
    };
    let near = arrivals.at_least(fixed[FULL_SEGMENTS.len() - 1]);
    let is_edge = |index: &usize| {
        let before = index.checked_sub(1).map_or(0, |before| arrivals.lost[before]);
        arrivals.lost[*index] > before
    };
    let of_losses = (0..near).filter(is_edge).map(|index| {
        let from = arrivals.lengths[index];
        arrivals.split(arrivals.at_least(from), from, 2.0 * near as f64)
    });
    let best = of_losses.min_by(|one, other| one.ln_chance.total_cmp(&other.ln_chance));
    let splits = fixed.iter().map(one_of_fixed).chain(best);
    let first = one_of_fixed(&fixed[0]);
    splits.fold(first, |best, it| if it.ln_chance < best.ln_chance { it } else { best })
}

/// Round trips in which the bottleneck, or a host, stood still.
///
/// Delays are then longer than those of a full queue, which would otherwise seem to lose packets
/// long before it is full. Such round trips are recognised if the queue has an evident limit: a
/// length at which a large part of the arriving packets is lost, in many more round trips than have
/// a longer queue.
fn interrupted_rounds(trace: &FlowTrace, waiting: &[Option<f64>]) -> BTreeSet<i64> {
    let both = || trace.copies.iter().zip(waiting).filter_map(|(copy, it)| Some((copy, (*it)?)));
    let wire = f64::from(trace.segment_wire_bytes);
    let limit = median_at_loss(trace, waiting, 0.0);
    let about = limit - wire / 2.0..=limit + SUPPORT.1 * wire;
    let arrived = both().filter(|(_, it)| about.contains(it));
    let lost = arrived.clone().filter(|(copy, _)| is_lost(copy));
    let rounds = |among: &mut dyn Iterator<Item = (&SegmentCopy, f64)>| -> BTreeSet<i64> {
        among.map(|(copy, _)| round(trace, copy.time_ns)).collect()
    };
    let (lost_packets, packets) = (lost.clone().count() as f64, arrived.count() as f64);
    let passed_longer =
        &mut both().filter(|(copy, it)| copy.delay_ns.is_some() && it > about.end());
    let longer = rounds(passed_longer);
    let is_rare = longer.len() * RARER <= rounds(&mut lost.into_iter()).len();
    if is_rare && lost_packets >= LOST_AT_LIMIT * packets { longer } else { BTreeSet::new() }
}

/// Queue, the probability for each lost copy that a full queue dropped it, and how unlikely it is
/// that losses independent of the queue coincide with a full queue as often.
struct Measured {
    queue: Queue,
    by_queue: Vec<f64>,
    ln_chance: f64,
    /// Length from which on packets were lost, if such a length is significant.
    limit: Option<f64>,
}

/// Measures the queue, and gives each lost copy the probability that a full queue dropped it.
///
/// The queue is reconstructed twice if it has a limit. The first time, no lost packet is taken to
/// have been transmitted. The second time, the limit is known, so a packet that was lost at a
/// shorter queue was transmitted, and lost afterwards.
pub fn measure_queue(trace: &FlowTrace, rate_bit_s: Option<f64>) -> (Queue, Vec<f64>) {
    let Some(rate) = rate_bit_s else {
        let Measured { queue, by_queue, .. } = not_known(trace, "the rate is not known");
        return (queue, by_queue);
    };
    let first = measure_with(trace, rate, &queued_bytes(trace, rate, None));
    let limit = first.limit;
    let limited = limit.map(|_| measure_with(trace, rate, &queued_bytes(trace, rate, limit)));
    let is_better = |it: &Measured| it.limit.is_some() && it.ln_chance < first.ln_chance;
    let Measured { queue, by_queue, .. } = limited.filter(is_better).unwrap_or(first);
    (queue, by_queue)
}

fn not_known(trace: &FlowTrace, why: &str) -> Measured {
    let (full, elsewhere) = ((0, 0), (0, 0));
    let bytes = Estimate::unknown(why);
    let queue = Queue { bytes, packets: None, kind: Kind::Unknown, full, elsewhere };
    Measured { queue, by_queue: vec![0.0; trace.copies.len()], ln_chance: 0.0, limit: None }
}

/// Measures the queue whose length at each arrival is known.
fn measure_with(trace: &FlowTrace, rate: f64, waiting: &[Option<f64>]) -> Measured {
    let wire = f64::from(trace.segment_wire_bytes);
    let both = || trace.copies.iter().zip(waiting).filter_map(|(copy, it)| Some((copy, (*it)?)));
    let interrupted = interrupted_rounds(trace, waiting);
    let is_sample = |copy: &SegmentCopy| {
        copy.delay_ns.is_some() && !interrupted.contains(&round(trace, copy.time_ns))
    };
    let mut samples: Vec<f64> =
        both().filter(|(copy, _)| is_sample(copy)).map(|(_, it)| it).collect();
    samples.sort_by(|one, other| other.total_cmp(one));
    let supported = |most: &&[f64]| most[0] - most[SUPPORT.0 - 1] <= SUPPORT.1 * wire;
    let Some(most) = samples.windows(SUPPORT.0).find(supported).map(|most| most[0]) else {
        return not_known(trace, "no round trip shows what waited");
    };
    let arrivals = Arrivals::sorted(both().map(|(copy, it)| (it, is_lost(copy))).collect());
    let split = most_unlikely(&arrivals, most, wire);
    let Split { full, elsewhere, ln_chance, .. } = split;
    let is_limit = full.0 > 0 && ln_chance <= SIGNIFICANT.ln();
    let limit = is_limit.then(|| limit_bytes(trace, waiting, split.from));
    let outcome = early::find_early_drops(trace, waiting, (most, rate / 8e9));
    if let Outcome::Early(found) = &outcome {
        let (queue, by_queue) = early_drops(trace, found, (full, elsewhere));
        return Measured { queue, by_queue, ln_chance, limit };
    }
    let Some(bytes) = limit else {
        let why = "it was never seen full: losses were no more frequent when most waited";
        // Delays that are not due to the queue may make `most` too large.
        let low = most_in_flight(trace).map_or(most, |in_flight| most.min(in_flight));
        let mut measured = not_known(trace, why);
        measured.queue.bytes.low = Some(low);
        (measured.queue.full, measured.queue.elsewhere) = (full, elsewhere);
        return measured;
    };
    // If most losses occurred at a shorter queue, they are due to a channel only if they do not
    // depend on the length of the queue.
    let is_told = full.0 >= elsewhere.0 || matches!(outcome, Outcome::Independent);
    let kind = if is_told { Kind::TailDrop } else { Kind::Unknown };
    let (queue, by_queue) = full_queue(trace, waiting, split, (bytes, kind));
    Measured { queue, by_queue, ln_chance, limit }
}

/// Maximum number of bytes on the wire that were in flight when a segment was sent; none if the
/// times of sending are unknown.
fn most_in_flight(trace: &FlowTrace) -> Option<f64> {
    let mut deliveries = trace.deliveries.iter().peekable();
    let mut delivered = 0;
    let mut in_flight = 0_u64;
    let mut most = None;
    for copy in &trace.copies {
        in_flight += u64::from(copy.wire_bytes);
        let Some(sent) = copy.sent_ns else { continue };
        while let Some(delivery) = deliveries.next_if(|it| it.time_ns <= sent) {
            while delivered <= delivery.newest && delivered < trace.copies.len() {
                in_flight = in_flight.saturating_sub(u64::from(trace.copies[delivered].wire_bytes));
                delivered += 1;
            }
        }
        most = most.max(Some(in_flight));
    }
    most.map(|bytes| bytes as f64)
}

/// Queue that was full, at the lengths of this split.
fn full_queue(
    trace: &FlowTrace,
    waiting: &[Option<f64>],
    Split { from, full, elsewhere, by_channel, .. }: Split,
    (limit, kind): (f64, Kind),
) -> (Queue, Vec<f64>) {
    let wire = f64::from(trace.segment_wire_bytes);
    let value = limit.max(wire / 2.0);
    let evidence = format!(
        "{} of {} packets were lost that came when so much waited, and {} of {} others",
        full.0, full.1, elsewhere.0, elsewhere.1
    );
    let bytes = Estimate::known(value, (limit - wire / 2.0, limit + wire / 2.0), evidence);
    let share = 1.0 - (by_channel / (full.0 as f64 / full.1 as f64)).min(1.0);
    let of_queue = trace.copies.iter().zip(waiting).map(|(copy, it)| {
        if is_lost(copy) && it.is_some_and(|it| it >= from) { share } else { 0.0 }
    });
    let queue = Queue { bytes, packets: Some(value / wire), kind, full, elsewhere };
    (queue, of_queue.collect())
}

/// Limit of a queue that is full at lengths of at least `from`.
fn limit_bytes(trace: &FlowTrace, waiting: &[Option<f64>], from: f64) -> f64 {
    // The packet in transmission does not belong to the queue, but the delay contains the rest of
    // its transmission, on average half a packet.
    median_at_loss(trace, waiting, from) - f64::from(trace.segment_wire_bytes) / 2.0
}

/// Median length of the queue, among those of at least `from`, at the arrival of lost packets.
fn median_at_loss(trace: &FlowTrace, waiting: &[Option<f64>], from: f64) -> f64 {
    let both = trace.copies.iter().zip(waiting).filter_map(|(copy, it)| Some((copy, (*it)?)));
    let mut lengths: Vec<f64> =
        both.filter(|(copy, it)| is_lost(copy) && *it >= from).map(|(_, it)| it).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).copied().unwrap_or(from)
}

fn early_drops(
    trace: &FlowTrace,
    found: &EarlyDrops,
    (full, elsewhere): ((u64, u64), (u64, u64)),
) -> (Queue, Vec<f64>) {
    let share = |(lost, packets): (u64, u64)| lost as f64 / packets.max(1) as f64;
    let division = &found.division;
    let evidence = format!(
        "losses came at {} times with at least {:.0} kB waiting{} ({} packets), and at {} with \
         less ({} packets): drops before the queue is full",
        division.hit.0,
        division.from / 1e3,
        if found.is_average { " on average" } else { "" },
        division.hit.1,
        division.others.0,
        division.others.1
    );
    let part = 1.0 - (share(division.others) / share(division.hit)).min(1.0);
    let exposed = trace.copies.iter().zip(&found.is_exposed);
    let of_queue = exposed.map(|(copy, is)| if is_lost(copy) && *is { part } else { 0.0 });
    let bytes = Estimate { low: None, ..Estimate::unknown(&evidence) };
    let queue = Queue { bytes, packets: None, kind: Kind::EarlyDrops, full, elsewhere };
    (queue, of_queue.collect())
}

/// Logarithm of an upper bound (Chernoff) of the probability of at least `lost` losses among
/// `packets`. The probability itself may be too small for a floating-point number.
pub fn ln_at_least(lost: u64, packets: u64, p: f64) -> f64 {
    let share = lost as f64 / packets.max(1) as f64;
    if share <= p {
        return 0.0;
    }
    let part = |own: f64, other: f64| if own > 0.0 { own * (own / other).ln() } else { 0.0 };
    -(packets as f64) * (part(share, p) + part(1.0 - share, 1.0 - p))
}

#[cfg(test)]
mod tests;
