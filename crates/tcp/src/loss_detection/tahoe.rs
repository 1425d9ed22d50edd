//! *What it does.* The threshold of duplicate ACKs retransmits, and everything after the lost
//! segment is sent again as the window opens.
//!
//! *Reference.* Jacobson 1988; Fall & Floyd 1996 §2.
//!
//! *Where we differ.* Not at all from ns-2's Tahoe: duplicate ACKs of a window that has been resent
//! do not start another retransmission.

use super::{Ack, LossDetection, Reaction};
use crate::scoreboard::Scoreboard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fast retransmit without fast recovery: go back and send everything again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Counts duplicate ACKs.
#[derive(Debug, Clone, Default)]
pub struct State {
    dupacks: u32,
    /// Only an ACK of something sent after the last loss event may start another.
    recover: u64,
}

impl State {
    /// A fresh one.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self::default()
    }
}

impl LossDetection for State {
    fn on_ack(&mut self, ack: &Ack, _: &mut Scoreboard) -> Reaction {
        if ack.bytes_acked > 0 {
            self.dupacks = 0;
            return Reaction::Nothing;
        }
        self.dupacks += 1;
        if self.dupacks == ack.dupack_threshold && ack.snd_una > self.recover {
            self.recover = ack.snd_max;
            self.dupacks = 0;
            Reaction::GoBackN
        } else if self.dupacks < ack.dupack_threshold {
            Reaction::LimitedTransmit
        } else {
            Reaction::Nothing
        }
    }

    fn on_timeout(&mut self, snd_max: u64) {
        self.dupacks = 0;
        self.recover = snd_max;
    }

    fn in_recovery(&self) -> bool {
        false
    }
}
