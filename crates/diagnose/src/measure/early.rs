//! Test for early drops: losses at a queue that is not full, which are the more frequent the longer
//! the queue is.
//!
//! Null hypothesis: packets that arrive at a queue clearly shorter than its greatest length are
//! lost by the channel, independently of the queue. The rank of the queue length at a loss, among
//! those at the arrivals of all packets, is then uniformly distributed, and the mean rank is nearly
//! normal (Mann and Whitney 1947). Two lengths are tested, each at half of the significance level:
//! the length at the packet's arrival, and its moving average, by which RED drops packets.
//!
//! Losses soon after another loss do not count, because channels lose packets in bursts. The other
//! packets of that time do not count either: the sender has reduced its window, so queues are
//! short.

use super::copies::{FlowTrace, is_lost};
use super::queue::ln_at_least;

/// Minimum number of losses for the test.
const LOSSES_MIN: usize = 5;
/// Normal quantile of the one-sided level of 0.5 %. With two tests, the level is 1 %.
const Z: f64 = 2.576;
/// A queue counts as clearly shorter than its greatest length if it is below this share of it, and
/// shorter by `MARGIN` segments. Measured lengths are inexact by one or two segments, so a queue of
/// at most `MARGIN` segments counts as empty.
const SHORTER: f64 = 0.75;
const MARGIN: f64 = 2.0;
/// Weight of a packet in the moving average: the default of RED (Floyd and Jacobson 1993).
const WEIGHT: f64 = 0.002;
/// Quantiles of the queue length that are tried as the length at which early drops begin.
const BEGINS: [f64; 4] = [0.3, 0.5, 0.7, 0.85];

/// Result of the test.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Losses become more frequent with the length of the queue.
    Early(EarlyDrops),
    /// Losses do not depend on the length of the queue.
    Independent,
    /// Too few losses.
    TooFew,
}

/// Numbers of losses at long and at short queues.
#[derive(Debug, Clone)]
pub struct Division {
    /// Length from which on losses are frequent, bytes.
    pub from: f64,
    /// Number of losses at lengths of at least `from`, and number of packets.
    pub hit: (u64, u64),
    /// Number of other losses, and number of other packets.
    pub others: (u64, u64),
}

/// Early drops of a queue.
#[derive(Debug, Clone)]
pub struct EarlyDrops {
    /// True if the moving average is the better evidence.
    pub is_average: bool,
    /// Losses below and above the length at which they become frequent.
    pub division: Division,
    /// Exposure of each copy: true if the queue was at least this long, or nearly full.
    pub is_exposed: Vec<bool>,
}

/// Tests for early drops. `most` is the greatest length of the queue, which drains at `per_ns`
/// bytes per nanosecond.
pub fn find_early_drops(
    trace: &FlowTrace,
    waiting: &[Option<f64>],
    (most, per_ns): (f64, f64),
) -> Outcome {
    let margin = MARGIN * f64::from(trace.segment_wire_bytes);
    let below = (SHORTER * most).min(most - margin);
    // Until then, the sender has reacted to a loss.
    let span_ns = trace.least_ns + (most / per_ns / 2.0) as i64;
    let averages = moving_averages(waiting);
    let tests = [(false, waiting), (true, &averages[..])].map(|(is_average, lengths)| {
        let mut samples = samples(trace, waiting, lengths, (below, span_ns));
        samples.iter_mut().for_each(|sample| sample.0 = sample.0.max(margin));
        (is_average, lengths, z_of_mean_rank(&samples), samples)
    });
    let [Some(one), Some(other)] = [tests[0].2, tests[1].2] else { return Outcome::TooFew };
    let [at_arrival, average] = tests;
    let (is_average, lengths, _, samples) = if other > one { average } else { at_arrival };
    if one.max(other) < Z {
        return Outcome::Independent;
    }
    let Some(division) = divide(&samples) else { return Outcome::Independent };
    let long = |(length, it): (&Option<f64>, &Option<f64>)| {
        length.is_some_and(|length| length >= division.from) || it.is_some_and(|it| it >= below)
    };
    let is_exposed = lengths.iter().zip(waiting).map(long).collect();
    Outcome::Early(EarlyDrops { is_average, division, is_exposed })
}

fn moving_averages(waiting: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut average = 0.0;
    let mut one = |it: &Option<f64>| {
        average += WEIGHT * ((*it)? - average);
        Some(average)
    };
    waiting.iter().map(&mut one).collect()
}

/// Length and fate of the packets that arrived at a queue shorter than `below`, except those within
/// `span_ns` after a loss. Sorted by length.
fn samples(
    trace: &FlowTrace,
    waiting: &[Option<f64>],
    lengths: &[Option<f64>],
    (below, span_ns): (f64, i64),
) -> Vec<(f64, bool)> {
    let (mut found, mut until_ns) = (Vec::new(), i64::MIN);
    for (copy, (waiting, length)) in trace.copies.iter().zip(waiting.iter().zip(lengths)) {
        let (Some(waiting), Some(length)) = (*waiting, *length) else { continue };
        if copy.time_ns <= until_ns {
            continue;
        }
        if is_lost(copy) {
            until_ns = copy.time_ns.saturating_add(span_ns);
        }
        if waiting < below {
            found.push((length, is_lost(copy)));
        }
    }
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    found
}

/// Mean rank of the losses as a standard normal variable; none with too few losses.
fn z_of_mean_rank(samples: &[(f64, bool)]) -> Option<f64> {
    let count = samples.len() as f64;
    let (mut first, mut sum, mut losses, mut ties) = (0.0, 0.0, 0, 0.0);
    for equal in samples.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()) {
        // Equal lengths have the same rank: the mean of their ranks.
        let size = equal.len() as f64;
        let lost = equal.iter().filter(|sample| sample.1).count();
        sum += lost as f64 * (first + size / 2.0) / count;
        losses += lost;
        ties += (size / count).powi(3);
        first += size;
    }
    let variance = (1.0 - ties) / 12.0;
    let mean = sum / losses as f64 - 0.5;
    let z = if variance > 0.0 { mean * (losses as f64 / variance).sqrt() } else { 0.0 };
    (losses >= LOSSES_MIN).then_some(z)
}

/// Divides the packets at the length from which on losses are frequent.
fn divide(samples: &[(f64, bool)]) -> Option<Division> {
    let count = |part: &[(f64, bool)]| {
        (part.iter().filter(|sample| sample.1).count() as u64, part.len() as u64)
    };
    let all = count(samples);
    let split = |part: f64| {
        let from = samples.get((samples.len() as f64 * part) as usize)?.0;
        let first = samples.partition_point(|sample| sample.0 < from);
        if first == 0 {
            return None;
        }
        let (others, hit) = (count(&samples[..first]), count(&samples[first..]));
        let ln_chance = ln_at_least(hit.0, all.0, hit.1 as f64 / all.1 as f64);
        Some((ln_chance, Division { from, hit, others }))
    };
    let found = BEGINS.into_iter().filter_map(split);
    found.min_by(|one, other| one.0.total_cmp(&other.0)).map(|best| best.1)
}

#[cfg(test)]
mod tests;
