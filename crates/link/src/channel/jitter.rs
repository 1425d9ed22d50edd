//! *What it does.* Delays each frame by an independent random time.
//!
//! *Equations.* Without order, the mean extra delay is the law's mean. With order, a frame also
//! waits for slower frames before it. With frames s apart and a law with the distribution function
//! F on [a, b], the extra delay is at most x with probability Π_k F(x + k·s), k = 0, 1, …. Under a
//! uniform law the mean is b − √(π·s·(b − a)/2) for s ≪ b − a, and (a + b)/2 for s ≥ b − a.
//!
//! *Order.* A frame does not arrive earlier than the frame that was sent before it. With `reorder =
//! true` each frame arrives after its own delay, as in Linux' netem, and frames may overtake each
//! other.

use super::law::DelayParameters;
use super::{Channel, Fate, Frame, LawKind, Model, checked};
use retx_units::{Duration, Law, RandomStream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every frame is delayed for a random time. Order is kept unless reorder is true: a frame
/// also waits for slower frames before it, which raises the mean. Under a uniform law the mean is
/// max − √(π·s·(max − min)/2) for frames s apart, if s is far below max − min.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Config {
    /// Distribution of the delay.
    #[serde(default = "uniform")]
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
    /// Frames may overtake each other.
    #[serde(default)]
    pub reorder: bool,
}

checked!(Config);

fn uniform() -> LawKind {
    LawKind::Uniform
}

impl Config {
    fn check(&self) -> Result<(), String> {
        self.law().map(|_| ())
    }

    fn law(&self) -> Result<Law, String> {
        let Self { law, delay, min, max, shape, .. } = *self;
        DelayParameters { law, delay, min, max, shape }.law()
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        let law = self.law().unwrap_or_else(|error| panic!("unchecked: {error}"));
        State { law, reorder: self.reorder }
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
    law: Law,
    reorder: bool,
}

impl Channel for State {
    fn fate(&mut self, _: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        let extra_delay = Duration::from_secs_f64(self.law.draw(stream));
        if self.reorder { Fate::Stray { extra_delay } } else { Fate::Deliver { extra_delay } }
    }
}
