//! *What it does.* Duplicates a share of the frames.
//!
//! *Equations.* The mean number of additional copies per frame is p.
//!
//! A frame that arrives may be duplicated even if other models of the list delay it; its copy
//! arrives `after` later than the frame itself. From then on the copy is a packet of its own, and
//! may be lost on the next link.

use super::{Channel, DELIVER, Fate, Frame, Model};
use retx_units::{Duration, Probability, RandomStream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each frame is duplicated with probability p.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Probability that a frame is duplicated.
    pub p: Probability,
    /// Time from the frame's arrival to the copy's; other frames may arrive in between.
    #[serde(default)]
    pub after: Duration,
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State { p: self.p.value(), after: self.after }
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        Some(0.0)
    }

    fn only_loses(&self) -> bool {
        false
    }
}

/// Running channel; it has no state but its parameters.
#[derive(Debug, Clone)]
pub struct State {
    p: f64,
    after: Duration,
}

impl Channel for State {
    fn fate(&mut self, _: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        if stream.uniform() < self.p { Fate::Twice { after: self.after } } else { DELIVER }
    }
}
