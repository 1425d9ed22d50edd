//! *What it does.* Loses each frame with the same probability, independently of all others.
//!
//! *Equations.* Loss rate p; a burst of losses has mean length 1/(1 − p).

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, independent_burst};
use retx_units::{Probability, RandomStream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each frame is lost with probability p, independently of all others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Probability of losing a frame.
    pub p: Probability,
}

/// A running Bernoulli channel.
#[derive(Debug, Clone)]
pub struct State {
    p: f64,
}

impl State {
    /// Creates a channel with these parameters.
    pub fn new(config: Config) -> Self {
        Self { p: config.p.value() }
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State::new(*self)
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        Some(self.p.value())
    }

    fn mean_burst(&self, _: u32) -> Option<f64> {
        independent_burst(self.p.value())
    }
}

impl Channel for State {
    fn fate(&mut self, _: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        // One draw per frame, even at p = 0, so that runs that differ only in p use the same draws.
        if stream.uniform() < self.p { Fate::Lose(Reason::Channel) } else { DELIVER }
    }
}
