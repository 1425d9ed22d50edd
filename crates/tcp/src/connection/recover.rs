//! Reactions of a sender to a loss, as requested by loss detection.

use super::reduction::{RecoveryAck, Reduction};
use super::undo::RecoveryStart;
use super::{Connection, Episode, Event};
use crate::backoff::Backoff;
use crate::congestion_control::{CongestionControl, Window};
use crate::loss_cause::Cause;
use crate::loss_detection::{LossDetection, Reaction};
use crate::scoreboard::Scoreboard;
use retx_units::Time;

/// Progress made by an acknowledgment; all zero when a timer has expired.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// Bytes newly acknowledged.
    pub bytes_acked: u64,
    /// Bytes newly delivered (`DeliveredData`).
    pub delivered: u64,
}

impl Connection {
    /// Carries out the reaction that loss detection requests after an acknowledgment.
    pub(super) fn react(&mut self, now: Time, reaction: Reaction, progress: Progress) {
        let smss = u64::from(self.sender.window.smss);
        match reaction {
            Reaction::Nothing => {}
            Reaction::LimitedTransmit => {
                if self.parameters.limited_transmit {
                    // RFC 3042 §2: at most two segments beyond cwnd.
                    self.sender.limited_credit = (self.sender.limited_credit + 1).min(2);
                }
            }
            Reaction::FastRetransmit => {
                self.on_loss(now, None);
                // RFC 5681 §3.2, step 3: inflate the window by the segments that have left the
                // network.
                let left = self.sender.dupacks.min(self.parameters.dupack_threshold);
                self.sender.window.cwnd += u64::from(left) * smss;
                self.sender.retransmit_first = true;
                self.sender.overdue_checks = 2;
                self.repeat_window();
            }
            Reaction::SelectiveRecovery => self.begin_selective_recovery(now, progress),
            Reaction::ProbeRepairedLoss { position } => {
                self.on_loss(now, Some(position));
                self.events.push_back(Event::Recovered { cwnd: self.sender.window.cwnd });
            }
            Reaction::GoBackN => {
                self.on_loss(now, None);
                self.sender.snd_nxt = self.sender.snd_una;
                self.sender.timeout_recovery_end = self.sender.snd_max;
            }
            // RFC 5681 §3.2, step 4: inflate the window by one segment.
            Reaction::Inflate => self.sender.window.cwnd += smss,
            Reaction::PartialAck { .. } => {
                let window = &mut self.sender.window;
                // RFC 6582 §3.2, step 3: deflate the window by the data acknowledged.
                window.cwnd = window.cwnd.saturating_sub(progress.bytes_acked).max(smss);
                if progress.bytes_acked >= smss {
                    window.cwnd += smss;
                }
                self.sender.retransmit_first = true;
            }
            Reaction::NextRecovery => {
                self.react(now, Reaction::EndRecovery, progress);
                self.react(now, Reaction::SelectiveRecovery, progress);
            }
            Reaction::EndRecovery => {
                // RFC 5681 §3.2, step 6: deflate the window to ssthresh.
                let sender = &mut self.sender;
                sender.end_cwnd_reduction();
                sender.end_reduction();
                sender.congestion_control.on_recovery_end(&mut sender.window, now);
                self.events.push_back(Event::Recovered { cwnd: self.sender.window.cwnd });
            }
        }
    }

    /// Begins a recovery with a scoreboard.
    fn begin_selective_recovery(&mut self, now: Time, progress: Progress) {
        let cwnd_before = self.sender.window.cwnd;
        // Linux `tcp_enter_recovery`: a reduction by ECN-Echo in progress continues, and determines
        // how much may be sent.
        let continues = self.ecn.is_reducing();
        self.on_loss(now, None);
        let sender = &mut self.sender;
        if sender.loss_detection.proportional_rate_reduction() {
            let left = sender.flight_size().saturating_sub(sender.board.sacked_bytes());
            if !sender.loss_detection.as_linux() {
                sender.repair.reduction = Some(Reduction::new(left + progress.delivered));
            } else if !continues {
                let whole = Reduction::whole_segments(cwnd_before, sender.window.smss);
                sender.repair.reduction = Some(whole);
            }
            self.ecn.leave_reduction();
        }
        self.sender.retransmit_first = !continues;
        // `rescue_rxt` is set once the first retransmission is sent.
        self.sender.repair.rescue_rxt = u64::MAX;
        self.sender.repair.high_rxt = self.sender.snd_una;
        self.repeat_window();
    }

