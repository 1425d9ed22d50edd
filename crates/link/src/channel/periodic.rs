//! *What it does.* Loses every n-th frame.
//!
//! *Reference.* The periodic losses that eq. 1 of Mathis et al. 1997 assumes.
//!
//! *Equations.* Loss rate 1/n; each burst is a single frame (n > 1).

use super::{Channel, DELIVER, Fate, Frame, Model, Reason};
use retx_units::{RandomStream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Every n-th frame is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Number of frames from one loss to the next.
    #[serde(rename = "every")]
    pub frames_per_loss: NonZeroU32,
    /// Number of frames at the start that are neither counted nor lost.
    #[serde(default)]
    pub after: u64,
}

/// Running channel, which counts frames.
#[derive(Debug, Clone)]
pub struct State {
    frames_per_loss: u32,
    after: u64,
    count: u32,
}

impl State {
    /// Creates a channel with these parameters.
    pub fn new(config: Config) -> Self {
        Self { frames_per_loss: config.frames_per_loss.get(), after: config.after, count: 0 }
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State::new(*self)
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        Some(1.0 / f64::from(self.frames_per_loss.get()))
    }

    fn mean_burst(&self, _: u32) -> Option<f64> {
        (self.frames_per_loss.get() > 1).then_some(1.0)
    }
}

impl Channel for State {
    fn fate(&mut self, _: Time, _: &Frame, _: &mut RandomStream) -> Fate {
        if self.after > 0 {
            self.after -= 1;
            return DELIVER;
        }
        self.count += 1;
        if self.count < self.frames_per_loss {
            return DELIVER;
        }
        self.count = 0;
        Fate::Lose(Reason::Channel)
    }

    /// Takes the period of `new`, but continues its own count of frames.
    fn adopt(&mut self, new: Self) {
        self.frames_per_loss = new.frames_per_loss;
    }
}
