//! BBR's model of the path: bandwidth, rounds, minimum RTT, and whether the pipe is full.

use super::UNIT;
use crate::congestion_control::windowed_filter::WindowedMax;
use crate::mul_div::mul_div;
use retx_units::{Duration, Time};

/// Delivery rate, in bytes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bandwidth(pub u64);

impl Bandwidth {
    /// Rate of `segments` segments in `time`.
    pub fn from_segments(segments: u64, smss: u64, time: Duration) -> Self {
        Self(mul_div(segments * smss, 1_000_000_000, time.as_nanos().max(1)))
    }

    /// Whole segments delivered in `time`.
    pub fn segments_in(self, time: Duration, smss: u64) -> u64 {
        mul_div(self.0, time.as_nanos(), 1_000_000_000) / smss
    }

    /// Segments in flight at this rate, times a gain. Rounded up: a window rounded down would lower
    /// the measured rate, and so the next window.
    pub fn in_flight(self, rtt: Duration, gain: u64, smss: u64) -> u64 {
        const DIVISOR: u64 = UNIT * 1_000_000_000;
        let bytes = match self.0.checked_mul(rtt.as_nanos()) {
            Some(byte_nanos) => mul_div(byte_nanos, gain, DIVISOR),
            None => {
                let byte_nanos = u128::from(self.0) * u128::from(rtt.as_nanos());
                let bytes = byte_nanos.saturating_mul(gain.into()) / u128::from(DIVISOR);
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
        };
        bytes.div_ceil(smss)
    }

    /// Pacing rate in bytes per second, 1 % below the estimate (`bbr_pacing_margin_percent`).
    pub fn pacing_rate(self, gain: u64) -> u64 {
        mul_div(mul_div(self.0, gain, UNIT), 99, 100)
    }
}

/// Length of the bandwidth filter, in rounds: a cycle of gains, and two more.
const BANDWIDTH_WINDOW: u64 = 10;
/// Length of the minimum RTT filter.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// Largest bandwidth of the last ten rounds, and the count of rounds. A round ends with the
/// delivery of a segment sent after its start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounds {
    bandwidth: WindowedMax,
    count: u64,
    /// Number of delivered segments at the start of the round; the round ends with the delivery of
    /// a segment sent after that.
    end: u64,
    /// True if the current acknowledgment begins a round.
    pub start: bool,
}

impl Rounds {
    pub fn new() -> Self {
        Self { bandwidth: WindowedMax::new(BANDWIDTH_WINDOW), count: 0, end: 0, start: false }
    }

    /// Handles a sample of a segment that was sent when `prior_delivered` segments had been
    /// delivered; now `delivered` have been. Returns true if a round begins.
    pub fn on_sample(&mut self, prior_delivered: u64, delivered: u64) -> bool {
        // If the segment was sent after the round began, a round trip has passed since then.
        self.start = prior_delivered >= self.end;
        if self.start {
            self.end = delivered;
            self.count += 1;
        }
        self.start
    }

    /// Begins a round now.
    pub fn begin_at(&mut self, delivered: u64) {
        self.end = delivered;
    }

    pub fn add(&mut self, bandwidth: Bandwidth) {
        self.bandwidth.add(self.count, bandwidth.0);
    }

    pub fn bandwidth(&self) -> Bandwidth {
        Bandwidth(self.bandwidth.max())
    }
}

/// Minimum RTT of the last ten seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MinRtt {
    pub value: Option<Duration>,
    at: Time,
}

impl MinRtt {
    pub const fn new(value: Option<Duration>, at: Time) -> Self {
        Self { value, at }
    }

    /// Handles a sample. Returns true if the previous minimum had expired.
    pub fn update(&mut self, now: Time, rtt: Option<Duration>, may_be_delayed: bool) -> bool {
        let expired = now > self.at + MIN_RTT_WINDOW;
        if let Some(rtt) = rtt
            // An expired minimum is replaced by any sample, but not by that of a delayed ACK.
            && (self.value.is_none_or(|least| rtt < least) || (expired && !may_be_delayed))
        {
            *self = Self::new(Some(rtt), now);
        }
        expired
    }

    /// Keeps the current minimum for another 10 s.
    pub const fn restart_window(&mut self, now: Time) {
        self.at = now;
    }
}

/// Detection of a full pipe: three successive rounds in which the bandwidth grows by less than a
/// quarter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FullPipe {
    full_bandwidth: Bandwidth,
    rounds: u32,
    pub reached: bool,
}

