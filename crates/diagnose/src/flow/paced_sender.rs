//! Sender that paces by a model of the path, as BBR does (Cardwell et al. 2017, "BBR:
//! Congestion-Based Congestion Control"): its rate and its window follow from the bandwidth that it
//! has measured.
//!
//! *Rule.* In startup the sender doubles its rate in each round trip, at 2/ln 2 times the measured
//! bandwidth, until the bandwidth has grown by less than a quarter in each of three round trips.
//! The inverse gain then drains the queue, until no more data are in flight than those of one round
//! trip and an allowance for bursts (`bbr_inflight`). From then on the rate is the measured
//! bandwidth.
//!
//! An acknowledgment shows the bandwidth: the data that were delivered since the newest of the
//! acknowledged data were sent, divided by the time since then (`tcp_rate_gen`).
//!
//! *Where we differ.* Later phases that probe for more bandwidth or for a shorter round trip are
//! left out: they change the queue by at most a quarter of the bandwidth-delay product.

use super::sender::Ack;
use std::collections::VecDeque;

/// Gain of startup, and those of the window afterwards (BBR: 2/ln 2 and 2).
const STARTUP: f64 = 2.885;
const WINDOW: f64 = 2.0;
/// Growth of the bandwidth in a round trip of startup, and number of round trips with less growth
/// that end it (BBR).
const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;
/// Initial window in segments, which determines the first rate (`bbr_init_pacing_rate_from_rtt`).
const INITIAL: i64 = 10;
/// Number of bursts that BBR adds to its window (`bbr_quantization_budget`), duration of a burst,
/// and least and largest number of segments of one (`bbr_tso_segs_goal`).
const BUDGET: i64 = 3;
const BURST_NS: f64 = 1e9 / 1024.0;
const BURST_SEGMENTS: [i64; 2] = [2, 127];
/// Maximum number of stored segments in flight.
const SENT_MAX: usize = 1 << 12;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Startup,
    Drain,
    Cruise,
}

/// Delivery of data, as the sender knows it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivery {
    /// Cumulative acknowledgment.
    pub una: i64,
    /// Time at which it reached the sender.
    pub time_ns: i64,
}

/// Model of the path, as the sender has measured it.
#[derive(Debug, Default)]
pub struct PacedSender {
    phase: Phase,
    /// The acknowledgment of data after this position ends the round trip.
    round_end: i64,
    /// Last delivery.
    delivery: Delivery,
    /// Positions after the data in flight, and the last delivery when they were sent.
    sent: VecDeque<(i64, Delivery)>,
    /// Largest measured bandwidth, in bytes per nanosecond.
    bandwidth: f64,
    /// Bandwidth that the next round trips have to exceed, and number of those that have not.
    full: f64,
    full_rounds: u32,
}

