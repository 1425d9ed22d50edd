//! *What it does.* Selects one of three rules by the state of the path: `spike` if the slowest link
//! is hardly used or shared by many flows, `mbiaz` if one flow uses it, `zigzag` in between.
//!
//! *Reference.* Cen, Cosman & Voelker, IEEE/ACM ToN 11(5), 2003 (ZBS). The text was not at hand;
//! the selection and its constants are those of the Rust crate `packet_loss_classification`.
//!
//! *Equations.* T is the mean spacing divided by the smallest spacing T_min; the mean has a gain of
//! 1/8. T is about 1 where the wireless hop is an unshared bottleneck, and about N where N flows
//! share one. The first row that holds selects the rule:
//!
//! | condition | rule |
//! |---|---|
//! | rtt < rtt_min + near·T_min, near = 0.05 | `spike` |
//! | T < 0.875 | `zigzag` |
//! | T < 1.5 | `mbiaz` |
//! | T < 2 | `zigzag` |
//! | otherwise | `spike` |
//!
//! *Where we differ.* The crate averages T_i·T_i/n, which is not a time; here the mean is that of
//! the spacing per segment, without gaps. It is never below the smallest spacing, so the first
//! range (T < 0.875) is reached only with other limits. RTTs and the spacing of ACKs replace the
//! observations of a receiver, as in the three rules. Each rule judges timeouts by its own
//! parameters. Without an RTT sample every loss counts as congestion.

use super::{Cause, Loss, LossCause, mbiaz, spike, zigzag};
use crate::congestion_control::send_times::SendTimes;
use crate::congestion_control::{Ack, NotNegative, Sent, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spike, mBiaz or ZigZag, by how the path is used (Cen, Cosman & Voelker 2003).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `spike` is used if the RTT exceeds its minimum by less than this multiple of the smallest
    /// spacing between packets: the path then counts as idle.
    pub near: NotNegative,
    /// Limits of the mean spacing divided by the smallest: `zigzag` below the first, then `mbiaz`,
    /// then `zigzag`, and `spike` above the last.
    pub limits: [f64; 3],
    /// The parameters of `spike`.
    pub spike: spike::Config,
    /// The parameters of `zigzag`.
    pub zigzag: zigzag::Config,
    /// The parameters of `mbiaz`.
    pub mbiaz: mbiaz::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            near: NotNegative::constant(0.05),
            limits: [0.875, 1.5, 2.0],
            spike: spike::Config::default(),
            zigzag: zigzag::Config::default(),
            mbiaz: mbiaz::Config::default(),
        }
    }
}

impl Config {
    /// Checks the limits; the error names the invalid one.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.limits.is_sorted() {
            return Err(format!("{:?} do not ascend", self.limits));
        }
        Ok(())
    }
}

/// The three rules and the selection between them, boxed so that senders with other rules stay
/// small.
#[derive(Debug, Clone)]
pub struct State {
    config: Box<Config>,
    spike: Box<spike::State>,
    zigzag: Box<zigzag::State>,
    mbiaz: Box<mbiaz::State>,
    times: SendTimes,
    /// Smallest and latest RTT.
    rtts: Option<(Duration, Duration)>,
}

/// Selected rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Spike,
    ZigZag,
    MBiaz,
}

impl State {
    /// Creates a rule without samples.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            config: Box::new(*config),
            spike: Box::new(spike::State::new(&config.spike, tcp)),
            zigzag: Box::new(zigzag::State::new(&config.zigzag, tcp)),
            mbiaz: Box::new(mbiaz::State::new(&config.mbiaz, tcp)),
            times: SendTimes::default(),
            rtts: None,
        }
    }

    /// Rule for the current state of the path; `None` before any sample.
    fn rule(&self) -> Option<Rule> {
        let (min, last) = self.rtts?;
        let spacing = &self.mbiaz.spacing;
        let queued = (last - min).as_nanos() as f64;
        if queued < self.config.near.value() * spacing.min()? {
            return Some(Rule::Spike);
        }
        let mean = spacing.normalised_mean()?;
        let range = self.config.limits.iter().filter(|limit| **limit <= mean).count();
        Some([Rule::ZigZag, Rule::MBiaz, Rule::ZigZag, Rule::Spike][range])
    }
}

