//! Undo of recoveries that acknowledgments have shown to be unnecessary.

use super::repair::{RttRestart, Undo};
use super::{Connection, Event, LossState, Sender};
use crate::congestion_control::CongestionControl;
use crate::loss_detection::LossDetection;
use crate::rto::Estimator;
use crate::scoreboard::{Delivered, Scoreboard};
use crate::spurious::{self, Detector, Response, UndoScope, Verdict};
use retx_wire::Segment;

/// Start of a recovery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecoveryStart {
    /// True if the retransmission timer began this recovery.
    pub by_timeout: bool,
    /// True if another recovery, for the same window of data, is in progress.
    pub in_recovery: bool,
    /// True if the window is being reduced already by ECN-Echo.
    pub after_echo: bool,
    /// Position whose acknowledgment ends the recovery.
    pub recovery_point: u64,
}

impl Sender {
    /// Saves the window for an undo before it is reduced, and informs the detector of spurious
    /// recoveries. Returns true for a recovery within another one, which concerns the same window
    /// of data.
    pub fn begin_recovery(&mut self, begins: &RecoveryStart) -> bool {
        let &RecoveryStart { by_timeout, in_recovery, after_echo, recovery_point } = begins;
        // `consecutive_timeouts` includes the current timeout.
        let repeated = by_timeout && self.consecutive_timeouts > 1;
        let same_window_of_data = in_recovery && self.repair.undo.is_some();
        if !same_window_of_data {
            let estimator = &self.estimator;
            let rtt = estimator.srtt().zip(estimator.rttvar()).filter(|_| by_timeout);
            let (window, flight_size) = (self.window, self.flight_size());
            let undo = Undo { window, flight_size, rtt, keeps_reduction: after_echo };
            self.repair.undo = Some(undo);
        }
        self.repair.defers_marking = false;
        self.spurious.on_begin(&spurious::NewRecovery {
            by_timeout,
            in_recovery,
            repeated,
            recovery_point,
            awaits_probe: self.loss_detection.open_probe().is_some(),
            retransmitted: self.board.retransmitted_segments(),
            first_retransmitted: self.board.is_first_retransmitted(),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
        });
        same_window_of_data
    }
}

impl Connection {
    /// Passes an acknowledgment to the detector of spurious recoveries, once a recovery has begun.
    pub(super) fn detect_spurious(
        &mut self,
        segment: &Segment,
        previous_una: u64,
        selective: Option<&Delivered>,
    ) {
        let Some(repair) = self.sender.repair.allocated_mut() else { return };
        repair.defers_marking = false;
        if repair.undo.is_none() {
            return;
        }
        self.note_echo_in_recovery();
        let ack = self.seen_by_detector(segment, previous_una, selective);
        let sender = &mut self.sender;
        let verdict = sender.spurious.on_ack(&ack);
        if sender.spurious.saw_late_original() {
            sender.note_late_original(previous_una);
        }
        match verdict {
            Verdict::Undecided => {}
            Verdict::Wait => sender.repair.defers_marking = true,
            // F-RTO sends up to two new segments to test the timeout (RFC 5682 §2.1, step 2b).
            Verdict::SendNew => {
                sender.snd_nxt = sender.snd_max;
                sender.frto_segments = 2;
            }
            Verdict::Genuine { cwnd_segments } => {
                let bound = cwnd_segments * u64::from(sender.window.smss);
                if sender.model_inputs.is_none() {
                    sender.window.cwnd = sender.window.cwnd.min(bound);
                }
                sender.frto_segments = 0;
                // Without a scoreboard everything in flight is sent again (go-back-N).
                if !sender.uses_scoreboard {
                    sender.snd_nxt = sender.snd_una;
                }
            }
            Verdict::Spurious(scope) => self.undo(ack.snd_una - previous_una, scope),
        }
    }

    fn seen_by_detector(
        &self,
        segment: &Segment,
        previous_una: u64,
        selective: Option<&Delivered>,
    ) -> spurious::Ack {
        let sender = &self.sender;
        let window_end = sender.snd_una + sender.snd_wnd;
        spurious::Ack {
            state: self.loss_state(),
            previous_una,
            snd_una: sender.snd_una,
            snd_max: sender.snd_max,
            highest: selective.map_or(sender.snd_una, |delivered| {
                let newest = delivered.newest.map_or(0, |newest| newest.end);
                sender.snd_una.max(if delivered.sacked > 0 { newest } else { 0 })
            }),
            retransmitted: sender.board.retransmitted_segments(),
            sacked: selective.map(|delivered| delivered.sacked),
            lowest_original_end: selective
                .map_or(sender.repair.original_end, |delivered| delivered.lowest_original_end),
            dsack: selective.and_then(|delivered| delivered.dsack),
            dsacked_in_flight: selective.map_or(0, |delivered| delivered.dsacked_in_flight),
            echo: segment.options.timestamps.filter(|_| self.timestamps).map(|it| it.echo),
            smss: sender.window.smss,
            can_send_new: sender.written > sender.snd_max && window_end > sender.snd_max,
        }
    }

