//! Retransmissions that wait for the next data, which may show that no timer has caused them.
//!
//! A timeout reduces the congestion window to one segment (RFC 5681 §3.1), so the data after its
//! retransmission wait for an acknowledgment. If other data follow at once, acknowledgments had
//! released both, and a silence before them was a delay of the path.

use super::Flow;
use super::acks::rtt_tolerance_ns;
use super::direction::Direction;
use crate::packet::{ControlBits, Packet};

/// Maximum number of packets that are held. A burst of more acknowledgments without data between
/// them is unusual.
const HELD_MAX: usize = 64;

impl Direction {
    /// True if this packet repeats data that begin no later than the cumulative acknowledgment, as
    /// the first retransmission after a timeout does.
    fn may_follow_timeout(&self, packet: &Packet) -> bool {
        let Some(origin) = self.origin else { return false };
        let end = origin.wrapping_add(self.scoreboard.end as u32);
        let back = i64::from(packet.seq.wrapping_sub(end) as i32);
        let is_again = back < 0 && self.scoreboard.end + back <= self.highest_ack;
        let other = ControlBits::SYN | ControlBits::FIN | ControlBits::RST;
        is_again && packet.payload_bytes > 0 && !packet.control.any(other)
    }

    /// True if a path that reorders packets may have delayed this packet, which no copy precedes.
    fn may_be_late(&mut self, packet: &Packet) -> bool {
        let start = self.position(packet.seq, false);
        let mut spans = self.scoreboard.range(start, start + i64::from(packet.payload_bytes));
        self.reordered > 0 && spans.any(|span| span.copies == 0)
    }

    /// True if other data follow a retransmission, which passes the capture at `time_ns`, before an
    /// acknowledgment can have released them.
    pub(super) fn is_followed_at_once(&self, time_ns: i64) -> bool {
        let (Some(next_ns), Some(least_ns)) = (self.next_data_ns, self.sender.rtt_min_ns) else {
            return false;
        };
        next_ns - time_ns < least_ns && !self.sender.awaits_ack_until(next_ns)
    }
}

impl Flow {
    /// Handles a packet of this side, or holds it until the next data of the held retransmission's
    /// side.
    pub(super) fn handle_or_hold(&mut self, packet: &Packet, side: usize) {
        if !self.held.is_empty() {
            if self.is_ack_of_held(packet, side) {
                self.held.push(*packet);
                return;
            }
            self.handle_held(Some(packet));
        }
        if self.halves[side].may_follow_timeout(packet) {
            self.held.push(*packet);
        } else {
            self.handle(packet, side);
        }
    }

    /// True for an acknowledgment that passes less than a round trip after the held retransmission.
    fn is_ack_of_held(&self, packet: &Packet, side: usize) -> bool {
        let first = &self.held[0];
        let of = self.side(first);
        let least_ns = self.halves[of].sender.rtt_min_ns.unwrap_or(0);
        side != of
            && packet.seq_len() == 0
            && !packet.control.any(ControlBits::RST)
            && packet.time_ns - first.time_ns < least_ns
            && self.held.len() < HELD_MAX
    }

    /// Handles the held packets, before the next one.
    #[cold]
    pub(super) fn handle_held(&mut self, next: Option<&Packet>) {
        let mut held = std::mem::take(&mut self.held);
        let Some(first) = held.first() else { return };
        let side = self.side(first);
        let value = |packet: &Packet| packet.options.timestamps.map(|(value, _)| value);
        // Far from the sender, packets that follow at once may have been sent long after.
        let is_other = |next: &&Packet| {
            next.payload_bytes > 0 && next.seq != first.seq && value(next) == value(first)
        };
        let next = next.filter(|next| self.side(next) == side).filter(is_other);
        let next = next.filter(|next| !self.halves[side].may_be_late(next));
        let next_ns = next.map(|next| self.elapsed_ns(next.time_ns));
        let released_ns = held.get(1).map_or(i64::MAX, |ack| {
            let now = self.now(ack, side);
            now.time_ns + now.sender_loop.unwrap_or(0) - rtt_tolerance_ns(&now)
        });
        self.halves[side].next_data_ns = next_ns.filter(|next_ns| *next_ns < released_ns);
        for packet in &held {
            self.handle(packet, self.side(packet));
            self.halves[side].next_data_ns = None;
        }
        held.clear();
        self.held = held;
    }
}
