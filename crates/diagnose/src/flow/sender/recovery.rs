//! Detection of the end of a loss recovery, and of the recovery to which a retransmission belongs.

use super::{AT_ONCE_NS, Ack, DOUBTS_MAX, Sender, State, THRESHOLD, UnclassifiedRetransmission};

/// Initial window of Linux, in segments (RFC 6928).
const LINUX_FIRST: i64 = 10;
/// Largest initial window of senders that do not follow RFC 6928, in segments (RFC 3390).
const EARLIER_FIRST: i64 = 4;
/// A timer may expire earlier than predicted by the RTO divided by this number (an arbitrary
/// choice).
const EARLY: i64 = 8;
/// Maximum number of timeouts of a silence: as many packets as skipped numbers may stand for.
const EXPIRIES_MAX: u32 = 64;

/// True if these bytes in flight show the initial window of RFC 6928: they are as many, or more
/// than earlier standards permit and only the peer's window ends them.
pub(in crate::flow) fn is_large_initial(flight: i64, window: Option<i64>, segment: i64) -> bool {
    let is_ended = window.is_some_and(|window| flight + segment > window);
    flight >= LINUX_FIRST * segment || (flight > EARLIER_FIRST * segment && is_ended)
}

impl Sender {
    /// Notes a range of data that a duplicate ACK or a SACK block has reported as missing.
    pub(super) fn note_doubt(&mut self, ack: &Ack) {
        if !ack.is_duplicate && ack.sacked_from == 0 {
            return;
        }
        let (from, to) = (ack.ack, ack.sacked_from.max(ack.ack + 1));
        match self.doubts.back_mut() {
            Some(last) if last.0 == from => last.1 = last.1.max(to),
            _ => {
                self.doubts.push_back((from, to));
                if self.doubts.len() > DOUBTS_MAX {
                    self.doubts.pop_front();
                }
            }
        }
    }

    /// True if the sender's timers and its initial window are those of Linux.
    pub fn is_linux(&self) -> bool {
        self.estimator.is_linux() && self.has_first_of_linux
    }

    /// True once the sender has sent a large initial window (RFC 6928), as Linux does.
    pub fn has_large_initial(&self) -> bool {
        self.has_first_of_linux
    }

    /// True if duplicate ACKs or SACK blocks have shown the loss of the first unacknowledged
    /// segment, of `segment` bytes (RFC 5681 §3.2, RFC 6675 §5), and no recovery has begun. The
    /// retransmission waits for the congestion window, or in a queue before the capture.
    pub fn knows_new_loss(&self, segment: i64) -> bool {
        let is_sacked = self.sacked_bytes >= i64::from(THRESHOLD) * segment;
        self.is_open() && segment > 0 && (self.duplicates >= THRESHOLD || is_sacked)
    }

    /// True if an acknowledgment has reached the sender since its last retransmission.
    pub const fn has_acked_since_resent(&self) -> bool {
        self.ack_ns > self.resent_ns
    }