    /// Recovery point of a recovery that begins now. During a reduction by ECN-Echo, it is the end
    /// of that reduction (Linux `tcp_enter_recovery`).
    pub(super) fn next_recovery_point(&self) -> u64 {
        if self.ecn.is_reducing() { self.ecn.echo_recover() } else { self.sender.snd_max }
    }

    /// Handles an acknowledgment of new data. On the first two such acknowledgments after a fast
    /// retransmit, Vegas checks whether the segment that is now the first in flight is overdue,
    /// too. If so, it is retransmitted, without another reduction of the window (Brakmo & Peterson
    /// 1995, §3.1).
    pub(super) fn recheck_overdue(&mut self, overdue: bool) {
        let sender = &mut self.sender;
        if sender.overdue_checks == 0 {
            return;
        }
        sender.overdue_checks = if overdue { sender.overdue_checks - 1 } else { 0 };
        sender.retransmit_first |= overdue;
    }

    /// Retransmits all unacknowledged data, if the congestion control asks for it.
    fn repeat_window(&mut self) {
        let sender = &mut self.sender;
        if !sender.congestion_control.repeats_window() {
            return;
        }
        if sender.uses_scoreboard {
            sender.board.mark_all_lost();
        } else {
            sender.snd_nxt = sender.snd_una;
            sender.retransmit_first = false;
        }
    }

    /// Handles a loss that was detected by duplicate ACKs, or that a tail loss probe has found and
    /// repaired: infers the cause, and reduces the window. `repaired` is the position of the
    /// repaired segment.
    fn on_loss(&mut self, now: Time, repaired: Option<u64>) {
        let reduced = self.is_reduced_by_echo();
        let sender = &mut self.sender;
        let cwnd_before = sender.window.cwnd;
        let same_window_of_data = if repaired.is_some() && sender.loss_detection.as_linux() {
            // `tcp_process_tlp_ack`: the window is not saved for an undo. The `cwnd` that an
            // earlier recovery has saved is replaced by the present one.
            if let Some(undo) = &mut sender.repair.undo {
                undo.window.cwnd = cwnd_before;
            }
            true
        } else {
            let in_recovery = sender.snd_una < sender.timeout_recovery_end;
            let begins = RecoveryStart {
                by_timeout: false,
                in_recovery: in_recovery && !sender.loss_detection.as_linux(),
                after_echo: self.ecn.is_reducing(),
                recovery_point: self.next_recovery_point(),
            };
            let same_window_of_data = self.sender.begin_recovery(&begins);
            if self.sender.loss_detection.as_linux() {
                // `tcp_enter_recovery`: the recovery after a timeout is over, and its reduction is
                // final.
                self.sender.timeout_recovery_end = 0;
            }
            same_window_of_data
        };
        let sender = &mut self.sender;
        let inferred_cause = sender.infer_loss_cause(now, false);
        if inferred_cause == Cause::Congestion && !reduced {
            let loss = sender.loss_summary(now);
            sender.congestion_control.on_loss(&mut sender.window, &loss);
            self.ecn.on_reduction(sender.snd_max);
        } else if inferred_cause == Cause::Congestion && self.ecn.is_reducing() {
            let loss = sender.loss_summary(now);
            sender.congestion_control.on_loss_during_reduction(&mut sender.window, &loss);
            sender.repair.cwnd_after_recovery = sender.window.ssthresh;
        }
        sender.limited_credit = 0;
        sender.limited_bytes = 0;
        sender.timed = None;
        if !self.ecn.is_reducing() {
            // `tcp_end_cwnd_reduction`: in Linux the window after recovery is ssthresh. Otherwise
            // it is cwnd, because in Vegas (1995) ssthresh is not meant as a window.
            let to_threshold =
                inferred_cause == Cause::Congestion && sender.loss_detection.as_linux();
            let Window { cwnd, ssthresh, .. } = sender.window;
            sender.repair.cwnd_after_recovery =
                if to_threshold && !reduced { ssthresh.max(cwnd) } else { cwnd };
        }
        // If no lost segment waits for its retransmission, all lost segments were retransmitted in
        // the previous recovery, and the first of them counts as the trigger.
        let lost = sender.board.allocated_mut().and_then(Scoreboard::next_to_retransmit);
        let lost = lost.map(|(position, _)| position);
        let again =
            sender.board.first_marked_lost().filter(|_| repaired.is_none() && lost.is_none());
        let repaired = repaired.or(again);
        let episode = Episode {
            trigger: repaired.or(lost).unwrap_or(sender.snd_una),
            repaired: repaired.is_some(),
            inferred_cause,
            cwnd_before,
            cwnd_after: sender.window.cwnd,
            rto: self.rto(),
            backoff: self.sender.backoff.exponent(),
            same_window_of_data,
            stale_timer: false,
        };
        self.events.push_back(Event::LossFound(episode));
    }

