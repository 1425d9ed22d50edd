//! *What it does.* Undoes a reduction as Linux does: when a timestamp echo shows that an original
//! arrived before the first retransmission, when every retransmission was reported as a duplicate,
//! or when F-RTO sees that a timeout was spurious. Which of these signs applies depends on the
//! sender's state, and on whether the acknowledgment advances `SND.UNA`.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c`: `tcp_init_undo`, `tcp_packet_delayed`,
//! `tcp_check_dsack`, `tcp_sacktag_one`, `tcp_try_undo_recovery`, `tcp_try_undo_partial`,
//! `tcp_try_undo_dsack`, `tcp_try_undo_loss`, `tcp_process_loss`; RFC 5682 for F-RTO.
//!
//! *Where we differ.* `retrans_stamp` is cleared when the next recovery begins; Linux clears it at
//! an earlier acknowledgment. With SACK F-RTO need not wait for new segments: a segment sent once
//! before the timeout and delivered after it shows that not all was lost.

use super::{Ack, Detector, NewRecovery, Response, Retransmission, UndoScope, Verdict, frto};
use crate::LossState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// F-RTO, timestamps and DSACK together, each with a full undo, as in Linux.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// First retransmission after a time at which no retransmission was in flight (`retrans_stamp`).
#[derive(Debug, Clone, Copy)]
struct FirstRetransmission {
    /// TSval of the retransmission; `None` without timestamps.
    timestamp: Option<u32>,
}

/// State of the undo.
#[derive(Debug, Clone)]
pub struct State {
    frto: frto::State,
    /// `SND.UNA` at the start of the reduction; `None` if the reduction was undone, or must not be
    /// undone.
    undo_marker: Option<u64>,
    /// Number of retransmissions not yet reported as duplicates; `None` before the first one.
    undo_retrans: Option<u64>,
    retrans_stamp: Option<FirstRetransmission>,
    /// Position whose acknowledgment ends the recovery (`high_seq`).
    recovery_point: u64,
    /// True if the last ACK has shown that an original filled a retransmitted hole.
    late_original: bool,
}

impl State {
    /// Creates the state with nothing to undo.
    pub fn new(_: &Config, tcp: &crate::Config) -> Self {
        Self {
            frto: frto::State::new(&frto::Config::default(), tcp),
            undo_marker: None,
            undo_retrans: None,
            retrans_stamp: None,
            recovery_point: 0,
            late_original: false,
        }
    }

    /// True if the original was only delayed (`tcp_packet_delayed`): the echo is older than the
    /// first retransmission, or nothing was retransmitted. Without SACK, the time of the first
    /// retransmission is discarded once the recovery point is acknowledged. From then on, a missing
    /// time does not prove that nothing was retransmitted.
    fn is_delayed(&self, ack: &Ack) -> bool {
        match self.retrans_stamp {
            Some(FirstRetransmission { timestamp }) => timestamp
                .zip(ack.echo)
                .is_some_and(|(sent, echo)| (echo.wrapping_sub(sent) as i32) < 0),
            None => ack.sacked.is_some() || ack.snd_una < self.recovery_point,
        }
    }

