//! *What it does.* Fast retransmit and fast recovery; the first ACK of new data ends recovery,
//! whatever is still missing.
//!
//! *Reference.* RFC 5681 §3.2 (RFC 2581); Fall & Floyd 1996 §2.
//!
//! *Where we differ.* RFC 5681 permits a second fast retransmit for losses in the same window. By
//! default there is none: duplicate ACKs must be beyond `recover` (RFC 6582 §3.2, step 1). ns-2's
//! Reno has this test only after a timeout (`bug_fix_`); 4.3BSD-Reno has none.

use super::dupacks::Dupacks;
use super::{Ack, LossDetection, Reaction};
use crate::scoreboard::Scoreboard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fast retransmit and fast recovery of RFC 5681: any new ACK ends recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Let duplicate ACKs start recovery only beyond the data sent before the last loss event
    /// (`recover`, RFC 6582 §3.2 step 1). Without it several losses in one window may halve the
    /// window several times.
    pub recover_test: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { recover_test: true }
    }
}

/// State of Reno.
#[derive(Debug, Clone)]
pub struct State {
    recover_test: bool,
    dupacks: Dupacks,
    in_recovery: bool,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { recover_test: config.recover_test, dupacks: Dupacks::default(), in_recovery: false }
    }
}

impl LossDetection for State {
    fn on_ack(&mut self, ack: &Ack, _: &mut Scoreboard) -> Reaction {
        if ack.bytes_acked > 0 {
            self.dupacks.reset();
            // Even a partial ACK ends the recovery: further losses of the window need three more
            // duplicate ACKs, or the timer.
            return if std::mem::take(&mut self.in_recovery) {
                Reaction::EndRecovery
            } else {
                Reaction::Nothing
            };
        }
        if self.in_recovery {
            return Reaction::Inflate;
        }
        let reaction = self.dupacks.on_duplicate(ack, self.recover_test, Reaction::FastRetransmit);
        self.in_recovery = reaction == Reaction::FastRetransmit;
        reaction
    }

    fn ignores_new_data_ack(&self) -> bool {
        !self.in_recovery && self.dupacks.has_no_dupacks()
    }

    fn only_repairs(&self, _: bool) -> bool {
        self.in_recovery
    }

    fn on_timeout(&mut self, snd_max: u64) {
        self.dupacks.on_timeout(snd_max);
        self.in_recovery = false;
    }

    fn on_undo(&mut self) {
        self.in_recovery = false;
    }

    fn in_recovery(&self) -> bool {
        self.in_recovery
    }
}
