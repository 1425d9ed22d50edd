//! *What it does.* Learns from selective acknowledgments which segments have arrived, considers a
//! segment lost if enough data above it have arrived, and repairs as many losses per round trip as
//! the window permits.
//!
//! *Reference.* RFC 6675; Fall & Floyd 1996 §2.
//!
//! *Equations.* `IsLost`: DupThresh discontiguous blocks, or more than (DupThresh − 1)·SMSS bytes,
//! selectively acknowledged above (§4). `SetPipe`, `NextSeg`: see `scoreboard` and `transmit`.
//!
//! *Where we differ.* Segments are marked, not octets: a block that covers part of a segment counts
//! only for the segments that it covers completely. Without SACK on the connection this is
//! `newreno`, as §1 advises.

use super::{Ack, LossDetection, Reaction, newreno};
use crate::scoreboard::Scoreboard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recovery of RFC 6675 with its pipe; NewReno if the peer has no SACK.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

/// State of SACK-based recovery.
#[derive(Debug, Clone)]
pub struct State {
    without: newreno::State,
    dupacks: u32,
    /// `RecoveryPoint`, kept after recovery, so that losses of data sent earlier start no further
    /// recovery.
    recover: u64,
    in_recovery: bool,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(_: &Config, tcp: &crate::Config) -> Self {
        let without = newreno::State::new(&newreno::Config::default(), tcp);
        Self { without, dupacks: 0, recover: 0, in_recovery: false }
    }

    fn on_selective(&mut self, ack: &Ack, sacked: u64, board: &mut Scoreboard) -> Reaction {
        if ack.bytes_acked > 0 {
            self.dupacks = 0;
        }
        if self.in_recovery && ack.snd_una >= self.recover {
            // §5, step (A): an ACK beyond `RecoveryPoint` ends the recovery.
            self.in_recovery = false;
            return Reaction::EndRecovery;
        }
        // Losses are marked during a recovery, too, so that the recovery repairs the newly found
        // ones as well.
        board.mark_lost_below(board.lost_below(ack.dupack_threshold, ack.smss));
        if self.in_recovery || sacked == 0 {
            return Reaction::Nothing;
        }
        self.dupacks += 1;
        // §5: a recovery begins upon (1) enough duplicates, or (2) IsLost(HighACK + 1), or if the
        // congestion control considers the first segment overdue; but not for data sent before the
        // last recovery or timeout began.
        let many = self.dupacks >= ack.dupack_threshold;
        let lost = many || ack.overdue || board.is_first_lost();
        if lost && ack.snd_una >= self.recover {
            board.mark_first_lost();
            self.recover = ack.snd_max;
            self.in_recovery = true;
            return Reaction::SelectiveRecovery;
        }
        // §5, step 3: limited transmit needs no reaction, since the arrived segments do not count
        // in the pipe.
        Reaction::Nothing
    }
}

impl LossDetection for State {
    fn is_selective(&self) -> bool {
        true
    }

    fn guesses(&self) -> bool {
        true
    }

    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction {
        match ack.selective {
            Some(delivered) => self.on_selective(ack, delivered.sacked, board),
            None => self.without.on_ack(ack, board),
        }
    }

    fn ignores_new_data_ack(&self) -> bool {
        !self.in_recovery && self.dupacks == 0 && self.without.ignores_new_data_ack()
    }

    fn only_repairs(&self, selective: bool) -> bool {
        if selective { self.in_recovery } else { self.without.only_repairs(false) }
    }

    fn on_timeout(&mut self, snd_max: u64) {
        self.without.on_timeout(snd_max);
        self.dupacks = 0;
        self.in_recovery = false;
        // §5.1: no recovery for data sent before the timeout.
        self.recover = snd_max;
    }

    fn on_undo(&mut self) {
        self.without.on_undo();
        self.in_recovery = false;
    }

    fn in_recovery(&self) -> bool {
        self.in_recovery || self.without.in_recovery()
    }

    fn left_timer_running(&self) -> bool {
        self.without.left_timer_running()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::scoreboard::Delivered;
    use retx_units::Time;

    fn reaction(
        state: &mut State,
        board: &mut Scoreboard,
        (una, acked): (u64, u64),
        blocks: &[(u64, u64)],
    ) -> Reaction {
        let mut delivered = Delivered::default();
        board.acknowledge(una, blocks, &mut delivered);
        let ack = Ack { selective: Some(&delivered), ..testing::ack(acked, una, 1001) };
        state.on_ack(&ack, board)
    }

    /// RFC 6675 §5: a new cumulative acknowledgment resets the count of duplicates. The segments
    /// have 100 bytes, so that `IsLost` never finds a loss before the count does.
    #[test]
    fn new_data_reset_the_count_of_duplicates() {
        let tcp = (crate::presets::find("sack").unwrap().config)();
        let (mut state, mut board) = (State::new(&Config::default(), &tcp), Scoreboard::default());
        for segment in 0..10 {
            board.push(Time::ZERO, 1 + 100 * segment, 100);
        }
        let mut see = |una, blocks: &[(u64, u64)]| reaction(&mut state, &mut board, una, blocks);
        assert_eq!(see((1, 0), &[(101, 201)]), Reaction::Nothing);
        assert_eq!(see((1, 0), &[(101, 301)]), Reaction::Nothing);
        assert_eq!(see((301, 300), &[]), Reaction::Nothing);
        assert_eq!(see((301, 0), &[(401, 501)]), Reaction::Nothing);
        assert_eq!(see((301, 0), &[(401, 601)]), Reaction::Nothing);
        assert_eq!(see((301, 0), &[(401, 701)]), Reaction::SelectiveRecovery);
    }
}
