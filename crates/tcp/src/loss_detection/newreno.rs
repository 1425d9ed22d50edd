//! *What it does.* Fast recovery that lasts until everything sent before it is acknowledged; each
//! partial ACK retransmits the next hole.
//!
//! *Reference.* RFC 6582 §3.2.
//!
//! *Where we differ.* At the end of recovery cwnd = ssthresh, the second of the two options of step
//! 3 (also that of ns-2).

use super::dupacks::Dupacks;
use super::{Ack, LossDetection, Reaction};
use crate::scoreboard::Scoreboard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fast recovery of RFC 6582: partial ACKs repair one hole per round trip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Restart of the retransmission timer by partial ACKs (RFC 6582 §4).
    pub timer: Timer,
}

/// The two variants of RFC 6582 §4.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// Only the first partial ACK restarts the timer: many losses end in a timeout.
    #[default]
    Impatient,
    /// Every partial ACK restarts the timer.
    SlowButSteady,
}

/// State of NewReno.
#[derive(Debug, Clone)]
pub struct State {
    timer: Timer,
    dupacks: Dupacks,
    in_recovery: bool,
    partial_ack_seen: bool,
    /// True if the last partial ACK of this recovery did not restart the timer.
    timer_left_running: bool,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self {
            timer: config.timer,
            dupacks: Dupacks::default(),
            in_recovery: false,
            partial_ack_seen: false,
            timer_left_running: false,
        }
    }

    fn on_new_ack(&mut self, ack: &Ack) -> Reaction {
        self.dupacks.reset();
        if !self.in_recovery {
            return Reaction::Nothing;
        }
        if ack.snd_una >= self.dupacks.recover {
            self.in_recovery = false;
            return Reaction::EndRecovery;
        }
        // Impatient: each of many holes takes a round trip, so a timeout may be faster (RFC 6582
        // §4).
        let first = !std::mem::replace(&mut self.partial_ack_seen, true);
        let restart_timer = first || self.timer == Timer::SlowButSteady;
        self.timer_left_running = !restart_timer;
        Reaction::PartialAck { restart_timer }
    }
}

impl LossDetection for State {
    fn on_ack(&mut self, ack: &Ack, _: &mut Scoreboard) -> Reaction {
        if ack.bytes_acked > 0 {
            return self.on_new_ack(ack);
        }
        if self.in_recovery {
            return Reaction::Inflate;
        }
        // Duplicate ACKs of data sent before the last recovery or timeout start no new recovery.
        let reaction = self.dupacks.on_duplicate(ack, true, Reaction::FastRetransmit);
        self.in_recovery = reaction == Reaction::FastRetransmit;
        (self.partial_ack_seen, self.timer_left_running) = (false, false);
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

    fn left_timer_running(&self) -> bool {
        self.in_recovery && self.timer_left_running
    }
}
