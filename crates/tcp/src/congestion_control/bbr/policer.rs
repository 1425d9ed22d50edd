//! Long-term sampling: detects a token bucket policer on the path. Intervals last at least four
//! rounds and end with a loss. If two in succession have about the same rate, and in each at least
//! a fifth as many segments are lost as delivered, this rate is used for 48 rounds. Linux:
//! `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`.
//!
//! *Where we differ.* Linux counts the segments that a timeout marks lost before it takes a sample;
//! here they count from the next acknowledgment on.

use super::{Bandwidth, UNIT};
use retx_units::{Duration, Time};

/// Length of the shortest interval, in rounds; the longest has four times as many.
const SHORTEST: u32 = 4;
/// Ratio of lost to delivered segments, in units of 1/256, from which an interval counts as lossy.
const LOSSY: u64 = 50;
/// Number of rounds for which the policed rate is used.
const HOLDS: u32 = 48;
/// Two rates count as equal if they differ by at most this, in bytes per second.
const SAME: u64 = 4000 / 8;

/// Progress of the connection at an acknowledgment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub round_start: bool,
    /// True if the acknowledgment shows a loss.
    pub shows_loss: bool,
    pub is_app_limited: bool,
    /// True in the mode that probes for bandwidth. Of the rounds with a policed rate, only those in
    /// this mode are counted.
    pub in_probe_bandwidth: bool,
    pub total: ConnectionTotals,
}

/// Totals of the connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectionTotals {
    pub at: Time,
    /// Segments delivered.
    pub delivered: u64,
    /// Segments lost.
    pub lost: u64,
}

/// Conclusion from an acknowledgment: whether a policer limits the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Nothing,
    /// A policer has been detected.
    Found,
    /// The policed rate has expired.
    Over,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Policer {
    pub(super) is_sampling: bool,
    pub(super) rounds: u32,
    start: ConnectionTotals,
    /// Rate of the last interval, or policed rate.
    bandwidth: Bandwidth,
    pub(super) policed: bool,
}

impl Policer {
    /// Policed rate, while it is valid.
    pub fn bandwidth(&self) -> Option<Bandwidth> {
        self.policed.then_some(self.bandwidth)
    }

    pub fn reset(&mut self) {
        *self = Self::default();
    }

    pub fn sample(&mut self, progress: &Progress, smss: u64) -> Outcome {
        if self.policed {
            if progress.in_probe_bandwidth && progress.round_start {
                self.rounds += 1;
                if self.rounds >= HOLDS {
                    self.reset();
                    return Outcome::Over;
                }
            }
            return Outcome::Nothing;
        }
        // Until the first loss the policer still has tokens, and does not limit the rate.
        if !self.is_sampling {
            if !progress.shows_loss {
                return Outcome::Nothing;
            }
            self.is_sampling = true;
            self.begin(progress);
        }
        // A rate limited by the application does not reveal that of a policer.
        if progress.is_app_limited {
            self.reset();
            return Outcome::Nothing;
        }
        self.rounds += u32::from(progress.round_start);
        if self.rounds < SHORTEST {
            return Outcome::Nothing;
        }
        // A policer would have dropped packets within so long an interval.
        if self.rounds > 4 * SHORTEST {
            self.reset();
            return Outcome::Nothing;
        }
        // The interval ends only at a loss, when the policer's tokens are used up. Before that, the
        // policed rate would be estimated too low.
        if progress.shows_loss { self.end(progress, smss) } else { Outcome::Nothing }
    }

    fn begin(&mut self, progress: &Progress) {
        self.start = progress.total;
        self.rounds = 0;
    }