    /// Position after the last retransmission, or after everything acknowledged since.
    pub fn resent_to(&self) -> i64 {
        self.resent_to.max(self.snd_una)
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

    /// Records that the sender has reduced its congestion window because of ECN.
    pub fn on_ecn_reduction(&mut self) {
        (self.has_reduced, self.is_reduced_by_ecn) = (true, true);
    }

    /// Ends the recovery from a timeout that F-RTO has shown to be needless.
    pub(super) fn undo_timeout(&mut self) {
        if let State::Loss(until) = self.state {
            self.undone_until = Some(until);
        }
        (self.state, self.has_undone) = (State::Open, true);
    }

    /// Resumes the recovery from a timeout, and returns true, if this retransmission shows that the
    /// sender has not undone the timeout: it follows the one before, without a duplicate ACK or a
    /// SACK block. Far from the sender, the times at which acknowledgments reach it are uncertain.
    pub(super) fn refutes_undo(&mut self, attempt: &UnclassifiedRetransmission) -> bool {
        let Some(until) = self.undone_until.filter(|until| attempt.start < *until) else {
            return false;
        };
        let is_next = attempt.start >= self.resent_to && self.resent_ns == self.timeout_ns;
        // An acknowledgment releases the next retransmission at once. After a silence, the timer of
        // RACK has expired: the retransmission after the timeout was acknowledged (RFC 8985 §6.3).
        let silence_ns = attempt.time_ns - self.ack_ns;
        let is_released = attempt.is_time_unknown || silence_ns < AT_ONCE_NS;
        // The acknowledgment of the data may have come in the meantime.
        let is_acked = self.duplicates == 0 && self.sacked_to <= self.snd_una;
        if !((is_acked || self.shows_no_loss(attempt)) && is_next && is_released && self.is_open())
        {
            return false;
        }
        (self.state, self.undone_until) = (State::Loss(until), None);
        self.has_reduced = true;
        true
    }

    /// Number of timeouts in the current silence, without that of the packet sent at this time.
    pub fn earlier_timeouts(&self, sent_ns: i64) -> u32 {
        let mut expires_ns = self.last_activity_ns();
        let has_expired = |number: &u32| {
            let rto_ns = self.estimator.backed_off_rto_ns(self.timeouts.saturating_add(*number));
            expires_ns = expires_ns.saturating_add(rto_ns);
            expires_ns - rto_ns / EARLY <= sent_ns
        };
        let expiries = (0..EXPIRIES_MAX).take_while(has_expired).count() as u32;
        expiries.saturating_sub(1)
    }

    /// Handles new data from the position `start`, before which data were lost before the capture.
    /// F-RTO sends new data after the retransmission (RFC 5682 §2.1), so the lost ones were sent
    /// before the timeout.
    pub fn on_hole_before(&mut self, start: i64) {
        let is_frto = self.resent_ns == self.timeout_ns;
        if let State::Loss(until) = &mut self.state
            && is_frto
        {
            *until = start.max(*until);
        }
    }

    /// Notes that this acknowledgment covers newer data than all before.
    pub(super) fn note_newest(&mut self, ack: &Ack) {
        if ack.effective_ns - self.newest_before.1 > AT_ONCE_NS {
            self.newest_before = (self.newest_ns, ack.effective_ns);
        }
        self.newest_ns = ack.newest_ns;
    }

    /// True if acknowledgments have just shown that data sent after the previous copy of this
    /// segment have arrived, which releases the segment (RFC 8985 §6.2).
    pub(super) fn is_released_by_rack(&self, attempt: &UnclassifiedRetransmission) -> bool {
        let (before_ns, since_ns) = self.newest_before;
        self.has_sack
            && attempt.time_ns - since_ns <= 2 * AT_ONCE_NS
            && (before_ns..self.newest_ns).contains(&attempt.previous_ns)
    }

    /// True if the sender does not retransmit this segment again by RACK: data sent an RTT later
    /// than the previous copy have been acknowledged, which is longer than the reordering window
    /// (RFC 8985 §6.2, step 4), and the sender went on with new data.
    pub(super) fn ignores_lost_retransmission(&self, attempt: &UnclassifiedRetransmission) -> bool {
        let (before_ns, since_ns) = self.newest_before;
        let srtt_ns = self.estimator.srtt_ns().unwrap_or(i64::MAX / 4);
        before_ns - attempt.previous_ns > srtt_ns
            && attempt.previous_ns >= self.recovery_ns
            && self.sent_ns > self.resent_ns
            && self.sent_ns >= since_ns
    }

    /// True if a partial acknowledgment ends fast recovery, as in Reno (RFC 5681 §3.2 step 6).
    pub(super) fn ends_at_any_ack(&mut self) -> bool {
        self.has_partial = !self.has_sack && self.repairs_next.is_none();
        self.is_reno()
    }

    /// True if the sender is known to leave fast recovery at a partial acknowledgment.
    pub fn is_reno(&self) -> bool {
        !self.has_sack && self.repairs_next == Some(false)
    }

    /// Handles the first packet after a partial acknowledgment. `repairs` is true if the packet
    /// repairs the next loss, as NewReno does (RFC 6582 §3.2 step 5); otherwise the sender is Reno
    /// and has left fast recovery.
    pub(super) fn on_packet_after_partial_ack(&mut self, repairs: bool) {
        if std::mem::take(&mut self.has_partial) {
            self.repairs_next = Some(repairs);
            if !repairs && matches!(self.state, State::Recovery(_)) {
                self.leave_recovery_early();
            }
        }
    }

    /// Ends loss recovery if the acknowledgment of all data before the position `ack` does.
    pub(super) fn end_recovery(&mut self, ack: i64, sent_to: i64) {
        match self.state {
            State::Recovery(until) if ack < until => {
                if self.ends_at_any_ack() {
                    self.leave_recovery_early();
                }
            }
            // This recovery has also retransmitted data that were sent later. For Linux their loss
            // begins the next recovery at once (`tcp_time_to_recover`).
            State::Recovery(_) if self.resent_to > ack && self.is_linux() => {
                (self.state, self.continues_recovery) = (State::Recovery(sent_to), true);
            }
            State::Loss(until) if ack < until => {}
            _ => (self.state, self.continues_recovery) = (State::Open, false),
        }
    }

    /// Ends fast recovery at a partial acknowledgment, as Reno does.
    pub fn leave_recovery_early(&mut self) {
        if let State::Recovery(until) = self.state {
            (self.state, self.left_before) = (State::Open, until);
        }
    }

    /// Resumes fast recovery if this retransmission shows that a partial acknowledgment has not
    /// ended it: neither three duplicate ACKs nor a timer can have triggered the retransmission, or
    /// the sender has not halved its window since the last one, as Reno would have done. Queues
    /// before the capture may have hidden that a partial acknowledgment released it.
    pub(super) fn resume_recovery(&mut self, attempt: &UnclassifiedRetransmission) {
        let is_partial = self.snd_una == attempt.start && attempt.start < self.left_before;
        let is_soon = attempt.time_ns - self.timer_ns < self.estimator.rto_ns() / 2;
        let [before, since] = self.new_segments;
        let keeps_window = before >= THRESHOLD && since >= before - before / 4;
        let is_new_reno = self.duplicates < THRESHOLD || keeps_window;
        if self.is_reno() && self.is_open() && is_partial && is_soon && is_new_reno {
            (self.state, self.repairs_next) = (State::Recovery(self.left_before), Some(true));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Kind;

    /// The acknowledgment that repairs the first loss reports another one. The retransmission of
    /// the other one passes the capture when its data have been acknowledged there.
    #[test]
    fn a_partial_acknowledgment_with_a_sack_block_reports_a_loss() {
        let mut sender = Sender { snd_una: 1, state: State::Recovery(9_001), ..Sender::default() };
        let partial = Ack { ack: 2_001, sacked_from: 4_001, sacked_to: 5_001, ..Ack::default() };
        for ack in [partial, Ack { ack: 5_001, ..Ack::default() }] {
            sender.enqueue_ack(ack);
            assert!(sender.pop_effective_ack(0, 9_001).is_some());
        }
        let attempt = UnclassifiedRetransmission {
            start: 3_001,
            end: 4_001,
            snd_max: 9_001,
            ..UnclassifiedRetransmission::default()
        };
        assert_eq!(sender.on_retransmission(&attempt).kind, Kind::Recovery);
    }

    /// The first recovery has retransmitted data that were sent after it began. Its end begins the
    /// next one, which has retransmitted nothing of its own.
    #[test]
    fn linux_recovers_until_later_losses_are_repaired() {
        let mut sender = Sender {
            snd_una: 1,
            state: State::Recovery(9_001),
            resent_to: 12_001,
            has_sack: true,
            has_first_of_linux: true,
            ..Sender::default()
        };
        sender.end_recovery(9_001, 15_001);
        assert_eq!(sender.state, State::Recovery(15_001));
        let attempt = UnclassifiedRetransmission {
            start: 13_001,
            end: 14_001,
            is_previous_known: true,
            snd_max: 16_001,
            is_followed: true,
            ..UnclassifiedRetransmission::default()
        };
        sender.sacked_to = 15_001;
        assert_eq!(sender.on_retransmission(&attempt).kind, Kind::Fast);
        assert_eq!(sender.state, State::Recovery(15_001));
        sender.end_recovery(15_001, 16_001);
        assert_eq!(sender.state, State::Open);
    }

    /// NewReno retransmits at each partial acknowledgment, and keeps its window. Three duplicate
    /// ACKs follow each before the retransmission passes a capture behind a queue.
    #[test]
    fn reno_would_have_halved_its_window() {
        for (new_segments, kind) in [([40, 38], Kind::Recovery), ([40, 20], Kind::Fast)] {
            let mut sender = Sender {
                snd_una: 2_001,
                duplicates: 20,
                left_before: 90_001,
                repairs_next: Some(false),
                new_segments,
                ..Sender::default()
            };
            let attempt = UnclassifiedRetransmission {
                start: 2_001,
                end: 3_001,
                snd_max: 99_001,
                is_far: true,
                is_time_unknown: true,
                is_followed: true,
                ..UnclassifiedRetransmission::default()
            };
            assert_eq!(sender.on_retransmission(&attempt).kind, kind);
        }
    }

    /// The acknowledgment that has just set the timer releases a retransmission, without an
    /// indication of a loss.
    #[test]
    fn a_timer_that_was_just_set_does_not_expire() {
        let mut sender = Sender { snd_una: 1, timer_ns: 10_000_000, ..Sender::default() };
        sender.enqueue_ack(Ack { ack: 2_001, effective_ns: 12_000_000, ..Ack::default() });
        assert!(sender.pop_effective_ack(12_000_000, 9_001).is_some());
        let attempt = UnclassifiedRetransmission {
            time_ns: 12_000_000,
            start: 2_001,
            end: 3_001,
            is_previous_known: true,
            snd_max: 9_001,
            ..UnclassifiedRetransmission::default()
        };
        let verdict = sender.on_retransmission(&attempt);
        assert_eq!((verdict.kind, verdict.begins_episode), (Kind::Recovery, false));
    }

    /// The sender goes on with new data until 1 s after the last acknowledgment of new data, the
    /// least RTO of RFC 6298.
    #[test]
    fn new_data_do_not_hide_the_timer() {
        const MS: i64 = 1_000_000;
        let ack = Ack { ack: 2_001, rtt_ns: Some(50 * MS), ..Ack::default() };
        let mut sender = Sender { snd_una: 1, has_sack: true, ..Sender::default() };
        sender.state = State::Recovery(9_001);
        sender.enqueue_ack(ack);
        assert!(sender.pop_effective_ack(0, 9_001).is_some());
        sender.on_new_data(998 * MS, false);
        let attempt = UnclassifiedRetransmission {
            time_ns: 999 * MS,
            start: 2_001,
            end: 3_001,
            is_previous_known: true,
            snd_max: 99_001,
            ..UnclassifiedRetransmission::default()
        };
        let verdict = sender.on_retransmission(&attempt);
        assert_eq!((verdict.kind, verdict.rto_ns), (Kind::Timeout, 1_000 * MS));
    }

    /// F-RTO had no new data to send, so it has not undone the timeout: the acknowledgment of the
    /// first retransmission has released the second. When it passes, its data are acknowledged.
    #[test]
    fn a_late_retransmission_shows_that_a_timeout_was_not_undone() {
        let mut sender = Sender {
            undone_until: Some(9_001),
            resent_to: 2_001,
            snd_una: 5_001,
            sacked_to: 5_001,
            ..Sender::default()
        };
        let attempt = UnclassifiedRetransmission {
            time_ns: 100_000,
            start: 2_001,
            end: 3_001,
            is_previous_known: true,
            snd_max: 9_001,
            ..UnclassifiedRetransmission::default()
        };
        assert!(sender.refutes_undo(&attempt));
        assert_eq!(sender.state, State::Loss(9_001));
    }
}
