//! Bandwidth-delay product of the path: rate of the bottleneck times the minimum round trip.
//!
//! The rate is the most frequent rate at which acknowledgments follow each other while data wait at
//! the bottleneck. Data wait if they were sent closer together than they were acknowledged, or
//! before the previous data had passed the bottleneck. Acknowledgments that are much closer
//! together than their data were compressed by a queue (ACK compression), and are ignored.
//!
//! The minimum round trip is that of a full segment: a SYN is shorter, and the second of two
//! segments that were sent together waits for the first. If the receiver acknowledges every second
//! segment, one segment is added to the product, because the first of two segments waits for the
//! second (docs/decisions/0018).

use super::delayed_ack::{DELAYED_ACK_MIN_NS, DELAYED_MIN_NS};

/// Number of bins of the histogram of delivery rates, each 5 % wider than the previous one.
const BINS: usize = 360;
const WIDTH: f64 = 0.05;
/// Lowest delivery rate of the histogram, in bytes per second.
const LOWEST: f64 = 1e3;
/// Divisor of the round trip. Data that arrive within less than RTT/`ARRIVALS_MIN` belong to one
/// burst.
const ARRIVALS_MIN: i64 = 4;
/// A link counts as slow if less than one in this number of bytes arrives in a burst (an arbitrary
/// choice).
const BURSTS_MIN: f32 = 4.0;

/// Largest ratio of the time for which data wait to the time that the bottleneck needs for all data
/// in flight. The ratio is at most 1 if only the flow's own data wait; the value is a convention,
/// which leaves room for as many data of others.
const QUEUED_MAX: f64 = 2.0;

/// The receiver delays acknowledgments if at least one in this number of them covers several
/// segments. The number is a convention: Linux acknowledges most segments singly while its quick
/// mode lasts (`tcp_enter_quickack_mode`), and any receiver seems to cover several if
/// acknowledgments are lost, which is rarer.
const PAIRS_MIN: u32 = 100;

/// Estimates of the path's rate and round trip.
#[derive(Debug, Default)]
pub struct Path {
    /// Number of bytes delivered, by bin of the delivery rate.
    bytes: Vec<f32>,
    /// Seconds that the delivery of these bytes took, by bin of the delivery rate.
    seconds: Vec<f32>,
    best: usize,
    /// Rate of the bottleneck in bytes per second; none without samples.
    rate: Option<f64>,
    round_trips: RoundTrips,
    /// Sum of the least round trips from the capture to both endpoints; none if unknown.
    pub loops_ns: Option<i64>,
    /// True if the rate was known when the newest data were sent.
    had_rate: bool,
    last: Option<(i64, i64)>,
    /// Data that were sent together with the newest acknowledged ones.
    burst: Burst,
    /// Arrival time of the last data, at the receiver's end.
    arrived_ns: Option<i64>,
    /// Bytes that arrived in a burst (within a fraction of the round trip after the previous
    /// bytes), and other bytes.
    arrived: [f32; 2],
}

/// Data that an acknowledgment covers for the first time.
#[derive(Debug, Clone, Copy)]
pub struct DeliveredData {
    /// Time of the acknowledgment.
    pub time_ns: i64,
    /// Time at which the newest of the data were sent.
    pub sent_ns: i64,
    /// Bytes that the acknowledgment covers for the first time.
    pub bytes: i64,
    /// Least time from the capture to the receiver and back.
    pub least_ns: i64,
    /// Bytes in flight when the newest of the data passed the capture, with these data; none if
    /// unknown.
    pub flight: Option<i64>,
    /// True if the receiver may have delayed the acknowledgment, because it covers less than two
    /// full segments, and no other data are in flight.
    pub may_be_delayed: bool,
    /// Time for which the receiver has held back the acknowledgment, at the receiver's end.
    pub held_ns: i64,
}

/// Data that were sent together, and that arrive at the receiver one after the other.
#[derive(Debug, Clone, Copy, Default)]
struct Burst {
    /// Time between the transmission of the data before them and their own.
    sent_gap_ns: i64,
    /// Time since the acknowledgment of the data before them.
    elapsed_ns: i64,
}

