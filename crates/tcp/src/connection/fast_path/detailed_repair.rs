//! Fast paths of connections with more work for each segment (see `detailed.rs`) while segments in
//! flight are lost or selectively acknowledged: acknowledgments that report one new SACK block, new
//! data that a sender sends meanwhile, and the acknowledgments of a receiver with a gap.
//! Retransmissions, and acknowledgments of new data, take the general path.

use super::{Connection, FastPathResult, Sender};
use crate::connection::{PlainTransmit, Transmit};
use crate::loss_detection::LossDetection;
use crate::scoreboard::Delivered;
use retx_units::Time;
use retx_wire::{Ecn, Flags, Options, Segment};

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
    pub(super) fn count_beyond_losses(&mut self, length: u32) {
        let length = u64::from(length);
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
        self.note_response(now);
        let sender = &mut self.sender;
        sender.prepare_model();
        let mut delivered = Delivered { has_sack: true, ..Delivered::default() };
        let board = &mut *sender.board;
        board.note_sack(&segment.options.sack);
        board.acknowledge(snd_una, &[block], &mut delivered);
        let window = self.scaled_window(segment.window);
        let same_advertised_window = window == self.sender.snd_wnd;
        self.update_window(self.receiver.rcv_nxt, snd_una, window);
        // With SACK, an acknowledgment that repeats the window is a duplicate (`is_duplicate`).
        self.take_old_or_duplicate(now, segment, Some(&delivered), same_advertised_window);
        self.check_send_memory(now);
        // In a recovery that continues, new data can be sent as before.
        if !self.sender.loss_detection.in_recovery() {
            self.recompute_fast_paths();
        }
        true
    }

    /// Like [`Self::send_detailed`], while segments in flight are lost or selectively acknowledged.
    #[inline(never)]
    pub(in crate::connection) fn send_beyond_losses(&mut self, now: Time) -> FastPathResult {
        if !self.sender.bursts.burst.is_open(now) && self.is_delayed_by_pacing(now) {
            return self.acknowledge_in_detail(now);
        }
        let sender = &self.sender;
        let flight = sender.flight_size();
        if sender.has_to_repair() || flight == 0 || self.timers.retransmit == Time::NEVER {
            return FastPathResult::Unknown;
        }
        let queued = sender.written - sender.snd_nxt;
        if queued == 0 {
            return self.acknowledge_in_detail(now);
        }
        let smss = u64::from(sender.window.smss);
        let offered = sender.snd_wnd.saturating_sub(flight);
        let room = sender.window.cwnd.saturating_sub(sender.pipe()).min(offered);
        if queued.min(room) < smss {
            if sender.waits_with(room, queued) && !sender.bursts.burst.is_open(now) {
                return self.acknowledge_in_detail(now);
            }
            return FastPathResult::Unknown;
        }
        if self.defers_transmission(now, self.sender.window.smss) {
            return self.acknowledge_in_detail(now);
        }
        let sent = self.send_next_in_detail::<true>(now);
        let may_send_more =
            self.sender.bursts.burst.is_open(now) || !self.is_delayed_by_pacing(now);
        FastPathResult::Sent(PlainTransmit { may_send_more, ..sent })
    }

    /// Sends an acknowledgment with SACK blocks, if one is due and there is nothing else to send.
    #[inline(never)]
    pub(super) fn acknowledge_gap_in_detail(
        &mut self,
        now: Time,
        to: &mut Transmit,
    ) -> FastPathResult {
        if !self.sender.is_quiescent() {
            return FastPathResult::Unknown;
        }
        if !self.receiver.ack_now {
            return FastPathResult::Nothing;
        }
        let position = self.sender.ack_position();
        let (window, edge) = self.window_field_and_shortage();
        *to = Transmit {
            segment: Segment {
                seq: self.seq_at(position),
                ack: self.rcv_nxt_seq(),
                window,
                flags: Flags::ACK,
                payload_bytes: 0,
                loss_notice: false,
                options: Options {
                    timestamps: self.timestamps_at(now),
                    sack: self.blocks(),
                    ..Options::default()
                },
            },
            ecn: Ecn::NotEct,
            position,
            retransmission: false,
        };
        self.receiver.pending.on_ack_sent(now, false);
        self.receiver.on_ack_sent(&mut self.timers, edge);
        FastPathResult::Written
    }
}
