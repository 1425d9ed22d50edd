//! Fast paths of connections with more work for each segment (see `detailed.rs`) while segments in
//! flight are lost or selectively acknowledged: acknowledgments that report one new SACK block, and
//! new data that a sender sends meanwhile. Retransmissions, and acknowledgments of new data, take
//! the general path.

use super::{Connection, Sender, Sending};
use crate::connection::Transmit;
use crate::connection::outgoing::Outcome;
use crate::connection::recover::Progress;
use crate::connection::timeout::ProbeRestart;
use crate::loss_detection::{self, LossDetection, Reaction};
use crate::scoreboard::Delivered;
use crate::spurious::Detector;
use crate::{congestion_control, loss_cause};
use retx_units::Time;
use retx_wire::{Flags, Segment};

impl Sender {
    /// True if new data can be sent on this path as long as no retransmission or probe is due.
    pub(super) fn can_send_beyond_losses(&self) -> bool {
        let counts =
            self.timeout_recovery_end | u64::from(self.limited_credit | self.frto_segments);
        counts == 0
            && !(self.fin_queued | self.zero_window_probe_due | self.tail_probe_due)
            && self.snd_nxt == self.snd_max
            && !self.loss_detection.guesses()
            && self.bounded_smss() == u64::from(self.window.smss)
    }

    /// True if a lost segment is to be retransmitted before any new data, or a probe is due.
    #[inline(always)]
    fn has_to_repair(&self) -> bool {
        let asked = self.retransmit_first | self.tail_probe_due | self.zero_window_probe_due;
        // While the congestion window has no room for a segment, lost ones wait, too.
        asked
            || self.board.lost_bytes() > 0
                && self.window.cwnd >= self.pipe() + u64::from(self.window.smss)
    }

    /// Counts new data for proportional rate reduction, or as data of limited transmit.
    #[inline(always)]
    pub(super) fn count_beyond_losses(&mut self, length: u64) {
        if let Some(reduction) = self.reduction() {
            reduction.prr_out += length;
        }
        // RFC 6675 §5, step 4.2: data of limited transmit do not count in FlightSize.
        if self.board.sacked_bytes() > 0 && !self.loss_detection.in_recovery() {
            self.limited_bytes += length;
        }
    }
}

impl Connection {
    /// Handles an acknowledgment of no new data whose first SACK block is the only new one. Returns
    /// false, without any effect, in other cases.
    #[inline(never)]
    pub(super) fn handle_sack_in_detail(&mut self, now: Time, segment: &Segment) -> bool {
        let snd_una = self.sender.snd_una;
        let is_ack = segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0;
        let bare = is_ack && segment.payload_bytes == 0 && !segment.loss_notice;
        let next = segment.seq == self.rcv_nxt_seq() && segment.ack == self.seq_at(snd_una);
        let timestamps = segment.options.timestamps;
        if !bare || !next || !self.has_good_timestamps(timestamps) {
            return false;
        }
        let Some(block) = self.only_new_block(segment) else { return false };
        self.note_timestamp(timestamps);
        self.use_up_echo(timestamps);
        self.note_response(now);
        let sender = &mut self.sender;
        sender.close_train();
        sender.prepare_model();
        let board = &mut *sender.board;
        board.note_sack(&segment.options.sack);
        let delivered = board.acknowledge_block(block);
        let window = self.scaled_window(segment.window);
        let same_advertised_window = window == self.sender.snd_wnd;
        self.update_window(self.receiver.rcv_nxt, snd_una, window);
        // With SACK, an acknowledgment that repeats the window is a duplicate (`is_duplicate`).
        if delivered.sacked > 0 || same_advertised_window {
            self.sample_sack_rtt(now, &delivered);
            if !self.sack_keeps_recovery() {
                self.detect_spurious(segment, snd_una, Some(&delivered));
            }
            if !self.decide_in_recovery(now, &delivered) {
                self.on_duplicate_ack(now, Some(&delivered), false);
            }
        }
        if delivered.reordered.is_some() {
            self.sender.forget_known_bursts();
        }
        self.check_send_memory_next(now);
        // In a recovery that continues, new data can be sent as before.
        if !self.sender.loss_detection.in_recovery() {
            self.recompute_fast_paths();
        }
        true
    }