impl DeliveredData {
    /// True if the data have waited for much longer than it takes to transmit all data in flight
    /// at the rate of this acknowledgment, which follows the one before after `gap_ns`. They have
    /// then waited elsewhere, and were released together.
    fn waited_elsewhere(&self, gap_ns: i64) -> bool {
        let waited_ns = (self.time_ns - self.sent_ns - self.least_ns) as f64;
        let ns_per_byte = gap_ns as f64 / self.bytes.max(1) as f64;
        self.flight.is_some_and(|flight| waited_ns > QUEUED_MAX * flight as f64 * ns_per_byte)
    }
}

/// Round trips of full segments that were sent once.
#[derive(Debug, Default)]
struct RoundTrips {
    /// Payload of a full segment.
    segment: i64,
    /// Least round trip of a segment that was acknowledged alone; none before the first.
    single_ns: Option<i64>,
    /// Least time from the first of several segments to their common acknowledgment, and the number
    /// of segments after the first.
    several: Option<(i64, i64)>,
    /// Number of acknowledgments of one segment, and number of acknowledgments of several.
    counts: [u32; 2],
}

/// An acknowledgment of full segments.
#[derive(Debug, Clone, Copy)]
pub struct FullSegmentAck {
    /// Payload of each segment.
    pub segment_bytes: i64,
    /// Number of segments.
    pub segments: i64,
    /// Time from the transmission of the first segment to the acknowledgment, at the sender.
    pub since_first_ns: i64,
}

impl Path {
    /// Handles an acknowledgment of full segments that were sent once.
    pub fn on_full_segment_ack(&mut self, it: &FullSegmentAck) {
        let trips = &mut self.round_trips;
        // A longer segment shows that the earlier ones were not full, so the minima are reset.
        if it.segment_bytes > trips.segment {
            *trips = RoundTrips { segment: it.segment_bytes, ..RoundTrips::default() };
        }
        // A shorter segment takes less time to transmit, which would lower the minimum.
        if it.segment_bytes < trips.segment {
            return;
        }
        trips.counts[usize::from(it.segments > 1)] += 1;
        if it.segments == 1 {
            trips.single_ns =
                Some(trips.single_ns.map_or(it.since_first_ns, |ns| ns.min(it.since_first_ns)));
        } else {
            let this = (it.since_first_ns, it.segments - 1);
            trips.several = Some(trips.several.map_or(this, |least| least.min(this)));
        }
    }

    /// Notes that new data are sent.
    pub fn on_sent(&mut self) {
        self.had_rate = self.rate().is_some();
    }

    /// Shortest wait for an acknowledgment, beyond its expected time, that shows a delay by the
    /// receiver. If the rate was unknown when the data were sent, a slow link may have caused
    /// shorter ones.
    pub const fn shortest_delay_ns(&self) -> i64 {
        if self.had_rate { DELAYED_MIN_NS } else { DELAYED_ACK_MIN_NS }
    }

    /// True if the receiver has acknowledged several full segments at once, which it does without
    /// delay (RFC 9293 §3.8.6.3).
    pub const fn has_undelayed_ack(&self) -> bool {
        self.round_trips.counts[1] > 0
    }

    /// Bandwidth-delay product in bytes of payload; none until the rate and the round trip are
    /// known.
    pub fn bandwidth_delay_bytes(&self) -> Option<f64> {
        let rate = self.rate()?;
        let trips = &self.round_trips;
        let segment = trips.segment as f64;
        // The acknowledgment of several segments waits until the last one has passed the
        // bottleneck.
        let several =
            trips.several.map(|(ns, before)| rate * ns as f64 * 1e-9 - before as f64 * segment);
        let single = trips.single_ns.map(|ns| rate * ns as f64 * 1e-9);
        let product = match (single, several) {
            (Some(single), Some(several)) => single.min(several),
            (single, several) => single.or(several)?,
        };
        let product = product.max(rate * self.loops_ns.unwrap_or(0) as f64 * 1e-9);
        let [single, several] = trips.counts;
        let waits = if several * PAIRS_MIN > single { segment } else { 0.0 };
        Some(product + waits)
    }

