//! *What it does.* Delays a share of the frames, each by a random time.
//!
//! *Reference.* The reliable MAC of Pavilanskas (ECMS): "a percentage P_v of packets is delayed by
//! 0.5, 1 or 2 s", with an exponential distribution; P_v takes a new value every 10 s.
//!
//! *Equations.* The mean extra delay is the share times the law's mean, not counting the wait for
//! earlier frames.
//!
//! *Order.* Later frames wait for a delayed frame, as in a MAC that retransmits a frame until it is
//! acknowledged. With `reorder = true` they overtake it.

use super::law::DelayParameters;
use super::{Channel, DELIVER, Fate, Frame, LawKind, Model, checked};
use retx_units::{Duration, Law, Probability, RandomStream, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A share of the frames is delayed for a random time; order is kept unless reorder is true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Config {
    /// Share of frames that are delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Probability>,
    /// Shares that take turns, each for the time `every`, in a cycle; in place of `share`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Probability>,
    /// Time for which each of `shares` applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "every")]
    pub share_duration: Option<Duration>,
    /// Distribution of the delay.
    #[serde(default = "exponential")]
    pub law: LawKind,
    /// The delay (constant), or its mean (exponential).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// The shortest delay (uniform, pareto).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Duration>,
    /// The longest delay (uniform).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Duration>,
    /// The exponent (pareto).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<f64>,
    /// Other frames overtake a delayed one.
    #[serde(default)]
    pub reorder: bool,
}

checked!(Config);

fn exponential() -> LawKind {
    LawKind::Exponential
}

impl Config {
    fn check(&self) -> Result<(), String> {
        self.parameters().law()?;
        match (self.share, self.shares.as_slice(), self.share_duration) {
            (None, [], _) => Err("needs share, or shares and every".into()),
            (Some(_), [_, ..], _) => {
                Err(choice::error_at("share", "contradicts `shares`: write one or the other"))
            }
            (Some(_), _, Some(_)) => Err(choice::error_at("every", "belongs to `shares`")),
            (None, _, None) => Err("`shares` need `every`: how long each of them holds".into()),
            (None, _, Some(Duration::ZERO)) => {
                Err(choice::error_at("every", "0 s is refused: write a duration above 0 s"))
            }
            _ => Ok(()),
        }
    }

    const fn parameters(&self) -> DelayParameters {
        let Self { law, delay, min, max, shape, .. } = *self;
        DelayParameters { law, delay, min, max, shape }
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        let shares = self.share.map_or_else(|| self.shares.clone(), |share| vec![share]);
        State {
            shares: shares.into_iter().map(Probability::value).collect(),
            share_duration: self.share_duration.map_or(u64::MAX, Duration::as_nanos),
            law: self.parameters().law().unwrap_or_else(|error| panic!("unchecked: {error}")),
            reorder: self.reorder,
        }
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        Some(0.0)
    }

    fn only_loses(&self) -> bool {
        false
    }

    fn keeps_order(&self) -> bool {
        !self.reorder
    }
}

/// Running channel; it has no state but its parameters.
#[derive(Debug, Clone)]
pub struct State {
    shares: Vec<f64>,
    share_duration: u64,
    law: Law,
    reorder: bool,
}

impl Channel for State {
    fn fate(&mut self, now: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        let share = match self.shares.as_slice() {
            [share] => *share,
            shares => {
                shares[((now.as_nanos() / self.share_duration) % shares.len() as u64) as usize]
            }
        };
        // Two draws per frame, so that runs that differ in the share use the same draws.
        let delayed = stream.uniform() < share;
        let extra_delay = Duration::from_secs_f64(self.law.draw(stream));
        match (delayed, self.reorder) {
            (false, _) => DELIVER,
            (true, false) => Fate::Deliver { extra_delay },
            (true, true) => Fate::Stray { extra_delay },
        }
    }
}
