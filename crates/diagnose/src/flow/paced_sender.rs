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
//! *Where we differ.* Later phases that probe for more bandwidth or for a shorter round trip are
//! left out: they change the queue by at most a quarter of the bandwidth-delay product.

/// Gain of startup, and those of the window afterwards (BBR: 2/ln 2 and 2).
const STARTUP: f64 = 2.885;
const WINDOW: f64 = 2.0;
/// Growth of the bandwidth in a round trip of startup, and number of round trips with less growth
/// that end it (BBR).
const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;
/// Segments that BBR adds to its window: three bursts of two (`bbr_quantization_budget`).
const BUDGET: i64 = 6;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Startup,
    Drain,
    Cruise,
}

/// Model of the path, as the sender has measured it.
#[derive(Debug, Default)]
pub struct PacedSender {
    phase: Phase,
    /// The acknowledgment of data after this position ends the round trip; time and
    /// acknowledgment at its beginning.
    round_end: i64,
    round_start: (i64, i64),
    /// Largest bandwidth of a round trip, in bytes per nanosecond.
    bandwidth: f64,
    /// Bandwidth that the next round trips have to exceed, and number of those that have not.
    full: f64,
    full_rounds: u32,
}

impl PacedSender {
    /// Handles an acknowledgment that reaches the sender at `time_ns`: everything before `una` is
    /// acknowledged, and everything before `end` has been sent.
    pub fn on_ack(&mut self, time_ns: i64, (una, end): (i64, i64), segment: i64, rtt_ns: i64) {
        if una > self.round_end {
            let (from_ns, from) = std::mem::replace(&mut self.round_start, (time_ns, una));
            self.round_end = end;
            if from > 0 && time_ns > from_ns {
                self.on_round((una - from) as f64 / (time_ns - from_ns) as f64);
            }
        }
        let enough = (self.bandwidth * rtt_ns as f64) as i64 + BUDGET * segment;
        if self.phase == Phase::Drain && end - una <= enough {
            self.phase = Phase::Cruise;
        }
    }

    fn on_round(&mut self, bandwidth: f64) {
        self.bandwidth = self.bandwidth.max(bandwidth);
        if self.bandwidth >= GROWTH * self.full {
            (self.full, self.full_rounds) = (self.bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        if self.full_rounds >= ROUNDS && self.phase == Phase::Startup {
            self.phase = Phase::Drain;
        }
    }

    /// Time between the transmissions of a segment and of the next one; 0 before any measurement.
    pub fn interval_ns(&self, segment: i64) -> i64 {
        let gain = match self.phase {
            Phase::Startup => STARTUP,
            Phase::Drain => 1.0 / STARTUP,
            Phase::Cruise => 1.0,
        };
        if self.bandwidth > 0.0 { (segment as f64 / (gain * self.bandwidth)) as i64 } else { 0 }
    }

    /// Largest window, for a minimum RTT of `rtt_ns`; none before any measurement.
    pub fn largest_window(&self, segment: i64, rtt_ns: i64) -> Option<i64> {
        let gain = if self.phase == Phase::Cruise { WINDOW } else { STARTUP };
        let product = self.bandwidth * rtt_ns as f64;
        (product > 0.0).then(|| (gain * product) as i64 + BUDGET * segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const SEGMENT: i64 = 1_000;

    /// A segment per millisecond is acknowledged, with 40 segments in flight and an RTT of 20 ms.
    fn after(acks: i64) -> PacedSender {
        let mut paced = PacedSender::default();
        for number in 1..=acks {
            let una = number * SEGMENT;
            paced.on_ack(number * MS, (una, una + 40 * SEGMENT), SEGMENT, 20 * MS);
        }
        paced
    }

    #[test]
    fn startup_ends_after_three_round_trips_without_growth() {
        assert_eq!(after(30).interval_ns(SEGMENT), 0);
        assert_eq!(after(30).largest_window(SEGMENT, 20 * MS), None);
        let startup = after(160);
        assert_eq!(startup.interval_ns(SEGMENT), 346_620);
        assert_eq!(startup.largest_window(SEGMENT, 20 * MS), Some(63_699));
        assert_eq!(after(170).interval_ns(SEGMENT), 2_885_000);
        let mut cruise = after(170);
        cruise.on_ack(171 * MS, (171 * SEGMENT, 198 * SEGMENT), SEGMENT, 20 * MS);
        assert_eq!(cruise.interval_ns(SEGMENT), 2_885_000);
        cruise.on_ack(172 * MS, (172 * SEGMENT, 198 * SEGMENT), SEGMENT, 20 * MS);
        assert_eq!(cruise.interval_ns(SEGMENT), 1_000_000);
        assert_eq!(cruise.largest_window(SEGMENT, 20 * MS), Some(46_000));
    }
}