impl PacedSender {
    /// Handles data before `end` that are sent after the last delivery, and after those of the
    /// acknowledgments `coming`, which reach the sender before.
    pub fn on_sent<'a>(&mut self, end: i64, coming: impl Iterator<Item = &'a Ack>) {
        let mut after = self.delivery;
        for ack in coming {
            if ack.ack > after.una {
                after = Delivery { una: ack.ack, time_ns: ack.effective_ns };
            }
        }
        if self.sent.len() == SENT_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back((end, after));
    }

    /// Handles a delivery, after which everything before `end` has been sent. The bandwidth is at
    /// most `most` bytes per nanosecond, the rate of the bottleneck, if that is known.
    pub fn on_delivery(&mut self, now: Delivery, end: i64, most: Option<f64>) {
        if now.una <= self.delivery.una {
            return;
        }
        self.delivery = now;
        if self.sent.is_empty() {
            return;
        }
        let mut before = None;
        while let Some((_, delivery)) = self.sent.front().filter(|(end, _)| *end <= now.una) {
            before = Some(*delivery);
            self.sent.pop_front();
        }
        // The handshake delivers no data.
        if let Some(before) = before.filter(|it| it.una > 0 && now.time_ns > it.time_ns) {
            let sample = (now.una - before.una) as f64 / (now.time_ns - before.time_ns) as f64;
            self.bandwidth = self.bandwidth.max(sample.min(most.unwrap_or(f64::MAX)));
        }
        if now.una > self.round_end {
            self.round_end = end;
            self.on_round();
        }
    }

    /// Ends the draining of the queue once few enough data are in flight.
    pub fn on_flight(&mut self, flight: i64, segment: i64, rtt_ns: i64) {
        if self.phase != Phase::Drain {
            return;
        }
        let enough = (self.bandwidth * rtt_ns as f64) as i64 + self.budget(segment, rtt_ns);
        if flight <= enough {
            self.phase = Phase::Cruise;
        }
    }

    fn on_round(&mut self) {
        if self.bandwidth >= GROWTH * self.full {
            (self.full, self.full_rounds) = (self.bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        if self.full_rounds >= ROUNDS && self.phase == Phase::Startup {
            self.phase = Phase::Drain;
        }
    }

    /// Rate of sending in bytes per nanosecond. In startup, it never falls below the first one.
    fn rate(&self, segment: i64, rtt_ns: i64) -> f64 {
        match self.phase {
            Phase::Startup => {
                let first = (INITIAL * segment) as f64 / rtt_ns.max(1) as f64;
                STARTUP * self.bandwidth.max(first)
            }
            Phase::Drain => self.bandwidth / STARTUP,
            Phase::Cruise => self.bandwidth,
        }
    }

    /// Bytes that BBR adds to its window for bursts.
    fn budget(&self, segment: i64, rtt_ns: i64) -> i64 {
        let burst = (self.rate(segment, rtt_ns) * BURST_NS) as i64 / segment.max(1);
        let [least, most] = BURST_SEGMENTS;
        BUDGET * burst.clamp(least, most) * segment
    }

    /// Time between the transmissions of a segment and of the next one, for a minimum RTT of
    /// `rtt_ns`; 0 before any measurement.
    pub fn interval_ns(&self, segment: i64, rtt_ns: i64) -> i64 {
        let rate = self.rate(segment, rtt_ns);
        if self.bandwidth > 0.0 { (segment as f64 / rate) as i64 } else { 0 }
    }

    /// Largest window, for a minimum RTT of `rtt_ns`; none before any measurement.
    pub fn largest_window(&self, segment: i64, rtt_ns: i64) -> Option<i64> {
        let gain = if self.phase == Phase::Cruise { WINDOW } else { STARTUP };
        let product = self.bandwidth * rtt_ns as f64;
        (product > 0.0).then(|| (gain * product) as i64 + self.budget(segment, rtt_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const SEGMENT: i64 = 1_000;

    /// A segment of 1,000 bytes per millisecond is acknowledged, with 40 segments in flight and an
    /// RTT of 20 ms. The rate of the bottleneck is unknown.
    fn after(acks: i64) -> PacedSender {
        let mut paced = PacedSender::default();
        for number in 0..acks + 40 {
            let una = (number - 40).max(0) * SEGMENT;
            if una > 0 {
                let now = Delivery { una, time_ns: (number - 40) * MS };
                paced.on_delivery(now, number * SEGMENT, None);
            }
            paced.on_sent((number + 1) * SEGMENT, [].iter());
        }
        paced
    }

    #[test]
    fn startup_ends_after_three_round_trips_without_growth() {
        assert_eq!(after(30).interval_ns(SEGMENT, 20 * MS), 0);
        assert_eq!(after(30).largest_window(SEGMENT, 20 * MS), None);
        let startup = after(160);
        assert_eq!(startup.interval_ns(SEGMENT, 20 * MS), 346_620);
        // A burst of a millisecond has 2 of 2.885 segments.
        assert_eq!(startup.largest_window(SEGMENT, 20 * MS), Some(63_699));
        let mut cruise = after(170);
        assert_eq!(cruise.interval_ns(SEGMENT, 20 * MS), 2_885_000);
        cruise.on_flight(27 * SEGMENT, SEGMENT, 20 * MS);
        assert_eq!(cruise.interval_ns(SEGMENT, 20 * MS), 2_885_000);
        cruise.on_flight(26 * SEGMENT, SEGMENT, 20 * MS);
        assert_eq!(cruise.interval_ns(SEGMENT, 20 * MS), 1_000_000);
        assert_eq!(cruise.largest_window(SEGMENT, 20 * MS), Some(46_000));
    }

    /// An acknowledgment after a recovery covers 40 segments at once. The bottleneck takes 1 ms for
    /// each.
    #[test]
    fn the_bandwidth_is_at_most_that_of_the_bottleneck() {
        for (most, interval_ns) in [(Some(1e-3), 346_620), (None, 16_908)] {
            let mut paced = after(100);
            let now = Delivery { una: 140 * SEGMENT, time_ns: 101 * MS };
            paced.on_delivery(now, 140 * SEGMENT, most);
            assert_eq!(paced.interval_ns(SEGMENT, 20 * MS), interval_ns);
        }
    }
}
