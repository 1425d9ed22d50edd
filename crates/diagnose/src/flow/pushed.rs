//! Meaning of PSH: the end of the data that the application has written, or the end of a burst.
//!
//! *Rule.* TCP marks the last data written with PSH (RFC 9293 §3.9.1.2), but Linux marks the end of
//! each burst of a long write, too (`tcp_mark_push`). Such a sender has more data after a full
//! segment with PSH, since a write rarely ends with a full segment.
//!
//! *Where it matters.* Where the time of sending is known, a silence shows whether the sender had
//! more data. Far from it, without timestamps, a delay on the path looks the same.

use super::direction::{Direction, PacketContext};
use super::release::is_far;
use crate::packet::{ControlBits, Packet};

/// Number of full segments with PSH, followed by more data at once, from which on PSH marks bursts.
/// The number is a convention: an application may write soon again.
const BURSTS_MIN: u32 = 4;

/// Use of PSH by a sender.
#[derive(Debug, Default)]
pub struct PushedData {
    /// True if the newest segment is full and has PSH.
    is_last_full: bool,
    /// Length of the longest segment without PSH, in bytes of payload.
    longest_unpushed: i64,
    /// True if the newest segment ends the data that the application has written, as PSH and its
    /// length show.
    ends_write: bool,
    /// Number of full segments with PSH that were followed by more data at once.
    bursts: u32,
}

impl PushedData {
    /// Handles new data, which follow the data before them after a pause, or at once.
    pub fn on_new_data(&mut self, is_after_pause: bool) {
        self.bursts = self.bursts.saturating_add((self.is_last_full && !is_after_pause).into());
    }

    /// True if the sender marks the ends of bursts with PSH.
    pub const fn marks_bursts(&self) -> bool {
        self.bursts >= BURSTS_MIN
    }

    /// Handles new data of `payload_bytes` with these control bits. A full segment has
    /// `full_bytes`, which is none if the peer's MSS is unknown.
    pub fn on_segment(
        &mut self,
        control: ControlBits,
        payload_bytes: i64,
        full_bytes: Option<i64>,
    ) {
        let is_pushed = control.any(ControlBits::PSH);
        // Segments may be shorter than the MSS permits because of the path's MTU; all but the last
        // one of a write lack PSH then.
        let is_short = full_bytes.is_some_and(|full| payload_bytes < full);
        self.ends_write = is_pushed && is_short && payload_bytes > self.longest_unpushed;
        if !is_pushed {
            self.longest_unpushed = self.longest_unpushed.max(payload_bytes);
        }
    }

    /// True if the newest segment, although none is longer, ends the data written.
    pub const fn ends_write(&self) -> bool {
        self.ends_write
    }

    /// True if the sender has more data to send after a segment with these control bits.
    pub fn has_more(&mut self, control: ControlBits, is_full: bool, now: &PacketContext) -> bool {
        let is_pushed = control.any(ControlBits::PSH);
        self.is_last_full = is_full && is_pushed;
        let is_time_known = now.timestamp_tick_ns > 0 || !is_far(now);
        let ends_burst = self.is_last_full && self.marks_bursts() && !is_time_known;
        (!is_pushed || ends_burst) && !control.any(ControlBits::SYN | ControlBits::FIN)
    }
}

impl Direction {
    /// True if the sender has more data to send after this segment, the newest one.
    pub(super) fn has_more_after(&mut self, packet: &Packet, now: &PacketContext) -> bool {
        let full_bytes = self.mss.map(|_| self.segment_bytes(packet));
        self.pushed.on_segment(packet.control, self.last_payload_bytes, full_bytes);
        let is_longest = self.last_payload_bytes == self.largest_payload;
        let is_full = is_longest && !self.pushed.ends_write();
        self.pushed.has_more(packet.control, is_full, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psh_on_many_full_segments_marks_bursts() {
        let far = PacketContext {
            time_ns: 0,
            sent_ns: 0,
            timestamp_tick_ns: 0,
            echo: None,
            packet: 1,
            sender_loop: Some(40_000_000),
            receiver_loop: Some(1_000_000),
        };
        let psh = ControlBits(ControlBits::PSH);
        let mut pushed = PushedData::default();
        for _ in 0..BURSTS_MIN {
            assert!(!pushed.has_more(psh, true, &far));
            pushed.on_new_data(false);
        }
        assert!(pushed.has_more(psh, true, &far));
        assert!(!pushed.has_more(psh, false, &far));
        assert!(!pushed.has_more(ControlBits(ControlBits::PSH | ControlBits::FIN), true, &far));
        let near = PacketContext { sender_loop: Some(1_000), ..far };
        assert!(!pushed.has_more(psh, true, &near));
    }
}
