//! *What it does.* Delays ACKs of segments beyond a gap, so that one ACK covers several of them.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c`: `__tcp_ack_snd_check`,
//! `tcp_sack_new_ofo_skb`, with its defaults of
//! `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns` and `tcp_comp_sack_slack_ns`.
//!
//! *Equations.* After three duplicate ACKs of a position, up to 44 further ones are merged into one
//! ACK. This ACK is sent min(RTT/20, 1 ms) + 100 µs (slack) after the first of them was due. RTT is
//! the smaller of the receiver's and the sender's estimates; it is 0 before the receiver has one.
//!
//! The ACK of a segment that fills a gap while another is left counts as the first of these three,
//! unless it is due anyway: because it acknowledges more than one full segment and does not
//! advertise less, or as a quick ACK.
//!
//! While an ACK is held back, a segment that belongs to none of the two newest blocks beyond gaps
//! sends it at once, and is not acknowledged itself (`connection/receive/held.rs`).
//!
//! *Where we differ.* The timer always uses the whole slack. Segments that arrive twice are
//! acknowledged at once. A receive buffer measured in payload provides no RTT.

use crate::lazy::LazyDefault;
use retx_units::{Duration, Time};

/// Number of duplicate ACKs sent at once (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// Maximum number of ACKs merged into one.
const MOST: u32 = 44;
const LONGEST: Duration = Duration::from_millis(1);
const SLACK: Duration = Duration::from_micros(100);

/// Counts of duplicate ACKs of one position.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SackCompression {
    /// Position that the counted duplicate ACKs acknowledge.
    rcv_nxt: u64,
    sent: u32,
    held: u32,
}

impl LazyDefault for SackCompression {
    const DEFAULT: &'static Self = &Self { rcv_nxt: 0, sent: 0, held: 0 };
}

impl SackCompression {
    /// Handles a segment beyond a gap. Returns `None` if it is to be acknowledged now, otherwise
    /// the latest time for the acknowledgment.
    #[inline(always)]
    pub fn on_gap(
        &mut self,
        now: Time,
        rcv_nxt: u64,
        rtt: impl FnOnce() -> Option<Duration>,
    ) -> Option<Time> {
        if self.rcv_nxt != rcv_nxt {
            self.rcv_nxt = rcv_nxt;
            self.sent = 0;
        }
        if self.held >= MOST {
            return None;
        }
        if self.sent < AT_ONCE {
            self.sent += 1;
            return None;
        }
        self.held += 1;
        Some(now + (rtt().unwrap_or(Duration::ZERO) / 20).min(LONGEST) + SLACK)
    }

    /// True if an acknowledgment is held back.
    pub const fn holds_ack(&self) -> bool {
        self.held > 0
    }

    /// Handles the transmission of an acknowledgment.
    pub fn on_ack_sent(&mut self) {
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(10));

    #[test]
    fn three_go_and_forty_four_wait() {
        let mut it = SackCompression::default();
        for position in [1, 1001] {
            assert_eq!([(); 3].map(|()| it.on_gap(Time::ZERO, position, || RTT)), [None; 3]);
            for _ in 0..44 {
                let until = Time::ZERO + Duration::from_micros(600);
                assert_eq!(it.on_gap(Time::ZERO, position, || RTT), Some(until));
            }
            assert_eq!(it.on_gap(Time::ZERO, position, || RTT), None);
            it.on_ack_sent();
        }
        assert!(it.on_gap(Time::ZERO, 1001, || RTT).is_some(), "the position is the same");
    }

    #[test]
    fn the_wait_follows_the_rtt_up_to_a_millisecond() {
        let mut it = SackCompression { sent: 3, ..SackCompression::default() };
        let mut wait = |rtt| it.on_gap(Time::ZERO, 0, || rtt).unwrap().since(Time::ZERO);
        assert_eq!(wait(None), Duration::from_micros(100));
        assert_eq!(wait(Some(Duration::from_millis(40))), Duration::from_micros(1_100));
    }
}
