//! Segments that are dropped because of their timestamp or sequence number, and the answers to
//! them.
//!
//! *Reference.* RFC 7323 §5.3, RFC 9293 §3.10.7.4; Linux 6.18 `tcp_input.c`:
//! `tcp_validate_incoming`, `tcp_disordered_ack_check`, `tcp_send_dupack`, `tcp_oow_rate_limited`.

use super::Connection;
use retx_units::Time;
use retx_wire::{Flags, Segment};

impl Connection {
    /// True if the timestamp of a segment is too old (PAWS, RFC 7323 §5.3).
    ///
    /// Linux tolerates one tick (`TCP_PAWS_WINDOW`), and more for a pure ACK that repeats the last
    /// one, because the network may have changed the order of the two (`tcp_disordered_ack_check`).
    pub(super) fn is_too_old(&self, segment: &Segment, value: u32, position: i64) -> bool {
        let age = self.receiver.ts_recent.wrapping_sub(value) as i32;
        if !self.receiver.pending.is_linux() {
            return age > 0;
        }
        if age <= 1 {
            return false;
        }
        let sender = &self.sender;
        let window = self.scaled_window(segment.window);
        let updates_window = sender.snd_wl1 < position as u64
            || sender.snd_wl1 == position as u64 && (window > sender.snd_wnd || window == 0);
        let repeats = segment.seq_len() == 0
            && position == self.receiver.rcv_nxt as i64
            && segment.ack.unwrap_near(sender.iss, sender.snd_una) == sender.snd_una as i64
            && !updates_window;
        // In Linux a second has 1,024 ms here (`tcp_tsval_replay`).
        !repeats || age as u64 * 1_000_000_000 > self.rto().as_nanos() * 1024
    }

    /// Answers a segment that is dropped because of its timestamp.
    pub(super) fn answer_old_timestamp(&mut self, now: Time, segment: &Segment, position: i64) {
        if !self.receiver.pending.is_linux() {
            self.receiver.ack_now = true;
            return;
        }
        // A pure ACK before RCV.NXT is merely old (`SKB_DROP_REASON_TCP_RFC7323_PAWS_ACK`).
        let is_pure_ack = segment.seq_len() == 0 && segment.flags.contains(Flags::ACK);
        if !is_pure_ack || position >= self.receiver.rcv_nxt as i64 {
            self.answer_unacceptable(now, segment, position);
        }
    }

    /// Answers a dropped segment by an ACK, which reports the data that had arrived before (Linux
    /// `tcp_send_dupack`).
    pub(super) fn answer_unacceptable(&mut self, now: Time, segment: &Segment, position: i64) {
        let receiver = &mut self.receiver;
        if segment.seq_len() == 0 && !receiver.pending.may_answer(now) {
            return;
        }
        receiver.ack_now = true;
        let next = receiver.rcv_nxt as i64;
        if segment.seq_len() > 0 && (1..next).contains(&position) {
            let right = (position + i64::from(segment.payload_bytes)).min(next);
            receiver.note_duplicate(position as u64, right as u64);
            let known = receiver.advertised_window();
            receiver.pending.on_repeated_data(known);
        }
    }
}
