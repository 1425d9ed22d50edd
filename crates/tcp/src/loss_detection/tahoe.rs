//! *What it does.* Retransmits at the threshold of duplicate ACKs, and sends everything after the
//! lost segment again as the window opens.
//!
//! *Reference.* Jacobson 1988; Fall & Floyd 1996 §2.
//!
//! *Where we differ.* As in ns-2's Tahoe, duplicate ACKs of a retransmitted window do not start
//! another retransmission.

use super::dupacks::Dupacks;
use super::{Ack, LossDetection, Reaction};
use crate::scoreboard::Scoreboard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fast retransmit without fast recovery: go back and send everything again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// State of Tahoe: the count of duplicate ACKs.
#[derive(Debug, Clone, Default)]
pub struct State {
    dupacks: Dupacks,
}

impl State {
    /// Creates a detector.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self::default()
    }
}

impl LossDetection for State {
    fn on_ack(&mut self, ack: &Ack, _: &mut Scoreboard) -> Reaction {
        if ack.bytes_acked > 0 {
            self.dupacks.reset();
            return Reaction::Nothing;
        }
        let reaction = self.dupacks.on_duplicate(ack, true, Reaction::GoBackN);
        // Duplicate ACKs of the resent window are counted anew; the test of `recover` ignores them.
        if reaction == Reaction::GoBackN {
            self.dupacks.reset();
        }
        reaction
    }

    fn ignores_new_data_ack(&self) -> bool {
        self.dupacks.has_no_dupacks()
    }

    fn on_timeout(&mut self, snd_max: u64) {
        self.dupacks.on_timeout(snd_max);
    }

    fn in_recovery(&self) -> bool {
        false
    }
}
