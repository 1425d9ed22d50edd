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
            return self.enter(ack.now, ack.recovery_point);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_detection::{rack::Config, testing};
    use retx_units::Time;

    fn state() -> State {
        State::new(&Config::default(), &(crate::presets::find("linux").expect("a preset").config)())
    }

    /// Ten segments of 1000 bytes.
    fn board() -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..10).for_each(|n| board.push(Time::ZERO, 1 + 1_000 * n, 1_000));
        board
    }

    fn ack(snd_una: u64, bytes_acked: u64) -> Ack<'static> {
        testing::ack(bytes_acked, snd_una, 10_001)
    }

    /// Number of duplicate ACKs until a recovery begins, if one of the first five begins it.
    fn duplicates(state: &mut State, snd_una: u64) -> Option<usize> {
        let mut board = board();
        (1..=5).find(|_| {
            board.assume_arrival(1_000);
            let reaction = state.on_ack_without_sack(&ack(snd_una, 0), &mut board);
            let begins = matches!(reaction, Reaction::SelectiveRecovery);
            assert_eq!(begins, board.is_first_lost());
            begins
        })
    }

    /// `tcp_time_to_recover`: a recovery begins when `tp->sacked_out` reaches `tp->reordering`, 3
    /// at first; after a timeout only once more than `recover` is acknowledged (RFC 6582 §3.2, step
    /// 1).
    #[test]
    fn the_third_duplicate_begins_a_recovery() {
        assert_eq!(duplicates(&mut state(), 1), Some(3));
        let widened = |reordering| duplicates(&mut State { reordering, ..state() }, 1);
        assert_eq!([2, 5, 6].map(widened), [Some(3), Some(5), None]);
        let after_timeout =
            |recover| duplicates(&mut State { in_timeout_recovery: true, recover, ..state() }, 1);
        assert_eq!([0, 1, 2].map(after_timeout), [Some(3), None, None]);
    }

    /// An ACK of new data is no duplicate, and ends the count.
    #[test]
    fn an_acknowledgment_of_new_data_begins_the_count_anew() {
        let (mut state, mut board) = (state(), board());
        (0..5).for_each(|_| _ = board.assume_arrival(1_000));
        let reaction = state.on_ack_without_sack(&ack(1_001, 1_000), &mut board);
        assert!(matches!(reaction, Reaction::Nothing));
        assert_eq!((board.assumed_arrivals(), board.lost_bytes()), (0, 0));
    }

    /// RFC 6582 §3.2, step 3: a partial ACK reveals the next hole. At `recover` the recovery goes
    /// on without another loss; beyond `recover` it ends (`tcp_is_non_sack_preventing_reopen`).
    #[test]
    fn partial_full_and_later_acknowledgments() {
        let after = |snd_una, bytes_acked| {
            let mut state = State { in_recovery: true, recover: 5_001, ..state() };
            let mut board = board();
            let ends = state.on_ack_without_sack(&ack(snd_una, bytes_acked), &mut board);
            (matches!(ends, Reaction::EndRecovery), board.lost_bytes(), state.in_recovery)
        };
        assert_eq!(after(5_000, 1_000), (false, 1_000, true));
        assert_eq!(after(5_000, 0), (false, 0, true));
        assert_eq!(after(5_001, 1_000), (false, 0, true));
        assert_eq!(after(5_002, 1_000), (true, 0, false));
    }
}