impl LossCause for State {
    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) {
        self.mbiaz.on_ack(ack, window);
        if let Some(rtt) = self.times.on_ack(ack).or(ack.rtt) {
            let min = self.rtts.map_or(rtt, |(min, _)| min.min(rtt));
            self.rtts = Some((min, rtt));
            self.spike.on_rtt(rtt);
            self.zigzag.on_rtt(rtt);
        }
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        match self.rule() {
            None => Cause::Congestion,
            Some(Rule::Spike) => self.spike.cause(loss),
            Some(Rule::ZigZag) => self.zigzag.cause(loss),
            Some(Rule::MBiaz) => self.mbiaz.cause(loss),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WINDOW, acked, duplicate, found, tcp, timed_out};
    use super::*;
    use Cause::{Congestion, Corruption};

    /// State after ACKs with these spacings in microseconds, the last with an RTT of 100 ms plus
    /// `above` microseconds.
    fn seen(config: Config, spacings: &[u64], above: u64) -> State {
        let mut state = State::new(&config, &tcp());
        let mut now = 0;
        state.on_ack(&acked(now, Duration::from_millis(100)), &WINDOW);
        for (n, spacing) in spacings.iter().enumerate() {
            now += spacing;
            let above = if n + 1 == spacings.len() { above } else { 0 };
            state.on_ack(&acked(now, Duration::from_micros(100_000 + above)), &WINDOW);
        }
        state
    }

    /// Smallest spacing 1 ms: an RTT less than 50 µs above the minimum indicates an idle path.
    #[test]
    fn an_idle_path_asks_spike() {
        let rule = |above| seen(Config::default(), &[1_000; 8], above).rule();
        assert_eq!(rule(49), Some(Rule::Spike));
        assert_eq!(rule(50), Some(Rule::MBiaz), "T = 1");
    }

    /// One spacing of 1 ms, then one of 1 + 8d: the mean is 1 + d.
    #[test]
    fn the_mean_spacing_chooses() {
        let rule = |second: u64| seen(Config::default(), &[1_000, second], 500).rule();
        assert_eq!(rule(4_999), Some(Rule::MBiaz));
        assert_eq!(rule(5_000), Some(Rule::ZigZag), "T = 1.5");
        assert_eq!(rule(8_999), Some(Rule::ZigZag));
        assert_eq!(rule(9_000), Some(Rule::Spike), "T = 2");
        let limits = [1.1, 1.5, 2.0];
        let moved = Config { limits, ..Config::default() };
        assert_eq!(seen(moved, &[1_000; 8], 500).rule(), Some(Rule::ZigZag), "T = 1");
        assert!(moved.check().is_ok());
        assert!(Config { limits: [2.0, 1.5, 1.0], ..moved }.check().is_err());
    }

    /// The three rules disagree: the RTT at its maximum is a spike and far above ZigZag's
    /// threshold, while the segment after the gap is on time for mBiaz.
    #[test]
    fn the_chosen_rule_speaks() {
        let said = |second: u64| {
            let mut state = seen(Config::default(), &[1_000, second], 500);
            state.on_ack(&duplicate(1_000 + second + 2_000), &WINDOW);
            state.cause(&found(1))
        };
        assert_eq!([said(1_000), said(5_000), said(9_000)], [Corruption, Congestion, Congestion]);
    }

    /// Each of the three rules gets the samples: with a threshold far above the mean, ZigZag gives
    /// a verdict that its default never gives for a constant RTT.
    #[test]
    fn the_rules_have_their_own_parameters() {
        let mut config = Config::default();
        config.zigzag.thresholds = [1e3; 4];
        assert_eq!(seen(config, &[1_000, 5_000], 500).cause(&found(1)), Corruption);
    }

    #[test]
    fn timeouts_are_judged_as_the_rule_says() {
        let mut config = Config::default();
        assert_eq!(seen(config, &[1_000; 8], 0).cause(&timed_out()), Congestion);
        config.spike.applies_to_timeouts = true;
        assert_eq!(seen(config, &[1_000; 8], 0).cause(&timed_out()), Corruption);
        assert_eq!(seen(config, &[], 0).cause(&found(1)), Congestion, "no spacing yet");
    }

    /// The rule times segments itself if the connection gives no RTT.
    #[test]
    fn segments_are_timed() {
        use super::super::testing::unsampled;
        let mut state = State::new(&Config::default(), &tcp());
        state.on_sent(&Sent {
            now: retx_units::Time::ZERO,
            position: 1,
            bytes: 1000,
            flight_size: 1000,
            retransmission: false,
        });
        state.on_ack(&Ack { snd_una: 1001, ..unsampled(50_000) }, &WINDOW);
        let rtt = Duration::from_millis(50);
        assert_eq!(state.rtts, Some((rtt, rtt)));
    }
}