    /// Handles ECN-Echo, which proves congestion: the reduction in force stays, even if its
    /// retransmissions turn out to be unnecessary (RFC 4015 §3.2, step 6; Linux
    /// `tcp_fastretrans_alert`).
    fn note_echo_in_recovery(&mut self) {
        if self.ecn.is_echo()
            && let Some(undo) = &mut self.sender.repair.undo
        {
            undo.keeps_reduction = true;
        }
    }

    /// Loss recovery state; [`LossState::Disorder`] is reported as [`LossState::Open`].
    pub(super) fn loss_state(&self) -> LossState {
        if self.sender.timeout_recovery_end > 0 {
            LossState::Loss
        } else if self.sender.loss_detection.in_recovery() {
            LossState::Recovery
        } else if self.ecn.is_reducing() {
            LossState::Cwr
        } else {
            LossState::Open
        }
    }

    /// Undoes a recovery that was not due to a loss: ends retransmissions, and restores the window
    /// as the configured response says.
    fn undo(&mut self, bytes_acked: u64, scope: UndoScope) {
        let state = self.loss_state();
        let sender = &mut self.sender;
        let before = if scope.ends { sender.take_undo() } else { sender.repair.undo };
        let Some(before) = before else { return };
        let as_linux = sender.loss_detection.as_linux();
        if scope.losses {
            sender.board.allocated_mut().into_iter().for_each(Scoreboard::undo);
        }
        let was_repairing = matches!(state, LossState::Recovery | LossState::Loss);
        // In Linux a late DSACK may undo a reduction after the recovery has ended: there is then no
        // recovery to leave.
        if scope.ends && (was_repairing || !as_linux) {
            sender.loss_detection.on_undo();
            sender.timeout_recovery_end = 0;
        }
        sender.snd_nxt = sender.snd_max;
        sender.retransmit_first = false;
        sender.frto_segments = 0;
        if scope.ends || state != LossState::Recovery {
            sender.end_reduction();
            self.ecn.leave_reduction();
        }
        // A model of the path restores its window itself (`on_undo`).
        let cwnd = self.sender.window.cwnd;
        if !before.keeps_reduction {
            self.restore_window(&before, bytes_acked);
        }
        let sender = &mut self.sender;
        // If a reduction is in progress, its target becomes the restored threshold.
        sender.repair.cwnd_after_recovery = sender.window.ssthresh;
        if sender.model_inputs.is_some() {
            sender.window.cwnd = cwnd;
        }
        sender.clamp_cwnd();
        sender.congestion_control.on_undo(&mut sender.window);
        let is_restored = !before.keeps_reduction && sender.spurious.response().restores_window();
        if scope.ends {
            if is_restored {
                self.events.push_back(Event::Undone);
            }
            self.events.push_back(Event::Recovered { cwnd: self.sender.window.cwnd });
        }
    }

    fn restore_window(&mut self, before: &Undo, bytes_acked: u64) {
        let sender = &mut self.sender;
        let flight_size = sender.pipe();
        let window = &mut sender.window;
        match sender.spurious.response() {
            // Linux `tcp_undo_cwnd_reduction`, with `tcp_current_ssthresh`.
            Response::FullUndo if sender.loss_detection.as_linux() => {
                window.cwnd = window.cwnd.max(before.window.cwnd);
                let ssthresh = before.window.current_ssthresh();
                if ssthresh > window.ssthresh {
                    window.ssthresh = ssthresh;
                    self.ecn.withdraw_reduction();
                }
            }
            Response::FullUndo => {
                self.ecn.withdraw_reduction();
                window.cwnd = window.cwnd.max(before.window.cwnd);
                window.ssthresh = before.window.ssthresh;
            }
            Response::Rfc4015 => {
                // RFC 4015 §3.2, steps 0 and 6: cwnd becomes FlightSize plus the data acknowledged,
                // ssthresh becomes pipe_prev. A late DSACK acknowledges no data, and must not
                // reduce the window.
                let initial = self.parameters.initial_window.bytes(window.smss);
                window.cwnd = window.cwnd.max(flight_size + bytes_acked.min(initial));
                window.ssthresh = before.flight_size.max(before.window.ssthresh);
                let granularity = self.parameters.limits.granularity;
                // Step 0: SRTT_prev = SRTT + 2·G.
                let raised = |(srtt, rttvar)| (srtt + granularity * 2, rttvar);
                let from = sender.snd_max;
                sender.repair.rtt_restart =
                    before.rtt.map(|rtt| RttRestart { from, least: raised(rtt) });
            }
            Response::Conservative => window.cwnd = window.ssthresh,
        }
    }
}
