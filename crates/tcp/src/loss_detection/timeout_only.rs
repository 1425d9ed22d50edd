//! *What it does.* Ignores duplicate ACKs: every loss waits for the retransmission timer.
//!
//! *Reference.* RFC 793 §3.7; TCP before Jacobson 1988.

use super::{Ack, LossDetection, Reaction};
use crate::scoreboard::Scoreboard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No fast retransmit: only the retransmission timer finds losses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// No state.
#[derive(Debug, Clone)]
pub struct State;

impl State {
    /// Creates a detector.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self
    }
}

impl LossDetection for State {
    fn on_ack(&mut self, _: &Ack, _: &mut Scoreboard) -> Reaction {
        Reaction::Nothing
    }

    fn ignores_new_data_ack(&self) -> bool {
        true
    }

    fn on_timeout(&mut self, _: u64) {}

    fn in_recovery(&self) -> bool {
        false
    }
}