    /// Handles an acknowledgment of data that were sent once.
    pub fn on_delivered(&mut self, it: &DeliveredData) {
        let last = self.last.replace((it.time_ns, it.sent_ns));
        let Some((time_ns, sent_ns)) = last else { return };
        let (gap, sent_gap) = (it.time_ns - time_ns, it.sent_ns - sent_ns);
        let is_together = sent_gap < gap / 2;
        self.burst = if is_together {
            Burst { elapsed_ns: self.burst.elapsed_ns + gap, ..self.burst }
        } else {
            Burst { sent_gap_ns: sent_gap, elapsed_ns: gap }
        };
        // Acknowledgments that were held back and released together follow each other faster than
        // their data did. Data that were sent together do not show this by themselves.
        let is_compressed = self.burst.elapsed_ns <= self.burst.sent_gap_ns / 2;
        // Data out of order release a delayed acknowledgment, which then covers a single segment.
        let is_delayed = (it.may_be_delayed && gap >= DELAYED_ACK_MIN_NS) || it.held_ns > gap / 2;
        let waits = it.sent_ns + it.least_ns <= time_ns && !is_compressed;
        let is_timed = waits || (is_together && !is_compressed);
        if sent_gap >= 0 && is_timed && !is_delayed && !it.waited_elsewhere(gap) {
            self.add(it.bytes, gap);
        }
    }

    /// Handles new data at the receiver's end; `rtt_ns` is the minimum round trip of the path.
    pub fn on_arrived(&mut self, time_ns: i64, bytes: i64, rtt_ns: i64) {
        let last = self.arrived_ns.replace(time_ns);
        let gap = last.map_or(0, |last| time_ns - last);
        let is_apart = gap >= rtt_ns / ARRIVALS_MIN;
        self.arrived[usize::from(is_apart)] += bytes as f32;
        // Over a slow link all data arrive with large gaps, so these gaps are used as well.
        let is_slow = self.arrived[0] * BURSTS_MIN < self.arrived[1];
        if !is_apart || (is_slow && gap < rtt_ns) {
            self.add(bytes, gap);
        }
    }

    fn add(&mut self, bytes: i64, gap: i64) {
        if gap <= 0 {
            return;
        }
        let rate = bytes as f64 / (gap as f64 * 1e-9);
        let bin = ((rate / LOWEST).ln() / WIDTH).max(0.0) as usize;
        if self.bytes.is_empty() {
            self.bytes = vec![0.0; BINS];
            self.seconds = vec![0.0; BINS];
        }
        // The first and the last bin stay empty, so that each used bin has neighbours on both
        // sides.
        let bin = bin.clamp(1, BINS - 2);
        self.bytes[bin] += bytes as f32;
        self.seconds[bin] += gap as f32 * 1e-9;
        // Only the sums around these three bins have changed.
        for near in bin - 1..=bin + 1 {
            if self.weight(near) > self.weight(self.best) {
                self.best = near;
            }
        }
        self.rate = self.rate_of_best();
    }

    /// Discards the last acknowledgment, because losses lie between it and the next one.
    pub fn discard_last_ack(&mut self) {
        self.last = None;
        self.burst = Burst::default();
        self.arrived_ns = None;
    }

    fn weight(&self, bin: usize) -> f32 {
        let from = bin.saturating_sub(1);
        self.bytes.get(from..(bin + 2).min(BINS)).map_or(0.0, |near| near.iter().sum())
    }

    /// Rate of the bottleneck in bytes per second; none without samples.
    pub const fn rate(&self) -> Option<f64> {
        self.rate
    }

    fn rate_of_best(&self) -> Option<f64> {
        if self.best == 0 {
            return None;
        }
        // All bytes are divided by their total time, since a mean of the rates would favour short
        // intervals.
        let near = self.best - 1..=self.best + 1;
        let sum = |of: &[f32]| of[near.clone()].iter().map(|it| f64::from(*it)).sum::<f64>();
        Some(sum(&self.bytes) / sum(&self.seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rate by two acknowledgments of a segment each, 26 ms apart, whose data were sent together.
    /// The receiver has held back the second one for `held_ns`.
    fn rate(held_ns: i64) -> Option<f64> {
        let first = DeliveredData {
            time_ns: 0,
            sent_ns: 0,
            bytes: 1_000,
            least_ns: 0,
            flight: None,
            may_be_delayed: false,
            held_ns: 0,
        };
        let mut path = Path::default();
        path.on_delivered(&first);
        path.on_delivered(&DeliveredData {
            time_ns: 26_000_000,
            sent_ns: 200_000,
            held_ns,
            ..first
        });
        path.rate()
    }

    /// The second segment arrived with the first one, and data out of order released its
    /// acknowledgment a round trip later.
    #[test]
    fn an_acknowledgment_that_the_receiver_has_held_back_shows_no_rate() {
        let link = rate(0).expect("a rate");
        assert!((link - 1e3 / 0.026).abs() < 1.0, "{link}");
        assert_eq!(rate(25_800_000), None);
    }
}
