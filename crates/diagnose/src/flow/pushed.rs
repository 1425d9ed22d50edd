//! Meaning of PSH: the end of the data that the application has written, or the end of a burst.
//!
//! *Rule.* TCP marks the last data written with PSH (RFC 9293 §3.9.1.2), but Linux marks the end of
//! each burst of a long write, too (`tcp_mark_push`). Such a sender has more data after a full
//! segment with PSH, since a write rarely ends with a full segment.
//!
//! *Where it matters.* Where the time of sending is known, a silence shows whether the sender had
//! more data. Far from it, without timestamps, a delay on the path looks the same.

use super::direction::PacketContext;
use super::release::is_far;
use crate::packet::ControlBits;

/// Number of full segments with PSH, followed by more data at once, from which on PSH marks bursts.
/// The number is a convention: an application may write soon again.
const BURSTS_MIN: u32 = 4;

/// Use of PSH by a sender.
#[derive(Debug, Default)]
pub struct PushedData {
    /// True if the newest segment is full and has PSH.
    is_last_full: bool,
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

    /// True if the sender has more data to send after a segment with these control bits.
    pub fn has_more(&mut self, control: ControlBits, is_full: bool, now: &PacketContext) -> bool {
        let is_pushed = control.any(ControlBits::PSH);
        self.is_last_full = is_full && is_pushed;
        let is_time_known = now.timestamp_tick_ns > 0 || !is_far(now);
        let ends_burst = self.is_last_full && self.marks_bursts() && !is_time_known;
        (!is_pushed || ends_burst) && !control.any(ControlBits::SYN | ControlBits::FIN)
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
