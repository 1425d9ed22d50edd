//! Data that the sender has still to retransmit after a timeout, which has marked all data in
//! flight lost.

use super::direction::Direction;
use super::sender::State;

impl Direction {
    /// True if a retransmission waits for the congestion window after a timeout. The peer's window
    /// has room for any retransmission.
    pub(super) fn has_waiting_retransmission(&self) -> bool {
        let State::Loss(until) = self.sender.state else { return false };
        self.scoreboard.range(self.sender.resent_to(), until).any(|span| !span.sacked)
    }

    /// True if the sender has retransmitted everything after a timeout, and its congestion window
    /// has room: it begins with one segment, and grows by one with each acknowledgment (RFC 5681
    /// §3.1).
    pub(super) fn has_resent_all(&self) -> bool {
        let has_room = || self.pipe() <= self.largest_payload && self.sender.backoff() == 0;
        matches!(self.sender.state, State::Loss(_))
            && (self.sender.has_acked_since_resent() || has_room())
            && !self.has_waiting_retransmission()
    }
}
