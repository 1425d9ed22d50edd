//! Bursts of retransmissions: Linux retransmits the lost segments of a burst together, and paces
//! them as one packet.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_output.c`: `tcp_xmit_retransmit_queue` (size),
//! `__tcp_retransmit_skb` (the part that the congestion window cuts off becomes another burst),
//! `__tcp_transmit_skb` (PSH on bursts of more than one segment).
//!
//! *Where we differ.* Without Linux's send buffer the bursts in flight are not known, and
//! retransmissions are single segments.

use super::Connection;
use super::transmit::Chunk;
use retx_units::Time;

/// Burst of retransmissions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeat {
    at: Time,
    /// Position at which the burst continues; 0 at its end.
    next: u64,
    /// Number of segments that the burst may still have.
    left: u64,
    /// True if the segment being sent is not the first of the burst.
    continues: bool,
}

impl Repeat {
    pub const NONE: Self = Self { at: Time::ZERO, next: 0, left: 0, continues: false };

    /// True if the burst continues at this instant, so that the pacing gate does not delay it.
    pub const fn is_open(&self, now: Time) -> bool {
        self.next > 0 && self.at.as_nanos() == now.as_nanos()
    }

    /// True if the segment being sent is not the first of its burst.
    pub const fn continues(&self) -> bool {
        self.continues
    }

    /// Records that a segment has been sent: other segments do not belong to the burst.
    pub const fn end_segment(&mut self) {
        self.continues = false;
    }

    /// True if the segment being sent is the last one of a burst of several.
    pub const fn ends(&self) -> bool {
        self.continues && self.next == 0
    }
}

impl Connection {
    /// True if the next segment to be sent belongs to a burst of retransmissions that was begun at
    /// this instant.
    pub(super) fn continues_repeat(&mut self, now: Time) -> bool {
        let sender = &mut self.sender;
        let repeat = sender.bursts.repeat;
        repeat.is_open(now)
            && sender.available_cwnd() >= u64::from(sender.window.smss)
            && sender.board.next_to_retransmit().is_some_and(|(start, _)| start == repeat.next)
    }

    /// Assigns a retransmission to a burst, before it is sent: the segments of a burst are repeated
    /// together if all are lost and the congestion window permits them.
    pub(super) fn assign_repeat(&mut self, now: Time, chunk: &Chunk) {
        let knows_bursts = self.sender.uses_scoreboard && self.sender.bursts.memory.is_some();
        if !self.parameters.tso || !knows_bursts {
            return;
        }
        let smss = self.segment_size();
        let before = self.sender.bursts.repeat;
        let continues = before.is_open(now) && before.next == chunk.position;
        let most = if continues { before.left } else { self.tso_goal_bytes() / smss };
        let left = most.saturating_sub(1);
        let sender = &mut self.sender;
        let bytes = u64::from(chunk.length);
        let has_room = left > 0 && sender.available_cwnd() >= bytes + smss;
        let end = chunk.position + bytes + u64::from(chunk.fin);
        let next = if sender.board.cut_burst(end, has_room) { 0 } else { end };
        sender.bursts.repeat = Repeat { at: now, next, left, continues };
    }
}
