//! Detection of the end of a loss recovery, and of the recovery to which a retransmission belongs.

use super::{Sender, State, UnclassifiedRetransmission};

/// Initial window of Linux, in segments (RFC 6928).
const LINUX_FIRST: i64 = 10;
/// Largest initial window of senders that do not follow RFC 6928, in segments (RFC 3390).
const EARLIER_FIRST: i64 = 4;

/// True if these bytes in flight show the initial window of RFC 6928: they are as many, or more
/// than earlier standards permit and only the peer's window ends them.
pub(in crate::flow) fn is_large_initial(flight: i64, window: Option<i64>, segment: i64) -> bool {
    let is_ended = window.is_some_and(|window| flight + segment > window);
    flight >= LINUX_FIRST * segment || (flight > EARLIER_FIRST * segment && is_ended)
}

impl Sender {
    /// True if the sender's timers and its initial window are those of Linux.
    pub fn is_linux(&self) -> bool {
        self.estimator.is_linux() && self.has_first_of_linux
    }

    /// True once the sender has sent a large initial window (RFC 6928), as Linux does.
    pub fn has_large_initial(&self) -> bool {
        self.has_first_of_linux
    }

    /// Handles new data, after which `flight` bytes are in flight.
    pub fn on_flight(&mut self, flight: i64, segment: i64) {
        if self.snd_una <= 1 && segment > 0 {
            self.has_first_of_linux |= is_large_initial(flight, self.window, segment);
        }
    }

    /// True if a Linux sender detects by F-RTO that its timeout was needless: an original is
    /// acknowledged before more than one segment was retransmitted (RFC 5682 §3.1,
    /// `tcp_process_loss`). `original_end` is the lowest end of the originals that have just been
    /// acknowledged.
    pub(super) fn detects_by_frto(&self, original_end: i64) -> bool {
        // A second retransmission ends F-RTO.
        let is_first = self.resent_ns == self.timeout_ns;
        // Only data sent before the timeout are a proof; F-RTO itself sends new data after it
        // (`FLAG_ORIG_SACK_ACKED`).
        matches!(self.state, State::Loss(until) if original_end <= until)
            && self.may_undo
            && is_first
            && self.is_linux()
    }

    /// True if a partial acknowledgment ends fast recovery, as in Reno (RFC 5681 §3.2 step 6).
    pub(super) fn ends_at_any_ack(&mut self) -> bool {
        self.has_partial = !self.has_sack && self.repairs_next.is_none();
        !self.has_sack && self.repairs_next == Some(false)
    }

    /// Handles the first packet after a partial acknowledgment. `repairs` is true if the packet
    /// repairs the next loss, as NewReno does (RFC 6582 §3.2 step 5); otherwise the sender is Reno
    /// and has left fast recovery.
    pub(super) fn on_packet_after_partial_ack(&mut self, repairs: bool) {
        if std::mem::take(&mut self.has_partial) {
            self.repairs_next = Some(repairs);
            if !repairs && matches!(self.state, State::Recovery(_)) {
                self.state = State::Open;
            }
        }
    }

    /// True for a retransmission that begins where the previous one ended, as after a timeout.
    /// Without SACK, fast recovery would retransmit only the first lost segment (RFC 6582).
    pub(super) fn continues_go_back_n(&self, attempt: &UnclassifiedRetransmission) -> bool {
        // In order: each retransmission begins where the one before ended.
        let beyond = attempt.start > self.snd_una && attempt.start == self.resent_to;
        !self.has_sack
            && beyond
            && matches!(self.state, State::Recovery(until) if attempt.start < until)
    }
}
