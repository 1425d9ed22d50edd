//! *What it does.* Attributes a loss to congestion while delays increase, and to corruption
//! otherwise, however long the delays are.
//!
//! *Reference.* Hsiao, Chindapol, Ritcey, Chen & Hwang, ICASSP 2005 (Trend), whose trend statistic
//! is that of Jain & Dovrolis's pathload. The text was not at hand; statistic and constants are
//! those of the Rust crate `packet_loss_classification`.
//!
//! *Equations.* S = (1 − g)·S + g·[rtt > previous rtt], g = 1/30, from S = 0. The cause is
//! congestion if S > threshold = 0.4.
//!
//! *Where we differ.* The rule is made for receivers and relative one-way delays; this sender uses
//! RTTs, one per ACK of data sent once. At first sixteen consecutive rising samples are needed for
//! congestion; until then every loss counts as corruption. The rule does not cover timeouts, which
//! count as congestion unless `timeouts` is set.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::send_times::SendTimes;
use crate::congestion_control::{Ack, Sent, Window};
use retx_units::{Duration, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Corruption unless RTTs have been rising (Trend, Hsiao et al. 2005).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Weight of the newest sample in the share of rising RTTs.
    pub gain: Probability,
    /// Share of rising RTTs above which delays count as rising.
    pub threshold: Probability,
    /// Apply the rule to timeouts, too; otherwise they count as congestion.
    #[serde(rename = "timeouts")]
    pub applies_to_timeouts: bool,
}

impl Default for Config {
    fn default() -> Self {
        let share = |value| Probability::new(value).expect("a share");
        Self { gain: share(1.0 / 30.0), threshold: share(0.4), applies_to_timeouts: false }
    }
}

/// State of the rule: the trend of delays.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    times: SendTimes,
    last: Option<Duration>,
    /// Smoothed share S of rising RTTs.
    rising: f64,
}

impl State {
    /// Creates a rule without samples.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { config: *config, times: SendTimes::default(), last: None, rising: 0.0 }
    }
}

impl LossCause for State {
    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, _: &Window) {
        let Some(rtt) = self.times.on_ack(ack).or(ack.rtt) else { return };
        if let Some(last) = self.last.replace(rtt) {
            let rose = if rtt > last { 1.0 } else { 0.0 };
            self.rising += self.config.gain.value() * (rose - self.rising);
        }
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        let judged = self.config.applies_to_timeouts || !loss.by_timeout;
        let rising = self.rising > self.config.threshold.value();
        Cause::from_is_corruption(judged && self.last.is_some() && !rising)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WINDOW, acked, found, tcp, timed_out};
    use super::*;
    use Cause::{Congestion, Corruption};

    fn verdict(config: Config, rtts: impl IntoIterator<Item = u64>) -> Cause {
        let mut state = State::new(&config, &tcp());
        for rtt in rtts {
            state.on_ack(&acked(0, Duration::from_micros(rtt)), &WINDOW);
        }
        state.cause(&found(1))
    }

    /// S after n rising steps is 1 − (29/30)^n: 0.3986 after 15, 0.4187 after 16; n steps take n +
    /// 1 samples. Each step that does not rise reduces S by a thirtieth: 0.4187·29/30 = 0.4047,
    /// then 0.3912.
    #[test]
    fn sixteen_rising_steps_are_a_trend() {
        let config = Config::default();
        assert_eq!(verdict(config, 1..=16), Corruption);
        assert_eq!(verdict(config, 1..=17), Congestion);
        assert_eq!(verdict(config, (1..=17).chain([17])), Congestion, "equal: not rising");
        assert_eq!(verdict(config, (1..=17).chain([17, 16])), Corruption);
    }

    #[test]
    fn level_and_extent_do_not_matter() {
        assert_eq!(verdict(Config::default(), [1_000_000; 100]), Corruption);
        assert_eq!(verdict(Config::default(), (0..100).rev()), Corruption);
        assert_eq!(verdict(Config::default(), []), Congestion, "no sample yet");
    }

    #[test]
    fn other_constants_and_timeouts() {
        let share = |value| Probability::new(value).unwrap();
        let config = Config { gain: share(0.5), threshold: share(0.7), applies_to_timeouts: true };
        assert_eq!(verdict(config, [1, 2]), Corruption);
        assert_eq!(verdict(config, [1, 2, 3]), Congestion);
        for (timeouts, said) in [(true, Corruption), (false, Congestion)] {
            let mut state = State::new(&Config { applies_to_timeouts: timeouts, ..config }, &tcp());
            state.on_ack(&acked(0, Duration::from_micros(1)), &WINDOW);
            assert_eq!(state.cause(&timed_out()), said);
        }
    }

    /// A share of exactly the threshold is no trend.
    #[test]
    fn the_threshold_itself_is_no_trend() {
        let share = |value| Probability::new(value).unwrap();
        let config = Config { gain: share(0.5), threshold: share(0.5), ..Config::default() };
        assert_eq!(verdict(config, [1, 2]), Corruption);
        assert_eq!(verdict(config, [1, 2, 3]), Congestion);
    }
}