    /// Sets the window in a recovery with proportional rate reduction, at each ACK and when the
    /// timer detects a loss.
    pub(super) fn apply_rate_reduction(&mut self, progress: Progress, nothing_newly_lost: bool) {
        let sender = &mut self.sender;
        let pipe = sender.pipe();
        let Some(repair) = sender.repair.allocated_mut() else { return };
        let ssthresh = repair.cwnd_after_recovery;
        let Some(reduction) = &mut repair.reduction else { return };
        if progress.delivered == 0 && reduction.prr_out > 0 {
            // RFC 9937 §6: an ACK that delivers no data leaves the window as it is, because
            // segments that an earlier ACK allowed may not have been sent yet.
            return;
        }
        sender.window.cwnd = reduction.cwnd(&RecoveryAck {
            delivered: progress.delivered,
            pipe,
            ssthresh,
            smss: sender.window.smss.into(),
            safe_ack: progress.bytes_acked > 0 && nothing_newly_lost,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::SeqNr;

    const SMSS: u32 = 1_000;

    /// Sender in a recovery with five segments in flight and an ssthresh of eight segments, which
    /// has sent `out` bytes since the recovery began (`prr_out`).
    fn recovering(out: u64) -> Connection {
        let config = (crate::presets::find("sack").expect("a preset").config)();
        let mut connection = Connection::connect(&config, SeqNr(0));
        let sender = &mut connection.sender;
        (sender.snd_una, sender.snd_nxt, sender.snd_max) = (1, 5_001, 5_001);
        sender.window = Window { cwnd: 5_000, ssthresh: 8_000, smss: SMSS };
        sender.repair.cwnd_after_recovery = 8_000;
        let reduction = sender.repair.reduction.insert(Reduction::new(16_000));
        reduction.prr_out = out;
        connection
    }

    /// RFC 9937 §6: if DeliveredData is 0, the ACK changes nothing. The ACK before it was a SafeACK
    /// of one segment: sndcnt = max(1000 − 1000, 1000) + 1000. These two segments have not been
    /// sent, and a new computation of sndcnt would take them back.
    #[test]
    fn an_ack_that_delivers_nothing_keeps_the_window() {
        let mut connection = recovering(1_000);
        connection.apply_rate_reduction(Progress { bytes_acked: 1_000, delivered: 1_000 }, true);
        assert_eq!(connection.sender.window.cwnd, 5_000 + 2_000);
        connection.apply_rate_reduction(Progress::default(), true);
        assert_eq!(connection.sender.window.cwnd, 7_000);
    }

    /// An ACK is no SafeACK if it acknowledges nothing cumulatively or finds another loss: sndcnt
    /// is then what was delivered, without the additional segment.
    #[test]
    fn a_safe_ack_advances_and_finds_no_loss() {
        let window = |bytes_acked, nothing_newly_lost| {
            let mut connection = recovering(1_000);
            connection.apply_rate_reduction(
                Progress { bytes_acked, delivered: 1_000 },
                nothing_newly_lost,
            );
            connection.sender.window.cwnd
        };
        assert_eq!([window(1, true), window(1, false)], [7_000, 6_000]);
        assert_eq!([window(0, true), window(0, false)], [6_000, 6_000]);
    }

    /// RFC 9937 §6: "if (prr_out is 0 AND sndcnt is 0)" one segment is sent, the fast retransmit.
    /// Here a timer has begun the recovery, so no data were delivered.
    #[test]
    fn a_timer_that_begins_a_recovery_allows_its_retransmission() {
        let mut connection = recovering(0);
        connection.apply_rate_reduction(Progress::default(), false);
        assert_eq!(connection.sender.window.cwnd, 6_000);
    }
}