    /// Like [`Connection::on_duplicate_ack`] in a recovery by RACK with BBR that continues: only
    /// RACK and the model evaluate the acknowledgment. Returns false, without any effect, in other
    /// cases.
    #[inline(always)]
    fn decide_in_recovery(&mut self, now: Time, delivered: &Delivered) -> bool {
        let sender = &mut self.sender;
        let is_bbr = matches!(sender.congestion_control, congestion_control::State::bbr(_))
            && matches!(sender.loss_cause, loss_cause::State::none(_));
        let snd_una = sender.snd_una;
        let continues = match &sender.loss_detection {
            loss_detection::State::rack(rack) => rack.continues_recovery(snd_una),
            _ => false,
        };
        let is_new = sender.last_una != snd_una;
        if !is_bbr || is_new || delivered.dsack.is_some() || !continues {
            return false;
        }
        sender.dupacks += 1;
        let seen = sender.ack_of_sack(now, self.parameters.dupack_threshold, delivered);
        let reaction = match &mut sender.loss_detection {
            loss_detection::State::rack(rack) => rack.on_ack_in_recovery(&seen, &mut sender.board),
            _ => Reaction::Nothing,
        };
        if reaction == Reaction::Nothing {
            // A model sets the window by itself, without proportional rate reduction.
            sender.end_reduction();
            sender.limited_credit = 0;
        } else {
            let progress = Progress { bytes_acked: 0, delivered: delivered.bytes };
            self.react_with_model(now, reaction, progress);
        }
        self.update_model_by_sack(now, delivered);
        self.schedule_loss_detection(now, ProbeRestart::None);
        let sender = &self.sender;
        if sender.loss_detection.as_linux() && sender.has_sack_of_earlier_data(Some(delivered)) {
            self.restart_known_timer(now);
        }
        true
    }

    /// Like [`Self::detect_spurious`] for an acknowledgment that only reports new data. Returns
    /// false if that function has to decide.
    #[inline(always)]
    fn sack_keeps_recovery(&mut self) -> bool {
        let sender = &mut self.sender;
        let Some(repair) = sender.repair.allocated_mut() else { return true };
        repair.defers_marking = false;
        let in_loss_state = sender.timeout_recovery_end > 0;
        repair.undo.is_none() || !in_loss_state && sender.spurious.ignores_sack(sender.snd_una)
    }

    /// Result of a write, on a detailed path, if neither a model nor the memory of the send buffer
    /// has to be asked: a model is limited by the application only if there is less than a segment
    /// to send. `None` if the general path has to decide.
    #[inline(always)]
    pub(in crate::connection) fn write_in_detail(&mut self, bytes: u64) -> Option<u64> {
        let is_open =
            matches!(self.fast_paths.sending, Sending::Detailed | Sending::DetailedRepair);
        if !is_open || self.receiver.ack_now {
            return None;
        }
        match &self.sender.bursts.memory {
            Some(memory) => memory.write_blocked.then_some(0),
            None if self.has_full_segment() => {
                Some(self.sender.write_within(bytes, self.parameters.send_buffer))
            }
            None => None,
        }
    }

    /// Like [`Self::send_detailed`], while segments in flight are lost or selectively acknowledged.
    #[inline(never)]
    pub(in crate::connection) fn send_beyond_losses(
        &mut self,
        now: Time,
        to: &mut Transmit,
    ) -> Option<Outcome> {
        if self.sender.bursts.repeat.is_open(now) {
            return None;
        }
        if !self.sender.bursts.burst.is_open(now) && self.is_delayed_by_pacing(now) {
            return Some(self.acknowledge_in_detail(now, to));
        }
        let sender = &self.sender;
        let flight = sender.flight_size();
        if sender.has_to_repair() || flight == 0 || self.timers.retransmit == Time::NEVER {
            return None;
        }
        let offered = sender.snd_wnd.saturating_sub(flight);
        let room = sender.window.cwnd.saturating_sub(sender.pipe()).min(offered);
        self.send_within::<true>(now, room, to)
    }
}
