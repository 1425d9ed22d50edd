//! *What it does.* Veno's test alone: with few segments queued at the bottleneck a loss is random,
//! with many it is due to congestion.
//!
//! *Reference.* Fu & Liew, IEEE JSAC 21(2), 2003; Linux 6.18 `net/ipv4/tcp_veno.c`.
//!
//! *Equations.* N = cwnd·(RTT − baseRTT)/RTT in segments; the cause is corruption if N < beta = 3.
//! RTT is the raw sample of the newest ACK, baseRTT the smallest so far.
//!
//! *Where we differ.* After a random loss Veno keeps 4/5 of the window; here the window is
//! unchanged (Veno itself is the congestion control `veno`). Timeouts count as congestion, as in
//! Veno, unless `timeouts` is set. The paper was not available: other papers say that it resets
//! baseRTT at each loss, and Linux does not; `reset_base_rtt` chooses. Until the third sample, from
//! which on Linux applies the test, every loss counts as congestion. During recovery N is kept,
//! because cwnd is inflated then.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::send_times::SendTimes;
use crate::congestion_control::{Ack, NotNegative, Sent, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Corruption while fewer than `beta` segments are queued (Veno's N, Fu & Liew).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of queued segments at and above which a loss counts as congestion.
    pub beta: NotNegative,
    /// Forget the base RTT after each loss.
    pub reset_base_rtt: bool,
    /// Apply the rule to timeouts, too; otherwise they count as congestion.
    #[serde(rename = "timeouts")]
    pub applies_to_timeouts: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { beta: NotNegative::constant(3.0), reset_base_rtt: false, applies_to_timeouts: false }
    }
}

/// Minimum number of RTT samples for a verdict.
const SAMPLES: u64 = 3;

/// State of the rule: the queue's backlog.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    times: SendTimes,
    base: Option<Duration>,
    samples: u64,
    /// Backlog N, in segments.
    backlog: f64,
}

impl State {
    /// Creates a rule without samples.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { config: *config, times: SendTimes::default(), base: None, samples: 0, backlog: 0.0 }
    }
}

impl LossCause for State {
    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) {
        let Some(rtt) = self.times.on_ack(ack).or(ack.rtt) else { return };
        let base = self.base.map_or(rtt, |base| base.min(rtt));
        self.base = Some(base);
        self.samples += 1;
        if !ack.in_recovery && !rtt.is_zero() {
            let queued = (rtt - base).as_secs_f64() / rtt.as_secs_f64();
            self.backlog = window.cwnd as f64 / f64::from(window.smss) * queued;
        }
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        let judged = self.config.applies_to_timeouts || !loss.by_timeout;
        let few = self.backlog < self.config.beta.value();
        let said = Cause::from_is_corruption(judged && self.samples >= SAMPLES && few);
        if self.config.reset_base_rtt {
            self.base = None;
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{acked, found, tcp, timed_out};
    use super::*;
    use Cause::{Congestion, Corruption};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn seen(config: Config, rtts: &[u64], segments: u64) -> State {
        let mut state = State::new(&config, &tcp());
        let window = Window { cwnd: segments * 1000, ssthresh: 1, smss: 1000 };
        for rtt in rtts {
            state.on_ack(&acked(0, MS(*rtt)), &window);
        }
        state
    }

    /// 20 segments at 117 ms over a base of 100 ms: N = 20·17/117 = 2.906; at 118 ms 3.05; 8
    /// segments at 160 ms: exactly 3.
    #[test]
    fn the_backlog_decides() {
        for (segments, rtt, said) in [(20, 117, Corruption), (20, 118, Congestion)] {
            let mut state = seen(Config::default(), &[100, 100, rtt], segments);
            assert_eq!(state.cause(&found(1)), said, "{rtt}");
        }
        assert_eq!(seen(Config::default(), &[100, 100, 160], 8).cause(&found(1)), Congestion);
        let beta = NotNegative::constant(3.001);
        let tolerant = Config { beta, ..Config::default() };
        assert_eq!(seen(tolerant, &[100, 100, 160], 8).cause(&found(1)), Corruption);
    }

    #[test]
    fn nothing_is_said_before_the_third_sample() {
        assert_eq!(seen(Config::default(), &[100, 100], 20).cause(&found(1)), Congestion);
        assert_eq!(seen(Config::default(), &[100, 100, 100], 20).cause(&found(1)), Corruption);
    }

    #[test]
    fn timeouts_are_congestion_unless_judged() {
        for (timeouts, said) in [(false, Congestion), (true, Corruption)] {
            let config = Config { applies_to_timeouts: timeouts, ..Config::default() };
            assert_eq!(seen(config, &[100; 3], 20).cause(&timed_out()), said);
        }
    }

    /// With a base of 100 ms, an RTT of 150 ms gives N = 20/3; after a reset to 150 ms, 0.
    #[test]
    fn the_base_may_begin_anew_with_each_loss() {
        for (reset_base_rtt, said) in [(false, Congestion), (true, Corruption)] {
            let mut state = seen(Config { reset_base_rtt, ..Config::default() }, &[100; 3], 20);
            state.cause(&found(1));
            let window = Window { cwnd: 20_000, ssthresh: 1, smss: 1000 };
            state.on_ack(&acked(0, MS(150)), &window);
            assert_eq!(state.cause(&found(1)), said);
        }
    }

    /// Duplicate ACKs inflate the window in recovery, which would make N too large.
    #[test]
    fn an_inflated_window_does_not_count() {
        let mut state = seen(Config::default(), &[100, 100, 110], 20);
        let inflated = Window { cwnd: 60_000, ssthresh: 1, smss: 1000 };
        state.on_ack(&Ack { in_recovery: true, ..acked(0, MS(110)) }, &inflated);
        assert_eq!(state.cause(&found(1)), Corruption);
    }
}
