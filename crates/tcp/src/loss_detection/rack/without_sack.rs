//! Linux's recovery without SACK: NewReno in which each duplicate ACK stands for an arrived
//! segment.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c`: `tcp_fastretrans_alert`, `tcp_process_loss`,
//! `tcp_newreno_mark_lost`, `tcp_is_non_sack_preventing_reopen`, `tcp_check_reno_reordering`; RFC
//! 6582 §3.2.

use super::{MAX_REORDERING, Reaction, State};
use crate::loss_detection::Ack;
use crate::scoreboard::Scoreboard;

impl State {
    /// Handles an acknowledgment; the scoreboard has been updated.
    pub(super) fn on_ack_without_sack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction {
        if let Some(flight) = board.take_reordering() {
            self.reordering = flight.min(MAX_REORDERING) as u32;
            self.reordering_seen = true;
        }
        let advanced = ack.bytes_acked > 0;
        if self.in_recovery {
            return self.on_ack_without_sack_in_recovery(
                ack.snd_una,
                advanced && !ack.defers_marking,
                board,
            );
        }
        // RFC 6582 §3.2, step 1: no recovery begins until more than `recover` is acknowledged.
        self.in_timeout_recovery &= ack.snd_una <= self.recover;
        if advanced {
            board.forget_assumed_arrivals();
        }
        let threshold = u64::from(ack.dupack_threshold.max(self.reordering));
        if !self.in_timeout_recovery && !advanced && board.assumed_arrivals() >= threshold {
            board.mark_first_lost();
            return self.enter(ack.recovery_point);
        }
        Reaction::Nothing
    }

    /// Handles an acknowledgment in recovery: each partial ACK reveals another hole. Recovery ends
    /// at the acknowledgment of data sent after its start.
    fn on_ack_without_sack_in_recovery(
        &mut self,
        snd_una: u64,
        advanced: bool,
        board: &mut Scoreboard,
    ) -> Reaction {
        if snd_una < self.recover {
            if advanced {
                board.mark_first_lost();
            }
            return Reaction::Nothing;
        }
        board.forget_assumed_arrivals();
        // The recovery ends only when data beyond `recover` are acknowledged: until then duplicate
        // ACKs may be due to its retransmissions (`tcp_is_non_sack_preventing_reopen`).
        if snd_una == self.recover {
            return Reaction::Nothing;
        }
        self.in_recovery = false;
        Reaction::EndRecovery
    }

    /// True if a duplicate ACK stands for an arrived segment; after a timeout only if that segment
    /// can have been sent since (F-RTO, RFC 5682 §2.1).
    pub(super) const fn dupack_is_arrival(&self, snd_una: u64, snd_max: u64) -> bool {
        if self.in_recovery {
            snd_una < self.recover
        } else if self.in_timeout_recovery && snd_una <= self.recover {
            snd_una < self.recover && snd_max > self.recover
        } else {
            true
        }
    }
}