    /// True if the last reduction can be undone (`tcp_may_undo`).
    fn may_undo(&self, ack: &Ack) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == Some(0) || self.is_delayed(ack))
    }

    /// Subtracts from `undo_retrans` the number of segments that a DSACK reports: below SND.UNA all
    /// segments of the reported range (`tcp_check_dsack`), above SND.UNA only the retransmitted
    /// ones (`tcp_sacktag_one`).
    fn count_duplicates(&mut self, ack: &Ack) {
        let (Some((left, right)), Some(marker)) = (ack.dsack, self.undo_marker) else { return };
        if right <= marker {
            return;
        }
        let segments = if right <= ack.previous_una {
            (right - left).div_ceil(ack.smss.into())
        } else {
            ack.dsacked_in_flight
        };
        self.undo_retrans = self.undo_retrans.map(|left| left.saturating_sub(segments));
    }

    fn undo(&mut self, scope: UndoScope) -> Verdict {
        self.undo_marker = None;
        Verdict::Spurious(scope)
    }

    fn on_ack_in_recovery(&mut self, ack: &Ack) -> Verdict {
        if ack.snd_una >= self.recovery_point {
            let prevents_reopen = ack.sacked.is_none() && ack.snd_una == self.recovery_point;
            if self.may_undo(ack) {
                return self.undo(UndoScope { losses: false, ends: !prevents_reopen });
            }
            if prevents_reopen && ack.retransmitted == 0 {
                self.retrans_stamp = None;
            }
            return Verdict::Undecided;
        }
        if ack.advances() && self.undo_marker.is_some() && self.is_delayed(ack) {
            // `tcp_try_undo_partial`: a late original is reordering, whether the recovery is undone
            // or not.
            self.late_original = true;
            if ack.retransmitted > 0 {
                return Verdict::Wait;
            }
            return self.undo(UndoScope::ALL);
        }
        self.on_reports()
    }

    /// Outside the loss state, undoes the reduction if every retransmission was reported as a
    /// duplicate (`tcp_try_undo_dsack`).
    fn on_reports(&mut self) -> Verdict {
        if self.undo_marker.is_some() && self.undo_retrans == Some(0) {
            return self.undo(UndoScope { losses: false, ends: true });
        }
        Verdict::Undecided
    }

    /// Evaluates an acknowledgment in the loss state (`tcp_process_loss`).
    fn on_ack_in_loss(&mut self, ack: &Ack) -> Verdict {
        let selective = ack.sacked.is_some();
        if ack.advances() && self.may_undo(ack) {
            return self.undo(UndoScope { losses: true, ends: selective });
        }
        if !selective && !ack.advances() {
            self.frto.on_duplicate(ack.snd_max);
        }
        let reopens = selective || ack.snd_una != self.recovery_point;
        if self.frto.sees_original(ack) {
            return self.undo(UndoScope { losses: true, ends: reopens });
        }
        // Linux starts F-RTO at the first ACK that advances SND.UNA, with or without SACK.
        let waits = !ack.advances() && !self.frto.is_waiting();
        let verdict = if waits { Verdict::Undecided } else { self.frto.on_ack(ack) };
        if verdict == Verdict::Undecided && ack.snd_una >= self.recovery_point && self.may_undo(ack)
        {
            return self.undo(UndoScope { losses: false, ends: reopens });
        }
        verdict
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &NewRecovery) {
        // `tcp_enter_loss`: a repeated timeout starts F-RTO anew.
        let in_recovery = begin.in_recovery && !begin.repeated;
        self.frto.on_begin(&NewRecovery { in_recovery, ..*begin });
        self.recovery_point = begin.recovery_point;
        if begin.in_recovery {
            return;
        }
        // No earlier retransmission is in flight, so the time of the first retransmission is
        // discarded (`tcp_retrans_stamp_cleanup`).
        if begin.retransmitted == 0 && !begin.first_retransmitted {
            self.retrans_stamp = None;
        }
        self.undo_marker = Some(begin.snd_una);
        let in_flight = begin.retransmitted + u64::from(begin.awaits_probe);
        self.undo_retrans = Some(in_flight).filter(|copies| *copies > 0);
    }

    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        // A tail loss probe does not count: `tcp_send_loss_probe` does not call
        // `tcp_retransmit_skb`.
        if !retransmission.is_probe {
            let Retransmission { timestamp, .. } = *retransmission;
            self.retrans_stamp.get_or_insert(FirstRetransmission { timestamp });
            self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
        }
    }

    /// Gives up the undo: ECN-Echo has proved congestion (`tcp_enter_cwr`).
    fn on_echo(&mut self) {
        self.undo_marker = None;
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        self.late_original = false;
        self.count_duplicates(ack);
        match ack.state {
            LossState::Open | LossState::Disorder => self.on_reports(),
            LossState::Cwr => Verdict::Undecided,
            LossState::Recovery => self.on_ack_in_recovery(ack),
            LossState::Loss => self.on_ack_in_loss(ack),
        }
    }

    fn ignores_new_data_ack(&self) -> bool {
        let undoes = self.undo_marker.is_some() && self.undo_retrans == Some(0);
        !self.late_original && !undoes
    }

    fn ignores_sack(&self, snd_una: u64) -> bool {
        self.ignores_new_data_ack() && snd_una < self.recovery_point
    }

    fn saw_late_original(&self) -> bool {
        self.late_original
    }

    fn is_waiting(&self) -> bool {
        self.frto.is_waiting()
    }

    fn response(&self) -> Response {
        Response::FullUndo
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    /// Connection without SACK and timestamps after a timeout with ten segments of 1000 bytes in
    /// flight.
    fn timed_out() -> State {
        let tcp = (crate::presets::find("linux").expect("a preset").config)();
        let mut state = State::new(&Config::default(), &tcp);
        state.on_begin(&testing::new_recovery(true, false));
        state.on_retransmission(&testing::retransmission(1, None));
        state
    }

    /// ACK with these values of SND.UNA before and after the ACK, and this SND.MAX.
    fn ack(previous_una: u64, snd_una: u64, snd_max: u64) -> Ack {
        Ack { snd_max, ..testing::ack(previous_una, snd_una) }
    }

    /// `tcp_process_loss`, step 3.a: once new data were sent (`after(tp->snd_nxt, tp->high_seq)`),
    /// a duplicate ACK ends F-RTO, and the next ACK of new data continues the conventional
    /// recovery. If none were sent, the next ACK of new data is step 2.b: send new data.
    #[test]
    fn a_duplicate_ends_frto_once_new_data_were_sent() {
        let next = |duplicate: Option<u64>| {
            let mut state = timed_out();
            if let Some(snd_max) = duplicate {
                assert_eq!(state.on_ack(&ack(1, 1, snd_max)), Verdict::Undecided);
            }
            let snd_max = duplicate.unwrap_or(10_001);
            state.on_ack(&ack(1, 1_001, snd_max))
        };
        assert_eq!(next(None), Verdict::SendNew);
        assert_eq!(next(Some(10_001)), Verdict::SendNew, "nothing was sent since the timeout");
        assert_eq!(next(Some(10_002)), Verdict::Undecided);
    }

    /// With the new data of step 2.b in flight, an ACK that advances is step 3.b, and a duplicate
    /// is step 3.a.
    #[test]
    fn the_second_ack_decides() {
        let after = |previous_una, snd_una| {
            let mut state = timed_out();
            assert_eq!(state.on_ack(&ack(1, 1_001, 10_001)), Verdict::SendNew);
            state.on_ack(&ack(previous_una, snd_una, 12_001))
        };
        assert!(matches!(after(1_001, 2_001), Verdict::Spurious(_)));
        assert!(matches!(after(1_001, 1_001), Verdict::Genuine { .. }));
    }

    /// Fast recovery with SACK up to 10,001, with one retransmission of TSval 100.
    fn recovering() -> State {
        let mut state = timed_out();
        state.on_begin(&testing::new_recovery(false, false));
        state.on_retransmission(&testing::retransmission(1, Some(100)));
        state
    }

    /// ACK in recovery that moves SND.UNA from 1 to this position, with this echoed timestamp.
    fn partial(snd_una: u64, echo: u32) -> Ack {
        Ack {
            state: LossState::Recovery,
            sacked: Some(0),
            echo: Some(echo),
            ..ack(1, snd_una, 10_001)
        }
    }

    const fn undo(losses: bool, ends: bool) -> Verdict {
        Verdict::Spurious(UndoScope { losses, ends })
    }

    /// `tcp_try_undo_recovery`: at the end of the recovery, an echo from before the first
    /// retransmission, or reports of all copies, undo it. Without SACK the recovery goes on at its
    /// last position (`tcp_is_non_sack_preventing_reopen`).
    #[test]
    fn the_end_of_a_recovery() {
        let at =
            |snd_una, echo, sacked| recovering().on_ack(&Ack { sacked, ..partial(snd_una, echo) });
        let selective = [98, 99, 100, 101].map(|echo| at(10_001, echo, Some(0)));
        let (ends, undecided) = (undo(false, true), Verdict::Undecided);
        assert_eq!(selective, [ends, ends, undecided, undecided]);
        assert_eq!(at(10_001, 99, None), undo(false, false));
        assert_eq!(at(10_002, 99, None), undo(false, true));
        let reported = Ack { dsack: Some((1, 1_001)), previous_una: 1_001, ..partial(10_001, 100) };
        assert_eq!(recovering().on_ack(&reported), undo(false, true));
    }

    /// `tcp_try_undo_partial`: a partial ACK of an original undoes the recovery, unless copies are
    /// in flight. In both cases the ACK shows reordering.
    #[test]
    fn a_partial_ack_of_an_original() {
        let at = |retransmitted| {
            let mut state = recovering();
            let verdict = state.on_ack(&Ack { retransmitted, ..partial(1_001, 99) });
            (verdict, state.saw_late_original(), state.ignores_new_data_ack())
        };
        assert_eq!(at(0), (undo(true, true), true, false));
        assert_eq!([1, 2].map(at), [(Verdict::Wait, true, false); 2]);
    }

    /// `tcp_is_non_sack_preventing_reopen`: without SACK, and with no copy in flight,
    /// `retrans_stamp` is discarded at the last position of the recovery.
    #[test]
    fn the_time_of_the_first_retransmission_is_discarded_without_sack() {
        let keeps = |sacked, retransmitted, snd_una| {
            let mut state = recovering();
            state.on_ack(&Ack { sacked, retransmitted, ..partial(snd_una, 100) });
            state.retrans_stamp.is_some()
        };
        assert!(!keeps(None, 0, 10_001));
        assert!(keeps(None, 1, 10_001));
        assert!(keeps(None, 0, 10_002));
        assert!(keeps(Some(0), 0, 10_001));
    }

    /// `tcp_process_loss`: with SACK a duplicate does not end F-RTO, although new data were sent.
    #[test]
    fn with_sack_a_duplicate_does_not_end_frto() {
        let mut state = timed_out();
        let selective =
            |previous_una, snd_una| Ack { sacked: Some(0), ..ack(previous_una, snd_una, 10_002) };
        assert_eq!(state.on_ack(&selective(1, 1)), Verdict::Undecided);
        assert!(!state.is_waiting());
        assert_eq!(state.on_ack(&selective(1, 1_001)), Verdict::SendNew);
        assert!(state.is_waiting());
    }

    /// `tcp_process_loss`, FLAG_ORIG_SACK_ACKED: the timeout is undone. Without SACK the loss state
    /// continues when its recovery point is acknowledged.
    #[test]
    fn an_original_undoes_a_timeout() {
        let at = |snd_una, sacked| {
            let original = Some(1_001);
            let ack = Ack { sacked, lowest_original_end: original, ..ack(1, snd_una, 10_001) };
            timed_out().on_ack(&ack)
        };
        assert_eq!(at(5_001, None), undo(true, true));
        assert_eq!(at(10_001, None), undo(true, false));
        assert_eq!(at(10_001, Some(0)), undo(true, true));
    }

    /// `tcp_init_undo`: copies in flight and an unacknowledged probe count as retransmissions.
    /// `tcp_retrans_stamp_cleanup`: without copies, the time of the first retransmission is
    /// discarded.
    #[test]
    fn what_a_recovery_takes_over() {
        let begun = |retransmitted, awaits_probe, first_retransmitted| {
            let mut state = recovering();
            state.on_begin(&NewRecovery {
                retransmitted,
                awaits_probe,
                first_retransmitted,
                ..testing::new_recovery(false, false)
            });
            (state.undo_retrans, state.retrans_stamp.is_some())
        };
        assert_eq!(begun(0, false, false), (None, false));
        assert_eq!(begun(0, true, false), (Some(1), false));
        assert_eq!(begun(2, false, false), (Some(2), true));
        assert_eq!(begun(2, true, true), (Some(3), true));
        assert_eq!(begun(0, false, true), (None, true));
    }

    /// The state is at rest unless an original arrived late, or all retransmissions of a reduction
    /// were reported as duplicates.
    #[test]
    fn the_state_rests_unless_it_undoes() {
        let rests = |undo_marker, undo_retrans, late_original| {
            State { undo_marker, undo_retrans, late_original, ..timed_out() }.ignores_new_data_ack()
        };
        for (marker, left) in [(None, None), (Some(1), Some(1)), (Some(1), None), (None, Some(0))] {
            assert!(rests(marker, left, false), "{marker:?} {left:?}");
        }
        assert!(!rests(Some(1), Some(0), false));
        assert!(!rests(None, None, true));
    }
}
