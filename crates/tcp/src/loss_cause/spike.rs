//! *What it does.* Attributes a loss to corruption except during a spike of the delay, which begins
//! when the delay is far above its minimum and ends when it has fallen again.
//!
//! *Reference.* Cen, Cosman & Voelker, *End-to-end differentiation of congestion and wireless
//! losses*, IEEE/ACM ToN 11(5), 2003 (Spike, after Tobe et al. 2000). The text was not at hand; the
//! constants are those of two published implementations, the Rust crate
//! `packet_loss_classification` and IHMC's `LossClassifiers`, which agree.
//!
//! *Equations.* A spike begins when rtt > rtt_min + start·(rtt_max − rtt_min), start = 1/2, and
//! ends when rtt < rtt_min + end·(rtt_max − rtt_min), end = 1/3; minimum and maximum are those of
//! the connection so far. The cause is corruption outside of spikes.
//!
//! *Where we differ.* The rule is made for receivers and relative one-way delays; this sender uses
//! RTTs, one per ACK of data sent once, which include queues on the return path. The rule does not
//! cover timeouts, which count as congestion unless `timeouts` is set.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::send_times::SendTimes;
use crate::congestion_control::{Ack, Sent, Window};
use retx_units::{Duration, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Corruption unless the RTT is in a spike (Cen, Cosman & Voelker 2003).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A spike begins above this share of the range from the smallest RTT to the largest.
    pub start: Probability,
    /// A spike ends below this share of the range from the smallest RTT to the largest.
    pub end: Probability,
    /// Apply the rule to timeouts, too; otherwise they count as congestion.
    #[serde(rename = "timeouts")]
    pub applies_to_timeouts: bool,
}

impl Default for Config {
    fn default() -> Self {
        let share = |value| Probability::new(value).expect("a share");
        Self { start: share(0.5), end: share(1.0 / 3.0), applies_to_timeouts: false }
    }
}

impl Config {
    /// Checks both shares; the error names the invalid one.
    pub(super) fn check(&self) -> Result<(), String> {
        let (start, end) = (self.start.value(), self.end.value());
        if end > start {
            let message =
                format!("{end} lies above start, {start}: a spike would end as it begins");
            return Err(message);
        }
        Ok(())
    }
}

/// State of the rule: whether the RTT is in a spike.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    times: SendTimes,
    /// Smallest and largest RTT; `None` before the first sample.
    range: Option<(Duration, Duration)>,
    in_spike: bool,
}

impl State {
    /// Creates a rule without samples.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { config: *config, times: SendTimes::default(), range: None, in_spike: false }
    }

    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        let (min, max) = self.range.unwrap_or((rtt, rtt));
        let (min, max) = (min.min(rtt), max.max(rtt));
        self.range = Some((min, max));
        let (above, width) = ((rtt - min).as_nanos() as f64, (max - min).as_nanos() as f64);
        self.in_spike = if self.in_spike {
            above >= self.config.end.value() * width
        } else {
            above > self.config.start.value() * width
        };
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
        Cause::from_is_corruption(judged && self.range.is_some() && !self.in_spike)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WINDOW, acked, found, tcp, timed_out};
    use super::*;
    use Cause::{Congestion, Corruption};

    fn verdicts(state: &mut State, rtts: &[u64]) -> Vec<Cause> {
        let mut verdict = |rtt: &u64| {
            state.on_ack(&acked(0, Duration::from_millis(*rtt)), &WINDOW);
            state.cause(&found(1))
        };
        rtts.iter().map(&mut verdict).collect()
    }

    /// With RTTs from 100 to 160 ms, a spike begins above 130 ms and ends below 120 ms.
    #[test]
    fn begins_above_a_half_and_ends_below_a_third() {
        let mut state = State::new(&Config::default(), &tcp());
        assert_eq!(state.cause(&found(1)), Congestion, "no sample yet");
        // The first RTT is both minimum and maximum; the second is the maximum.
        assert_eq!(verdicts(&mut state, &[100, 160]), [Corruption, Congestion]);
        assert_eq!(verdicts(&mut state, &[121, 120, 119]), [Congestion, Congestion, Corruption]);
        assert_eq!(verdicts(&mut state, &[130, 131, 125]), [Corruption, Congestion, Congestion]);
    }

    #[test]
    fn the_range_grows_with_the_samples() {
        let mut state = State::new(&Config::default(), &tcp());
        // Half of the range 100 … 300 ms is at 200 ms, so 160 ms is no spike here.
        assert_eq!(
            verdicts(&mut state, &[100, 300, 100, 160]),
            [Corruption, Congestion, Corruption, Corruption]
        );
    }

    #[test]
    fn other_shares_and_timeouts() {
        let share = |value| Probability::new(value).unwrap();
        let config = Config { start: share(0.9), end: share(0.1), applies_to_timeouts: true };
        let mut state = State::new(&config, &tcp());
        let said = verdicts(&mut state, &[0, 100, 10, 9, 90, 91]);
        assert_eq!(said, [Corruption, Congestion, Congestion, Corruption, Corruption, Congestion]);
        verdicts(&mut state, &[0]);
        assert_eq!(state.cause(&timed_out()), Corruption);
        let mut state = State::new(&Config { applies_to_timeouts: false, ..config }, &tcp());
        verdicts(&mut state, &[0]);
        assert_eq!(state.cause(&timed_out()), Congestion);
        assert_eq!(Config { start: share(0.2), ..config }.check(), Ok(()));
        assert!(Config { start: share(0.05), ..config }.check().is_err());
    }
}
