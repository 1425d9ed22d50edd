//! Was the recovery needed? What an acknowledgment says about it, and the way back.

use super::repair::Relearning;
use super::{Connection, Event};
use crate::congestion_control::CongestionControl;
use crate::loss_detection::LossDetection;
use crate::scoreboard::Delivered;
use crate::spurious::{self, Detector, Response, Verdict};
use retx_wire::Segment;

impl Connection {
    /// Puts an acknowledgment before the detector of spurious recoveries, once a recovery has
    /// begun.
    pub(super) fn judge(
        &mut self,
        segment: &Segment,
        previous_una: u64,
        selective: Option<&Delivered>,
    ) {
        let sender = &mut self.sender;
        if sender.repair.undo.is_none() {
            return;
        }
        let window_end = sender.snd_una + sender.snd_wnd;
        let ack = spurious::Ack {
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
            echo: segment.options.timestamps.filter(|_| self.timestamps).map(|it| it.echo),
            smss: sender.window.smss,
            can_send_new: sender.written > sender.snd_max && window_end > sender.snd_max,
        };
        let verdict = sender.spurious.on_ack(&ack);
        if sender.spurious.saw_late_original() {
            sender.note_late_original(previous_una);
        }
        match verdict {
            Verdict::Undecided => {}
            Verdict::SendNew => {
                sender.snd_nxt = sender.snd_max;
                sender.forced_new = 2;
            }
            Verdict::Genuine { cwnd_segments } => {
                let bound = cwnd_segments * u64::from(sender.window.smss);
                if sender.model.is_none() {
                    sender.window.cwnd = sender.window.cwnd.min(bound);
                }
                sender.forced_new = 0;
                if !sender.tracks {
                    sender.snd_nxt = sender.snd_una;
                }
            }
            Verdict::Spurious => self.undo(ack.snd_una - previous_una, false),
            Verdict::Delayed => self.undo(ack.snd_una - previous_una, true),
        }
    }

    /// Nothing had been lost: nothing is sent again, and the window goes back as the response says.
    /// With `goes_on` the state after a timeout stays.
    fn undo(&mut self, bytes_acked: u64, goes_on: bool) {
        let sender = &mut self.sender;
        let before = if goes_on { sender.repair.undo } else { sender.take_undo() };
        let Some(before) = before else { return };
        let as_linux = sender.loss_detection.as_linux();
        sender.board.made().into_iter().for_each(|board| board.undo(as_linux));
        if !goes_on {
            sender.loss_detection.on_undo();
            sender.timeout_recovery_end = 0;
        }
        sender.snd_nxt = sender.snd_max;
        sender.retransmit_first = false;
        sender.forced_new = 0;
        sender.end_reduction();
        self.ecn.leave_reduction();
        let flight_size = sender.pipe();
        let cwnd = sender.window.cwnd;
        let window = &mut sender.window;
        match sender.spurious.response() {
            Response::FullUndo => {
                self.ecn.withdraw_reduction();
                window.cwnd = window.cwnd.max(before.window.cwnd);
                window.ssthresh = before.window.ssthresh;
            }
            // RFC 4015 §3.2, step 6: an echo of a mark has its own reasons for a smaller window.
            Response::Rfc4015 if self.ecn.is_echo() => {}
            Response::Rfc4015 => {
                // RFC 4015 §3.2, steps 0 and 6: pipe_prev, and the window that goes on from it. A
                // late DSACK acknowledges nothing: it takes nothing away.
                let initial = self.parameters.initial_window.bytes(window.smss);
                window.cwnd = window.cwnd.max(flight_size + bytes_acked.min(initial));
                window.ssthresh = before.flight_size.max(before.window.ssthresh);
                let granularity = self.parameters.limits.granularity;
                // Step 0: SRTT_prev.
                let raised = |(srtt, rttvar)| (srtt + granularity * 2, rttvar);
                let from = sender.snd_max;
                sender.repair.relearning =
                    before.rtt.map(|rtt| Relearning { from, least: raised(rtt) });
            }
            Response::Conservative => window.cwnd = window.ssthresh,
        }
        if sender.model.is_some() {
            window.cwnd = cwnd;
        }
        sender.clamp_cwnd();
        sender.congestion_control.on_undo(&mut sender.window);
        if !goes_on {
            self.events.push_back(Event::Recovered { cwnd: self.sender.window.cwnd });
        }
    }
}
