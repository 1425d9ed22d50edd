//! Number of bytes that waited before the bottleneck when each copy arrived.

use super::copies::{FlowTrace, SegmentCopy, is_lost};
use super::delay::transmission_ns;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum age of a shift, in round trips, with which it is preferred to one from delays of ACKs
/// with SACK blocks. Linux holds such ACKs back for up to 1.1 ms (`tcp_comp_sack_delay_ns`, plus
/// slack).
const RECENT: i64 = 10;

/// Bytes on the wire that were queued when each copy arrived; none if unknown.
///
/// The queue computed from a single delay is noisy by a few segments. The queue computed as bytes
/// sent minus bytes forwarded contains the error of the rate, and lacks other traffic. The second
/// value is therefore shifted by the median difference between both values in the same round trip,
/// without delays of ACKs with SACK blocks if there are recent ones of others.
///
/// `limit` is the length from which on the queue drops packets, bytes. A packet that was lost at a
/// shorter queue was transmitted, and lost afterwards. Without a limit, no lost packet is taken to
/// have been transmitted.
pub fn queued_bytes(trace: &FlowTrace, rate_bit_s: f64, limit: Option<f64>) -> Vec<Option<f64>> {
    let per_ns = rate_bit_s / 8e9;
    let sums = summed(trace, per_ns, |_, _| true);
    let shifts = Shifts::measured(trace, rate_bit_s, &sums);
    let Some(limit) = limit else { return shifts.applied(trace, &sums) };
    let is_full = |copy: &SegmentCopy, sum: f64| {
        shifts.shift(trace, copy).is_none_or(|shift| sum + shift >= limit)
    };
    let sums = summed(trace, per_ns, is_full);
    Shifts::measured(trace, rate_bit_s, &sums).applied(trace, &sums)
}

/// Bytes queued at the arrival of each copy, computed from the bytes sent before it and from those
/// that the bottleneck has forwarded. `is_dropped` tells whether the queue, with this many bytes,
/// dropped a lost copy.
fn summed(
    trace: &FlowTrace,
    per_ns: f64,
    is_dropped: impl Fn(&SegmentCopy, f64) -> bool,
) -> Vec<Option<f64>> {
    let (mut last, mut bytes) = (None, 0.0_f64);
    let mut one = |copy: &SegmentCopy| {
        let sent = copy.sent_ns?;
        let passed = last.map_or(0.0, |last| (sent - last) as f64 * per_ns);
        let now = (bytes - passed).max(0.0);
        last = Some(sent);
        let enters = !is_lost(copy) || !is_dropped(copy, now);
        bytes = now + if enters { f64::from(copy.wire_bytes) } else { 0.0 };
        Some(now)
    };
    trace.copies.iter().map(&mut one).collect()
}

/// Differences between the queue computed from delays and the summed one, by round trip.
struct Shifts {
    /// Shifts that leave out delays of ACKs with SACK blocks.
    exact: BTreeMap<i64, f64>,
    /// Shifts of all delays.
    all: BTreeMap<i64, f64>,
}

impl Shifts {
    fn measured(trace: &FlowTrace, rate_bit_s: f64, sums: &[Option<f64>]) -> Self {
        let own = |copy: &SegmentCopy| transmission_ns(copy.wire_bytes, Some(rate_bit_s));
        let sample = |copy: &SegmentCopy| Some(copy.delay_ns? as f64 - own(copy));
        let base = trace.copies.iter().filter_map(sample).fold(f64::INFINITY, f64::min);
        let sacked: BTreeSet<usize> =
            trace.deliveries.iter().filter(|it| !it.is_plain).map(|it| it.newest).collect();
        let medians = |with_sacked: bool| -> BTreeMap<i64, f64> {
            let mut differences: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
            for (index, (copy, sum)) in trace.copies.iter().zip(sums).enumerate() {
                if !with_sacked && sacked.contains(&index) {
                    continue;
                }
                if let (Some(sent), Some(sample), Some(sum)) = (copy.sent_ns, sample(copy), sum) {
                    let difference = (sample - base) * rate_bit_s / 8e9 - sum;
                    differences.entry(round(trace, sent)).or_default().push(difference);
                }
            }
            differences.into_iter().map(|(round, values)| (round, median(values))).collect()
        };
        Self { exact: medians(false), all: medians(true) }
    }

    /// Shift in the round trip of this copy. If the round trip contains no delay, the shift of the
    /// last earlier one is used.
    fn shift(&self, trace: &FlowTrace, copy: &SegmentCopy) -> Option<f64> {
        let number = round(trace, copy.sent_ns?);
        let recent = self.exact.range(number.saturating_sub(RECENT)..=number).next_back();
        let (_, shift) = recent.or_else(|| self.all.range(..=number).next_back())?;
        Some(*shift)
    }

    fn applied(&self, trace: &FlowTrace, sums: &[Option<f64>]) -> Vec<Option<f64>> {
        let one = |(copy, sum): (&SegmentCopy, &Option<f64>)| {
            Some(((*sum)? + self.shift(trace, copy)?).max(0.0))
        };
        trace.copies.iter().zip(sums).map(one).collect()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Number of minimum round trips before this time.
pub fn round(trace: &FlowTrace, time_ns: i64) -> i64 {
    time_ns / trace.least_ns.max(1)
}
