//! Fast paths of a recovery: duplicate ACKs, which mark segments or, without SACK, inflate the
//! window, and new data sent meanwhile. Retransmissions, and acknowledgments of new data, take the
//! general path.

use super::{Connection, Sender, Sending};
use crate::connection::Transmit;
use crate::connection::acknowledge::first_block_within_second;
use crate::connection::outgoing::Outcome;
use crate::loss_detection::{self, LossDetection, Reaction};
use crate::rto::Estimator;
use crate::scoreboard::Delivered;
use crate::spurious;
use retx_units::{SeqNr, Time};
use retx_wire::{Flags, Segment};

impl Sender {
    /// True in a recovery in which a duplicate ACK only marks segments or inflates the window.
    pub fn is_repairing(&self) -> bool {
        let asked = self.tail_probe_due | self.zero_window_probe_due | self.fin_queued;
        let counts = self.timeout_recovery_end
            | u64::from(self.frto_segments | self.limited_credit | self.overdue_checks);
        self.loss_detection.only_repairs(self.selective)
            && self.uses_scoreboard == self.selective
            && counts == 0
            && !asked
            && self.snd_nxt == self.snd_max
            && self.repair.reduction.is_none()
            && (self.without_times || !self.selective)
            && matches!(self.spurious, spurious::State::none(_))
    }

    /// Acknowledgment of no new data, as loss detection sees it; `delivered` has been recorded on
    /// the scoreboard.
    #[inline(always)]
    pub(super) fn ack_of_sack<'a>(
        &self,
        now: Time,
        dupack_threshold: u32,
        delivered: &'a Delivered,
    ) -> loss_detection::Ack<'a> {
        loss_detection::Ack {
            now,
            srtt: self.estimator.srtt(),
            least_rtt: self.least_rtt,
            has_rtt_sample: false,
            bytes_acked: 0,
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            recovery_point: self.snd_max,
            defers_marking: self.repair.defers_marking,
            dupack_threshold,
            overdue: false,
            smss: self.window.smss,
            selective: Some(delivered),
        }
    }
}

impl Connection {
    /// Handles a duplicate ACK of a connection without SACK. Returns false, without any effect, in
    /// other cases.
    #[inline(never)]
    pub(super) fn handle_plain_dupack(&mut self, ack: SeqNr, window: u16) -> bool {
        let sender = &self.sender;
        let snd_una = sender.snd_una;
        let same = ack == self.seq_at(snd_una) && self.scaled_window(window) == sender.snd_wnd;
        // A duplicate ACK acknowledges nothing and repeats the advertised window while data are in
        // flight (RFC 5681 §2).
        if sender.selective || !same || sender.flight_size() == 0 {
            return false;
        }
        self.update_window(self.receiver.rcv_nxt, snd_una, self.sender.snd_wnd);
        let sender = &mut self.sender;
        sender.dupacks += 1;
        sender.delivered_data(0, None);
        sender.last_una = snd_una;
        // The segment that caused the duplicate ACK has left the network (RFC 5681 §3.2, step 4).
        sender.window.cwnd += u64::from(sender.window.smss);
        true
    }

    /// Handles a segment with SACK blocks, if a fast path for it is open.
    #[inline]
    pub(in crate::connection) fn handle_sack_fast(&mut self, now: Time, segment: &Segment) -> bool {
        match self.fast_paths.sending {
            Sending::Repair => self.handle_dupack(now, segment),
            Sending::DetailedRepair => self.handle_sack_in_detail(now, segment),
            Sending::General | Sending::Plain | Sending::Detailed => false,
        }
    }

    /// Like [`Self::handle_plain_dupack`], for a segment with SACK blocks.
    #[inline(never)]
    fn handle_dupack(&mut self, now: Time, segment: &Segment) -> bool {
        let snd_una = self.sender.snd_una;
        let is_ack = segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0;
        let bare = is_ack && segment.payload_bytes == 0 && !segment.loss_notice;
        let next = segment.seq == self.rcv_nxt_seq() && segment.ack == self.seq_at(snd_una);
        if !bare || !next || !self.sender.selective {
            return false;
        }
        // The first block reports the segment that caused the ACK (RFC 2018 §4); if the other
        // blocks are known, it alone changes the scoreboard.
        let Some((left, right)) = self.only_new_block(segment) else { return false };
        let board = &mut self.sender.board;
        let sacked = board.mark_block(left, right);
        board.note_sack(&segment.options.sack);
        let window = self.scaled_window(segment.window);
        let same_advertised_window = window == self.sender.snd_wnd;
        self.update_window(self.receiver.rcv_nxt, snd_una, window);
        if sacked || same_advertised_window {
            self.sender.dupacks += 1;
            self.mark_lost(now);
        }
        true
    }

    /// First block, if it is not a DSACK and the others are known.
    #[inline]
    pub(super) fn only_new_block(&self, segment: &Segment) -> Option<(u64, u64)> {
        let sender = &self.sender;
        let (first, others) = segment.options.sack.as_slice().split_first()?;
        let last_sack = sender.board.last_sack.as_deref()?.as_slice();
        // Most acknowledgments only extend the first block of the previous one.
        let known = last_sack.get(1..) == Some(others)
            || others.iter().all(|block| last_sack.contains(block));
        let position = |number: SeqNr| i64::from(number.distance_from(segment.ack));
        let (left, right) = (position(first.left), position(first.right));
        let flight = sender.flight_size() as i64;
        let fresh = known && !first_block_within_second(segment);
        let good = fresh && 0 <= left && left < right && right <= flight;
        good.then(|| (sender.snd_una + left as u64, sender.snd_una + right as u64))
    }

    fn mark_lost(&mut self, now: Time) {
        let sender = &mut self.sender;
        sender.last_una = sender.snd_una;
        // Loss detection reads the scoreboard only, not this argument.
        let delivered = Delivered::default();
        let seen = sender.ack_of_sack(now, self.parameters.dupack_threshold, &delivered);
        let board = &mut *sender.board;
        let reaction = sender.loss_detection.on_ack(&seen, board);
        // `LossDetection::only_repairs`, which opened this path, guarantees this.
        assert!(reaction == Reaction::Nothing, "it only marks");
    }

    /// Sends a full segment of new data if the windows allow it and there is nothing to retransmit.
    pub(super) fn send_in_repair(&mut self, now: Time, to: &mut Transmit) -> Option<Outcome> {
        let sender = &self.sender;
        let smss = u64::from(sender.window.smss);
        let queued = sender.written - sender.snd_nxt;
        let flight = sender.flight_size();
        let room = sender.window.cwnd.saturating_sub(sender.pipe_of(flight));
        let idle = flight == 0 || self.timers.retransmit == Time::NEVER;
        if sender.retransmit_first || self.receiver.ack_now || idle {
            return None;
        }
        let usable = room.min(sender.snd_wnd.saturating_sub(flight));
        if room >= smss {
            // Lost segments are retransmitted before new data (RFC 6675 §4, `NextSeg` rule 1).
            let fresh = sender.board.lost_bytes() == 0 && queued.min(usable) >= smss;
            return fresh.then(|| {
                to.write_plain(&self.send_next_segment(now));
                Outcome::Plain
            });
        }
        // The rules for short segments are those of an undisturbed connection.
        let waits = queued == 0 || usable < smss.min(queued) && usable < sender.max_snd_wnd / 2;
        waits.then_some(Outcome::Nothing)
    }
}
