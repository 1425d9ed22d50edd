//! ACK aggregation: excess of the acknowledged data over the estimated rate times the elapsed time.
//! Medium access and offloads bundle acknowledgments. The window is enlarged by the excess, so that
//! the sender does not stall between bundles. Linux: `bbr_update_ack_aggregation`,
//! `bbr_ack_aggregation_cwnd`.

use super::Bandwidth;
use crate::congestion_control::{Window, segments};
use retx_units::{Duration, Time};

/// Length of each half of the window over which the largest excess is taken, in rounds.
const HALF_WINDOW: u32 = 5;
/// Number of acknowledged segments after which an epoch ends.
const LONGEST_EPOCH: u64 = 1 << 20;
/// Limit of the allowance: the data delivered at the estimated rate in this time.
const MOST: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aggregation {
    epoch: Time,
    acked: u64,
    /// Largest excess in each half of the window of the last rounds, in segments.
    excess: [u64; 2],
    half: usize,
    rounds: u32,
}

/// An acknowledgment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acked<'a> {
    pub at: Time,
    pub delivered_segments: u64,
    pub round_start: bool,
    pub bandwidth: Bandwidth,
    pub window: &'a Window,
    pub smss: u64,
}

impl Aggregation {
    /// Starts an epoch.
    pub fn restart(&mut self, now: Time) {
        self.epoch = now;
        self.acked = 0;
    }

    pub fn on_ack(&mut self, ack: &Acked) {
        if ack.round_start {
            self.rounds += 1;
            // Two maxima that are reset in turn cover the last five to ten rounds.
            if self.rounds >= HALF_WINDOW {
                self.rounds = 0;
                self.half ^= 1;
                self.excess[self.half] = 0;
            }
        }
        let elapsed = ack.at.since(self.epoch);
        let mut expected = ack.bandwidth.segments_in(elapsed, ack.smss);
        // ACKs no longer run ahead of the estimated rate: a new epoch begins.
        if self.acked <= expected || self.acked + ack.delivered_segments >= LONGEST_EPOCH {
            self.restart(ack.at);
            expected = 0;
        }
        self.acked = (self.acked + ack.delivered_segments).min(LONGEST_EPOCH - 1);
        let excess = self.acked.saturating_sub(expected);
        let largest = &mut self.excess[self.half];
        if excess > *largest {
            // A bundle of ACKs cannot acknowledge more than a window.
            *largest = excess.min(segments::cwnd_segments(ack.window)).max(*largest);
        }
    }

    /// Segments that ACK aggregation allows in flight beyond the window of the model.
    pub fn aggregation_cwnd(&self, bandwidth: Bandwidth, smss: u64) -> u64 {
        self.excess[0].max(self.excess[1]).min(bandwidth.segments_in(MOST, smss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion_control::testing::window;

    const RATE: Bandwidth = Bandwidth(1_000_000);

    fn feed(aggregation: &mut Aggregation, ms: u64, segments: u64, round_start: bool) {
        aggregation.on_ack(&Acked {
            at: Time::ZERO + Duration::from_millis(ms),
            delivered_segments: segments,
            round_start,
            bandwidth: RATE,
            window: &window(500, 500),
            smss: 1000,
        });
    }

    /// With one segment per millisecond, in bundles of twenty, the excess is one bundle for five to
    /// ten rounds.
    #[test]
    fn bundles() {
        let mut aggregation = Aggregation::default();
        for n in 1..50 {
            feed(&mut aggregation, 20 * n, 20, false);
            assert_eq!(aggregation.aggregation_cwnd(RATE, 1000), 20);
        }
        let mut rounds = 0;
        while aggregation.aggregation_cwnd(RATE, 1000) == 20 {
            rounds += 1;
            feed(&mut aggregation, 1000 + rounds, 1, true);
        }
        assert!((5..=10).contains(&rounds), "{rounds}");
    }

    /// Two ACKs of twenty segments, a millisecond apart: 40 segments are acknowledged, and one was
    /// expected. The epoch ends before it has 2^20 segments.
    #[test]
    fn an_epoch_adds_up_until_it_is_the_longest() {
        let mut aggregation = Aggregation::default();
        feed(&mut aggregation, 1, 20, false);
        feed(&mut aggregation, 2, 20, false);
        assert_eq!(aggregation.aggregation_cwnd(RATE, 1000), 39);
        feed(&mut aggregation, 3, LONGEST_EPOCH - 41, false);
        assert_eq!(aggregation.acked, LONGEST_EPOCH - 1);
        feed(&mut aggregation, 4, 7, false);
        assert_eq!(aggregation.acked, 7);
    }

    #[test]
    fn the_allowance_is_bounded_by_time_and_cwnd() {
        let mut aggregation = Aggregation::default();
        feed(&mut aggregation, 1, 400, false);
        assert_eq!(aggregation.aggregation_cwnd(RATE, 1000), 100);
        assert_eq!(aggregation.aggregation_cwnd(Bandwidth(9_000_000), 1000), 400);
        feed(&mut aggregation, 2, 4000, false);
        assert_eq!(aggregation.aggregation_cwnd(Bandwidth(90_000_000), 1000), 500);
    }
}