impl FullPipe {
    /// Handles the start of a round that was not limited by the application.
    pub fn on_round(&mut self, bandwidth: Bandwidth) {
        if self.reached {
            return;
        }
        // The factor 5/4 in units of 1/256, rounded as in Linux.
        let threshold =
            u128::from(self.full_bandwidth.0) * u128::from(UNIT * 5 / 4) / u128::from(UNIT);
        if u128::from(bandwidth.0) >= threshold {
            self.full_bandwidth = bandwidth;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= 3;
    }

    /// Resets the bandwidth at which the pipe counts as full (`full_bw`).
    pub const fn reset_full_bandwidth(&mut self) {
        self.full_bandwidth = Bandwidth(0);
    }

    /// Restarts the detection; a pipe that was found full still counts as full.
    pub const fn restart(&mut self) {
        self.reset_full_bandwidth();
        self.rounds = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_in_other_units() {
        let ten_mbit = Bandwidth::from_segments(1250, 1000, Duration::from_secs(1));
        assert_eq!(ten_mbit, Bandwidth(1_250_000));
        let rtt = Duration::from_millis(40);
        assert_eq!(ten_mbit.in_flight(rtt, UNIT, 1000), 50);
        assert_eq!(ten_mbit.in_flight(rtt, UNIT + 1, 1000), 51, "rounded up");
        assert_eq!(ten_mbit.segments_in(rtt, 1000), 50);
        assert_eq!(ten_mbit.pacing_rate(2 * UNIT), 2_475_000);
    }

    /// 10 Gbyte/s × 10 s = 10¹¹ bytes; in bytes times nanoseconds, this exceeds 64 bits.
    #[test]
    fn a_product_beyond_64_bits() {
        let rtt = Duration::from_secs(10);
        let flight = |gain| Bandwidth(10_000_000_000).in_flight(rtt, gain, 1_000);
        assert_eq!([UNIT, 2 * UNIT, UNIT / 2].map(flight), [100_000_000, 200_000_000, 50_000_000]);
        assert_eq!(Bandwidth(u64::MAX).in_flight(rtt, UNIT, 1), u64::MAX);
    }

    #[test]
    fn a_round_ends_with_what_was_sent_after_it_began() {
        let mut rounds = Rounds::new();
        assert!(rounds.on_sample(1, 11));
        assert!(!rounds.on_sample(10, 20));
        assert!(rounds.on_sample(11, 21));
    }

    /// As in Linux since the end of 2020: an equal RTT does not extend the period of the minimum,
    /// so that even a sender that never builds a queue probes for the minimum RTT.
    #[test]
    fn the_same_rtt_again_does_not_put_off_the_end_of_the_least() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let rtt = Some(Duration::from_millis(20));
        let mut least = MinRtt::new(rtt, at(0));
        assert!(!least.update(at(9), rtt, false));
        assert!(least.update(at(11), rtt, false), "of 0 s, not of 9 s");
        assert!(!least.update(at(12), rtt, false), "taken anew when it had expired");
    }

    #[test]
    fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
        let mut full = FullPipe::default();
        for bandwidth in [100, 200, 249, 249, 250, 300, 300] {
            full.on_round(Bandwidth(bandwidth));
            assert!(!full.reached, "{bandwidth}");
        }
        full.on_round(Bandwidth(311));
        assert!(full.reached);
    }

    #[test]
    fn the_least_rtt_expires_after_ten_seconds() {
        let [ms40, ms50] = [40, 50].map(Duration::from_millis);
        let at = |secs| Time::ZERO + Duration::from_secs(secs);
        let mut least = MinRtt::new(Some(ms40), at(0));
        assert!(!least.update(at(10), Some(ms50), false));
        assert_eq!(least.value, Some(ms40));
        assert!(least.update(at(11), Some(ms50), true));
        assert_eq!(least.value, Some(ms40), "it may have been delayed");
        assert!(least.update(at(11), Some(ms50), false));
        assert_eq!(least.value, Some(ms50));
        assert!(!least.update(at(21), Some(ms50), false));
    }

    /// `bbr_undo_cwnd` restarts the detection: the bandwidth then has to stop growing for three
    /// rounds.
    #[test]
    fn a_restarted_detection_needs_three_rounds() {
        for (restarts, reached) in [(false, true), (true, false)] {
            let mut full = FullPipe::default();
            for _ in 0..3 {
                full.on_round(Bandwidth(100));
            }
            if restarts {
                full.restart();
            }
            full.on_round(Bandwidth(100));
            assert_eq!(full.reached, reached);
        }
    }
}
