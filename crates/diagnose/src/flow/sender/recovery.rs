//! Ends of loss recovery, and the recovery that a retransmission belongs to.

use super::{Attempt, Sender, State};

/// Segments that Linux sends before the first acknowledgment (RFC 6928).
const LINUX_FIRST: i64 = 10;

impl Sender {
    /// True if timers and the first flight are Linux's.
    pub fn is_linux(&self) -> bool {
        self.estimator.is_linux() && self.has_first_of_linux
    }

    /// Handles data sent, up to `flight` bytes after the last acknowledgment.
    pub fn on_flight(&mut self, flight: i64, segment: i64) {
        if self.una <= 1 && segment > 0 && flight >= LINUX_FIRST * segment {
            self.has_first_of_linux = true;
        }
    }

    /// True if the arrival of an original shows a Linux sender that its timeout was needless,
    /// before it has sent more than one retransmission (RFC 5682 §3.1, `tcp_process_loss`).
    /// `original_end` is the lowest end of the originals that have just been acknowledged.
    pub(super) fn detects_by_frto(&self, original_end: i64) -> bool {
        // F-RTO ends with a second retransmission.
        let is_first = self.resent_ns == self.timeout_ns;
        // Data that F-RTO sent after the timeout prove nothing (`FLAG_ORIG_SACK_ACKED`).
        matches!(self.state, State::Loss(until) if original_end <= until)
            && self.may_undo
            && is_first
            && self.estimator.is_linux()
    }

    /// True if a partial acknowledgment ends fast recovery, as in Reno (RFC 5681 §3.2 step 6).
    pub(super) fn ends_at_any_ack(&mut self) -> bool {
        self.has_partial = !self.has_sack && self.repairs_next.is_none();
        !self.has_sack && self.repairs_next == Some(false)
    }

    /// Determines at the next packet after a partial acknowledgment whether the sender repairs the
    /// next loss at once, as NewReno does (RFC 6582 §3.2 step 5). A Reno sender has then left fast
    /// recovery.
    pub(super) fn after_partial(&mut self, repairs: bool) {
        if std::mem::take(&mut self.has_partial) {
            self.repairs_next = Some(repairs);
            if !repairs && matches!(self.state, State::Recovery(_)) {
                self.state = State::Open;
            }
        }
    }

    /// True for the next retransmission in order after a timeout: without SACK, fast recovery
    /// repairs only the first loss (RFC 6582), and further data are retransmitted in order.
    pub(super) fn goes_back(&self, attempt: &Attempt) -> bool {
        // In order: each retransmission begins where the one before ended.
        let beyond = attempt.start > self.una && attempt.start == self.resent_to;
        !self.has_sack
            && beyond
            && matches!(self.state, State::Recovery(until) if attempt.start < until)
    }
}
