//! *What it does.* Attributes a loss to corruption if the segment after the gap arrived at the time
//! at which it would have arrived without the loss. The lost segments had then passed the
//! bottleneck's queue.
//!
//! *Reference.* Biaz & Vaidya, ASSET 1999; mBiaz, with a narrower window: Cen, Cosman & Voelker,
//! IEEE/ACM ToN 11(5), 2003. The text was not at hand; the limits are those of two published
//! implementations, the Rust crate `packet_loss_classification` and IHMC's `LossClassifiers`, which
//! agree.
//!
//! *Equations.* Let n be the number of lost segments, T_i the time between the arrivals around the
//! gap, and T_min the smallest time between the arrivals of two segments. The cause is corruption
//! if (n + 1)·T_min ≤ T_i < (n + 1 + upper)·T_min, with upper = 0.25 (Biaz: 1).
//!
//! *Where we differ.* The rule is made for receivers; this sender uses the spacing of ACKs, and the
//! number of lost segments that SACK shows (without SACK one): see `spacing`. ACKs compressed on
//! the return path make T_min too small for the rest of the connection. No RTT is needed. Timeouts
//! show no gap, and count as congestion unless `timeouts` is set.

use super::spacing::Spacing;
use super::{Cause, Loss, LossCause};
use crate::congestion_control::{Ack, NotNegative, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Corruption when the segment after the gap was on time (mBiaz, Cen, Cosman & Voelker 2003).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Delay after the expected arrival below which a segment counts as on time, as a multiple of
    /// the minimum interarrival time.
    pub upper: NotNegative,
    /// Apply the rule to timeouts, too, while there is a gap; otherwise they count as congestion.
    #[serde(rename = "timeouts")]
    pub applies_to_timeouts: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { upper: NotNegative::constant(0.25), applies_to_timeouts: false }
    }
}

/// State of the rule: the spacing of ACKs.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    pub(super) spacing: Spacing,
}

impl State {
    /// Creates a rule without samples.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { config: *config, spacing: Spacing::default() }
    }
}

impl LossCause for State {
    fn on_ack(&mut self, ack: &Ack, window: &Window) {
        self.spacing.on_ack(ack, window.smss);
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        let judged = self.config.applies_to_timeouts || !loss.by_timeout;
        let (Some(gap), Some(min), true) = (self.spacing.gap(), self.spacing.min(), judged) else {
            return Cause::Congestion;
        };
        let expected = (loss.lost_segments.max(1) as f64 + 1.0) * min;
        let latest = expected + self.config.upper.value() * min;
        Cause::from_is_corruption(expected <= gap && gap < latest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WINDOW, duplicate, found, tcp, timed_out, unsampled};
    use super::*;
    use Cause::{Congestion, Corruption};

    /// ACKs 4 µs apart, then the first duplicate ACK after `micros` microseconds.
    fn after_gap(config: Config, micros: u64) -> State {
        let mut state = State::new(&config, &tcp());
        for ack in [unsampled(0), unsampled(4), unsampled(8), duplicate(8 + micros)] {
            state.on_ack(&ack, &WINDOW);
        }
        state
    }

    /// T_min = 4 µs: arrival on time is 8 … 9 µs for one lost segment, 16 … 17 µs for three.
    #[test]
    fn on_time_is_corruption() {
        let expected = [(7, Congestion), (8, Corruption), (9, Congestion), (16, Congestion)];
        for (micros, said) in expected {
            assert_eq!(after_gap(Config::default(), micros).cause(&found(1)), said, "{micros}");
        }
        for (micros, said) in [(15, Congestion), (16, Corruption), (17, Congestion)] {
            assert_eq!(after_gap(Config::default(), micros).cause(&found(3)), said, "{micros}");
        }
    }

    #[test]
    fn the_window_of_biaz_is_wider() {
        let biaz = Config { upper: NotNegative::constant(1.0), ..Config::default() };
        assert_eq!(after_gap(biaz, 11).cause(&found(1)), Corruption);
        assert_eq!(after_gap(biaz, 12).cause(&found(1)), Congestion);
    }

    #[test]
    fn without_a_gap_nothing_is_said() {
        let judging = Config { applies_to_timeouts: true, ..Config::default() };
        let mut state = State::new(&judging, &tcp());
        assert_eq!(state.cause(&found(1)), Congestion);
        for micros in [0, 4] {
            state.on_ack(&unsampled(micros), &WINDOW);
        }
        assert_eq!(state.cause(&timed_out()), Congestion);
        assert_eq!(after_gap(judging, 8).cause(&timed_out()), Corruption);
        assert_eq!(after_gap(Config::default(), 8).cause(&timed_out()), Congestion);
    }
}
