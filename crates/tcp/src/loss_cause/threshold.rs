//! *What it does.* Attributes a loss to corruption if the latest RTT lies below a threshold:
//! without a queue, congestion is unlikely.
//!
//! *Reference.* Teng & Chang, threshold-based wireless TCP for long round-trip times, §2 and §3.
//!
//! *Equations.* The cause is corruption if RTT < threshold. The paper sets the threshold as an
//! absolute time above the base RTT (the smallest so far), both counted in TCP ticks of 10 ms: 55
//! ticks at a base RTT of 51 in its Fig. 2, 51 … 60 in its Fig. 3. Here it is counted from zero, or
//! from the base RTT.
//!
//! *Where we differ.* The paper does not say how an RTT is rounded to ticks. Here it is rounded to
//! the nearest tick, and to at least one, as with timestamps in ns-2, which the paper used
//! (`tcp.cc`, `rtt_update`). Without timestamps ns-2 counts the ticks begun, as `rtt_granularity`
//! does. The default threshold is that of Fig. 2, as a distance from the base RTT: 4 ticks. The
//! sample of the handshake is ignored: one-way TCP of ns-2 has none, and a SYN is shorter than a
//! segment.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::{Ack, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Corruption while the latest RTT lies below a threshold (Teng & Chang).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The threshold, counted from `origin`.
    pub threshold: Duration,
    /// RTT from which the threshold is counted.
    pub origin: Origin,
    /// Tick to which RTTs are rounded before the comparison; 0 s for exact RTTs.
    pub tick: Duration,
    /// Apply the rule to timeouts, too; otherwise they count as congestion.
    #[serde(rename = "timeouts")]
    pub applies_to_timeouts: bool,
}

/// RTTs from which the threshold may be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Zero: the threshold is an RTT.
    Zero,
    /// The smallest RTT so far.
    BaseRtt,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threshold: Duration::from_millis(40),
            origin: Origin::BaseRtt,
            tick: Duration::from_millis(10),
            applies_to_timeouts: true,
        }
    }
}

/// State of the rule.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    base: Option<Duration>,
    last: Option<Duration>,
}

impl State {
    /// Creates a rule without samples.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { config: *config, base: None, last: None }
    }

    fn in_ticks(&self, rtt: Duration) -> Duration {
        let (rtt, tick) = (rtt.min(Duration::MAX).as_nanos(), self.config.tick.as_nanos());
        if tick == 0 {
            return Duration::from_nanos(rtt);
        }
        Duration::from_nanos(((rtt + tick / 2) / tick).max(1) * tick)
    }
}

impl LossCause for State {
    fn on_ack(&mut self, ack: &Ack, _: &Window) {
        if let Some(rtt) = ack.rtt {
            let rtt = self.in_ticks(rtt);
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.last = Some(rtt);
        }
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        let judged = self.config.applies_to_timeouts || !loss.by_timeout;
        let (Some(base), Some(last), true) = (self.base, self.last, judged) else {
            return Cause::Congestion;
        };
        let origin = match self.config.origin {
            Origin::Zero => Duration::ZERO,
            Origin::BaseRtt => base,
        };
        Cause::from_is_corruption(last.saturating_sub(origin) < self.config.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{acked, found, tcp, timed_out};
    use super::*;
    use Cause::{Congestion, Corruption};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// Verdicts after each of these RTTs, in microseconds.
    fn verdicts(config: Config, rtts: &[u64]) -> Vec<Cause> {
        let mut state = State::new(&config, &tcp());
        let mut verdict = |micros: &u64| {
            state.on_ack(&acked(0, Duration::from_micros(*micros)), &super::super::testing::WINDOW);
            state.cause(&found(1))
        };
        rtts.iter().map(&mut verdict).collect()
    }

    /// Fig. 2: 55 ticks. 544.999 ms are 54 ticks, 545 ms are 55.
    #[test]
    fn ticks_round_to_the_nearest() {
        let config = Config { threshold: MS(550), origin: Origin::Zero, ..Config::default() };
        let said = verdicts(config, &[510_000, 544_999, 545_000, 555_000, 1]);
        assert_eq!(said, [Corruption, Corruption, Congestion, Congestion, Corruption]);
    }

    #[test]
    fn exact_rtts_without_ticks() {
        let config =
            Config { threshold: MS(550), origin: Origin::Zero, tick: MS(0), ..Config::default() };
        let said = verdicts(config, &[549_999, 550_000, 550_001]);
        assert_eq!(said, [Corruption, Congestion, Congestion]);
    }

    /// With a base RTT of 51 ticks, an RTT of 54 ticks is below the threshold, and one of 55 is
    /// not; once the base RTT is 50 ticks, 54 is not below it.
    #[test]
    fn the_base_rtt_is_the_smallest_so_far() {
        let said = verdicts(Config::default(), &[510_000, 540_000, 550_000, 500_000, 540_000]);
        assert_eq!(said, [Corruption, Corruption, Congestion, Corruption, Congestion]);
    }

    /// As in ns-2, less than half a tick is one tick, so that a base RTT of 0 is not 0 ticks.
    #[test]
    fn the_shortest_rtt_is_one_tick() {
        let config = Config { threshold: MS(20), ..Config::default() };
        assert_eq!(verdicts(config, &[0, 20_000, 30_000]), [Corruption, Corruption, Congestion]);
    }

    #[test]
    fn timeouts_may_be_left_to_congestion() {
        for (timeouts, said) in [(true, Corruption), (false, Congestion)] {
            let mut state =
                State::new(&Config { applies_to_timeouts: timeouts, ..Config::default() }, &tcp());
            assert_eq!(state.cause(&timed_out()), Congestion, "no sample yet");
            state.on_ack(&acked(0, MS(500)), &super::super::testing::WINDOW);
            assert_eq!(state.cause(&timed_out()), said);
            assert_eq!(state.cause(&found(1)), Corruption);
        }
    }
}