    fn end(&mut self, progress: &Progress, smss: u64) -> Outcome {
        let total = progress.total;
        let lost = total.lost - self.start.lost;
        let delivered = total.delivered - self.start.delivered;
        let interval = total.at.since(self.start.at);
        let too_short = interval < Duration::from_millis(1);
        if delivered == 0 || lost.saturating_mul(UNIT) < LOSSY * delivered || too_short {
            return Outcome::Nothing;
        }
        let bandwidth = Bandwidth::from_segments(delivered, smss, interval);
        let difference = bandwidth.0.abs_diff(self.bandwidth.0);
        let close =
            difference <= self.bandwidth.0 / 8 || Bandwidth(difference).pacing_rate(UNIT) <= SAME;
        if self.bandwidth.0 > 0 && close {
            self.bandwidth = Bandwidth(u64::midpoint(bandwidth.0, self.bandwidth.0));
            self.policed = true;
            self.rounds = 0;
            return Outcome::Found;
        }
        self.bandwidth = bandwidth;
        self.begin(progress);
        Outcome::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays rounds of 100 ms with these numbers of segments delivered and lost in each. The losses
    /// occur in the middle of a round.
    fn rounds(
        policer: &mut Policer,
        total: &mut ConnectionTotals,
        rounds: &[(u64, u64)],
    ) -> Vec<Outcome> {
        let mut seen = Vec::new();
        for &(delivered, lost) in rounds {
            for half in 0..2 {
                total.at += Duration::from_millis(50);
                total.delivered += delivered / 2;
                total.lost += half * lost;
                let progress = Progress {
                    round_start: half == 0,
                    shows_loss: half * lost > 0,
                    is_app_limited: false,
                    in_probe_bandwidth: true,
                    total: *total,
                };
                seen.push(policer.sample(&progress, 1000));
            }
        }
        seen
    }

    /// Each round delivers 80 segments and loses 20: 256·20/80 = 64 ≥ 50.
    #[test]
    fn a_policed_path_is_found_after_two_intervals_and_held_for_48_rounds() {
        let (mut policer, mut total) = (Policer::default(), ConnectionTotals::default());
        let seen = rounds(&mut policer, &mut total, &[(80, 20); 9]);
        // The first loss begins an interval, which ends four rounds later; the second ends after
        // four more.
        let found = seen.iter().position(|it| *it == Outcome::Found);
        assert_eq!(found, Some(2 * 8 + 1), "{seen:?}");
        assert_eq!(policer.bandwidth(), Some(Bandwidth(800_000)));
        let seen = rounds(&mut policer, &mut total, &[(80, 20); 48]);
        assert_eq!(seen.iter().position(|it| *it == Outcome::Over), Some(2 * 47));
        assert_eq!(policer.bandwidth(), None);
    }

    /// 100 segments lost for 512 delivered in four rounds: 256·100 = 50·512.
    #[test]
    fn a_loss_rate_at_the_threshold_is_high_enough() {
        let (mut policer, mut total) = (Policer::default(), ConnectionTotals::default());
        let seen = rounds(&mut policer, &mut total, &[(128, 25); 9]);
        assert!(seen.contains(&Outcome::Found), "{seen:?}");
        let (mut policer, mut total) = (Policer::default(), ConnectionTotals::default());
        let seen = rounds(&mut policer, &mut total, &[(130, 25); 9]);
        assert!(!seen.contains(&Outcome::Found), "{seen:?}");
    }

    #[test]
    fn unequal_intervals_and_few_losses_are_no_policer() {
        let (mut policer, mut total) = (Policer::default(), ConnectionTotals::default());
        let faster: Vec<(u64, u64)> = (0..60).map(|n| (80 << (n / 4 % 2), 40)).collect();
        rounds(&mut policer, &mut total, &faster);
        assert_eq!(policer.bandwidth(), None);
        let mut policer = Policer::default();
        rounds(&mut policer, &mut total, &[(100, 19); 60]);
        assert_eq!(policer.bandwidth(), None);
    }

    #[test]
    fn a_shortage_of_data_ends_sampling() {
        let (mut policer, mut total) = (Policer::default(), ConnectionTotals::default());
        rounds(&mut policer, &mut total, &[(80, 20); 7]);
        let progress = Progress {
            round_start: false,
            shows_loss: false,
            is_app_limited: true,
            in_probe_bandwidth: true,
            total,
        };
        policer.sample(&progress, 1000);
        rounds(&mut policer, &mut total, &[(80, 20); 5]);
        assert_eq!(policer.bandwidth(), None);
    }

    /// Outcome and rate at the end of an interval of this length, after one with the rate `before`.
    /// Segments have one byte, and as many are lost as delivered.
    fn ended(before: u64, delivered: u64, length: Duration) -> (Outcome, u64) {
        let mut policer = Policer { bandwidth: Bandwidth(before), ..Policer::default() };
        let total = ConnectionTotals { at: Time::ZERO + length, delivered, lost: delivered };
        let progress = Progress {
            round_start: false,
            shows_loss: true,
            is_app_limited: false,
            in_probe_bandwidth: true,
            total,
        };
        (policer.end(&progress, 1), policer.bandwidth.0)
    }

    /// `bbr_lt_bw_interval_done`: rates that differ by at most an eighth, or by at most 4000 bit/s,
    /// are those of a policer, whose rate is their mean.
    #[test]
    fn rates_that_differ_by_an_eighth_or_little_are_a_policers() {
        use Outcome::{Found, Nothing};
        for (before, rate, outcome, left) in [
            (800_000, 900_000, Found, 850_000),
            (800_000, 900_001, Nothing, 900_001),
            (800_000, 700_000, Found, 750_000),
            (800_000, 699_999, Nothing, 699_999),
            (1000, 1400, Found, 1200),
            (1000, 1600, Nothing, 1600),
            (0, 400, Nothing, 400),
        ] {
            let seen = ended(before, rate, Duration::from_secs(1));
            assert_eq!(seen, (outcome, left), "{before}, {rate}");
        }
    }

    /// `bbr_lt_bw_sampling`: an interval of less than a millisecond is not evaluated.
    #[test]
    fn an_interval_lasts_a_millisecond() {
        assert_eq!(ended(0, 1000, Duration::from_micros(999)), (Outcome::Nothing, 0));
        assert_eq!(ended(0, 1000, Duration::from_millis(1)), (Outcome::Nothing, 1_000_000));
        assert_eq!(ended(0, 4000, Duration::from_millis(2)), (Outcome::Nothing, 2_000_000));
    }

    /// `bbr_lt_bw_sampling`: sampling starts anew after more than 4·4 rounds.
    #[test]
    fn a_long_interval_is_given_up() {
        for (rounds, is_sampling) in [(15, true), (16, true), (17, false)] {
            let mut policer = Policer { is_sampling: true, rounds, ..Policer::default() };
            let progress = Progress {
                round_start: false,
                shows_loss: false,
                is_app_limited: false,
                in_probe_bandwidth: true,
                total: ConnectionTotals::default(),
            };
            assert_eq!(policer.sample(&progress, 1000), Outcome::Nothing);
            assert_eq!(policer.is_sampling, is_sampling, "{rounds}");
        }
    }
}
