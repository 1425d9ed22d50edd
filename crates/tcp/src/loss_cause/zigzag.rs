//! *What it does.* Attributes a loss to corruption if the delay lies below a threshold that rises
//! with the number of segments lost at once.
//!
//! *Reference.* Cen, Cosman & Voelker, IEEE/ACM ToN 11(5), 2003 (ZigZag). The text was not at hand;
//! thresholds and gain are those of the Rust crate `packet_loss_classification`.
//!
//! *Equations.* mean = (1 − a)·mean + a·rtt, then dev = (1 − 2a)·dev + 2a·|rtt − mean|, a = 1/32;
//! the first sample is the mean, with dev = 0. The cause is corruption if the newest rtt lies below
//! mean − dev for one lost segment, mean − dev/2 for two, mean for three, mean + dev/2 for more.
//!
//! *Where we differ.* The crate omits the old dev from its update, which makes it a constant near 1
//! − 2a: an error, since the result is not a time. The rule is made for receivers and relative
//! one-way delays; this sender uses RTTs, one per ACK of data sent once, and the number of lost
//! segments that SACK shows (without SACK one). The rule does not cover timeouts, which count as
//! congestion unless `timeouts` is set.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::send_times::SendTimes;
use crate::congestion_control::{Ack, Sent, Window};
use retx_units::{Duration, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Corruption while the RTT is low for the number of losses (Cen, Cosman & Voelker 2003).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Gain of the mean; the deviation has twice that gain.
    pub gain: Probability,
    /// Thresholds in deviations from the mean, for one, two, three, and more lost segments.
    pub thresholds: [f64; 4],
    /// Apply the rule to timeouts, too; otherwise they count as congestion.
    #[serde(rename = "timeouts")]
    pub applies_to_timeouts: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            gain: Probability::new(1.0 / 32.0).expect("a share"),
            thresholds: [-1.0, -0.5, 0.0, 0.5],
            applies_to_timeouts: false,
        }
    }
}

impl Config {
    /// Checks the gain.
    pub(super) fn check(&self) -> Result<(), String> {
        let gain = self.gain.value();
        if gain > 0.5 {
            let message = format!("{gain} is more than 0.5: the deviation has twice as much");
            return Err(message);
        }
        Ok(())
    }
}

/// State of the rule: the distribution of the RTT.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    times: SendTimes,
    /// Latest RTT in nanoseconds, like `mean` and `deviation`; `None` before the first sample.
    last: Option<f64>,
    mean: f64,
    deviation: f64,
}

impl State {
    /// Creates a rule without samples.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        let times = SendTimes::default();
        Self { config: *config, times, last: None, mean: 0.0, deviation: 0.0 }
    }

    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        let rtt = rtt.as_nanos() as f64;
        if self.last.replace(rtt).is_none() {
            self.mean = rtt;
            return;
        }
        let gain = self.config.gain.value();
        self.mean += gain * (rtt - self.mean);
        let distance = (rtt - self.mean).abs();
        self.deviation += 2.0 * gain * (distance - self.deviation);
    }
}

impl LossCause for State {
    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, _: &Window) {
        if let Some(rtt) = self.times.on_ack(ack).or(ack.rtt) {
            self.on_rtt(rtt);
        }
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        let judged = self.config.applies_to_timeouts || !loss.by_timeout;
        let deviations = self.config.thresholds[loss.lost_segments.clamp(1, 4) as usize - 1];
        let threshold = self.mean + deviations * self.deviation;
        Cause::from_is_corruption(judged && self.last.is_some_and(|rtt| rtt < threshold))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WINDOW, acked, found, tcp, timed_out};
    use super::*;
    use Cause::{Congestion, Corruption};

    fn state(gain: f64, rtts: &[u64]) -> State {
        let config = Config { gain: Probability::new(gain).unwrap(), ..Config::default() };
        let mut state = State::new(&config, &tcp());
        for rtt in rtts {
            state.on_ack(&acked(0, Duration::from_millis(*rtt)), &WINDOW);
        }
        state
    }

    /// Gain 1/4, RTTs 100, 140, 100: mean 110, dev 0.5·30 = 15; then mean 107.5, dev 7.5 + 0.5·7.5
    /// = 11.25 ms.
    #[test]
    fn mean_and_deviation_by_hand() {
        let state = state(0.25, &[100, 140, 100]);
        assert_eq!((state.mean, state.deviation), (107.5e6, 11.25e6));
    }

    /// Thresholds with mean 107.5 and dev 11.25: 96.25, 101.875, 107.5, 113.125 ms; each case sets
    /// the newest RTT directly, so that mean and deviation stay the same.
    #[test]
    fn the_threshold_rises_with_the_losses() {
        let said = |rtt_ns: f64, lost: u64| {
            let mut state = state(0.25, &[100, 140, 100]);
            state.last = Some(rtt_ns);
            state.cause(&found(lost))
        };
        for (lost, threshold) in [(1, 96.25e6), (2, 101.875e6), (3, 107.5e6), (4, 113.125e6)] {
            assert_eq!(said(threshold - 1.0, lost), Corruption, "{lost}");
            assert_eq!(said(threshold, lost), Congestion, "{lost}");
        }
        assert_eq!(said(113e6, u64::MAX), Corruption);
        assert_eq!(said(100e6, 0), Congestion, "as for one");
    }

    #[test]
    fn a_constant_rtt_is_congestion() {
        let mut constant = state(1.0 / 32.0, &[100; 50]);
        assert_eq!(constant.cause(&found(1)), Congestion);
        assert_eq!(constant.cause(&found(9)), Congestion);
        assert_eq!(state(0.25, &[]).cause(&found(4)), Congestion, "no sample yet");
    }

    #[test]
    fn timeouts_are_congestion_unless_judged() {
        let mut low = state(0.25, &[140, 140, 100]);
        assert_eq!((low.cause(&found(3)), low.cause(&timed_out())), (Corruption, Congestion));
        low.config.applies_to_timeouts = true;
        low.config.thresholds[0] = 0.0;
        assert_eq!(low.cause(&timed_out()), Corruption);
        assert!(low.config.check().is_ok());
        low.config.gain = Probability::new(0.51).unwrap();
        assert!(low.config.check().is_err());
    }

    /// The deviation has twice the gain of the mean, which is at most 1.
    #[test]
    fn the_gain_is_at_most_a_half() {
        for (gain, valid) in [(0.0, true), (0.5, true), (0.51, false), (1.0, false)] {
            let config = Config { gain: Probability::new(gain).unwrap(), ..Config::default() };
            assert_eq!(config.check().is_ok(), valid, "{gain}");
        }
    }
}
