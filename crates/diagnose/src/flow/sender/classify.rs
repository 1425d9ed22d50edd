//! Kind of a retransmission: which mechanism of the sender triggered it.

use super::{
    AT_ONCE_NS, DELAYED_ACK_NS, SILENCE_MIN_NS, SILENT_NS, Sender, State,
    UnclassifiedRetransmission,
};
use crate::answer::Kind;

impl Sender {
    /// Determines kind and confidence, and changes the state if the retransmission begins an
    /// episode.
    pub(super) fn classify(&mut self, attempt: &UnclassifiedRetransmission) -> (Kind, f64) {
        let silence = attempt.time_ns - self.ack_ns.max(self.sent_ns);
        let may_queue = attempt.is_time_unknown && self.may_have_queued(silence);
        let queue_ns = if may_queue { self.queue_ns } else { 0 };
        let srtt = self.estimator.srtt_ns().map_or(i64::MAX / 4, |srtt| srtt + queue_ns);
        let is_quiet = silence > self.quiet_ns(srtt, may_queue);
        let rto = (self.estimator.rto_ns() + queue_ns).saturating_mul(1 << self.timeouts.min(16));
        let elapsed = attempt.time_ns - self.timer_ns.max(attempt.previous_ns.min(self.sent_ns));
        let since_timer = attempt.time_ns - self.timer_ns;
        let is_late = since_timer.min(attempt.time_ns - attempt.previous_ns) >= rto / 20 * 17;
        let is_head = attempt.start <= self.snd_una;
        let was_doubted = |it: &(i64, i64)| it.0 <= attempt.start && attempt.start < it.1;
        // Queues before the capture may hide that an acknowledgment released this retransmission.
        let repairs = matches!(self.state, State::Recovery(until) if attempt.start < until);
        let is_late_repair = attempt.is_time_unknown && repairs && !is_quiet;
        let was_doubted = self.doubts.iter().any(was_doubted) || is_late_repair;
        if attempt.end <= self.snd_una && !was_doubted {
            // The acknowledgment of these data has passed the capture, but had not reached the
            // sender when it retransmitted. Without an indication of a loss, only the timer can
            // have caused the retransmission: the queueing delay was longer than the RTO.
            // But a retransmission that follows those of a fast recovery without a silence has
            // waited behind them in a queue before the capture.
            let is_running = attempt.time_ns - self.timer_before_ns < rto / 20 * 17;
            if (attempt.is_time_unknown || is_running) && !is_quiet && self.has_repaired {
                return (Kind::Recovery, 0.85);
            }
            return self.stale(attempt);
        }
        let has_evidence = !self.shows_no_loss(attempt)
            || (self.newest_ns > attempt.earliest_previous_ns && !attempt.has_outlasted_timer);
        // If the sender had three duplicate ACKs, it had retransmitted. The data before the
        // retransmission then waited with it, and their silence was not the sender's.
        let waited_behind = attempt.is_queued && self.third_ns.is_some() && !is_late;
        // After such a long silence, no acknowledgment can have triggered the retransmission.
        let is_silent =
            !waited_behind && silence > (srtt / 2 * 3).clamp(SILENT_NS + queue_ns, i64::MAX / 4);
        let is_overdue = (is_quiet && since_timer >= rto / 10 * 7) || is_silent;
        // A timer alone retransmits the last segment while the first one is unacknowledged, if
        // nothing shows a loss. Far from the sender, the silence before it may not be visible.
        let is_probe = attempt.end >= attempt.snd_max && !is_head && attempt.is_time_unknown;
        if self.state == State::Open && is_probe && self.shows_no_loss(attempt) && !self.has_probed
        {
            return self.by_timer(attempt, is_head, elapsed, rto);
        }
        // Without a duplicate ACK or a SACK block only a timer triggers a retransmission.
        let is_timer = is_overdue || (self.state == State::Open && !has_evidence);
        let is_again = self.state != State::Open
            && is_head
            && (is_late || self.ignores_lost_retransmission(attempt))
            && !attempt.is_time_unknown
            && !self.is_released_by_rack(attempt);
        if self.continues_go_back_n(attempt) {
            return self.stale(attempt);
        }
        let is_timer = is_timer || is_again || (is_head && self.is_impatient(attempt));
        if self.is_open() && is_head && self.has_just_set_timer(attempt, rto) {
            self.state = State::Recovery(attempt.snd_max);
            return (Kind::Recovery, 0.6);
        }
        if is_timer && !self.is_released(attempt, has_evidence) {
            return self.by_timer(attempt, is_head, elapsed, rto);
        }
        self.by_acks(attempt, has_evidence)
    }

    /// Classifies a retransmission that acknowledgments have triggered.
    fn by_acks(&mut self, attempt: &UnclassifiedRetransmission, has_evidence: bool) -> (Kind, f64) {
        // If the sender has undone the timeout, a SACK block has caused this retransmission.
        let is_undone = self.has_undone_timeout() && self.sacked_to >= attempt.end;
        match self.state {
            State::Loss(_) if !is_undone => (Kind::Timeout, 0.97),
            State::Recovery(until)
                if !self.continues_recovery && self.is_repair(until, attempt) =>
            {
                if attempt.start == until && !attempt.is_previous_known {
                    // These data, lost before the capture, were sent before the recovery began.
                    self.state = State::Recovery(attempt.end);
                }
                (Kind::Recovery, 0.98)
            }
            _ => {
                self.note_trigger(attempt.time_ns);
                let continues = std::mem::take(&mut self.continues_recovery);
                if !continues || self.is_open() {
                    self.state = State::Recovery(attempt.snd_max);
                }
                self.recovery_ns = attempt.time_ns;
                self.has_reduced = true;
                (Kind::Fast, if has_evidence { 0.99 } else { 0.8 })
            }
        }
    }

    /// Notes when the third duplicate ACK triggered a fast retransmission, which passes now.
    fn note_trigger(&mut self, now_ns: i64) {
        self.trigger_ns = now_ns;
        if let Some(third_ns) = self.third_ns.take() {
            self.queue_ns = (now_ns - third_ns).max(0);
            self.trigger_ns = third_ns;
        }
    }

    /// True if the sender has undone the last timeout, as only Linux does. Otherwise no other
    /// recovery begins before all data sent before the timeout are acknowledged (RFC 6675 §5.1),
    /// even if SACK blocks show the loss of later data.
    fn has_undone_timeout(&self) -> bool {
        self.may_undo && self.last_timeout_was_needless && self.is_linux()
    }

    /// True if an acknowledgment of new data, which sets the timer, has released a retransmission
    /// without reporting a loss. The sender, such as ns-3, then still repairs earlier losses.
    fn has_just_set_timer(&self, attempt: &UnclassifiedRetransmission, rto_ns: i64) -> bool {
        let silence_ns = attempt.time_ns - self.ack_ns.max(self.sent_ns);
        !self.has_sack
            && !attempt.is_time_unknown
            && self.shows_no_loss(attempt)
            && silence_ns < AT_ONCE_NS
            && attempt.time_ns - self.timer_ns < AT_ONCE_NS
            && attempt.time_ns - self.timer_before_ns < rto_ns / 2
    }

    /// True if acknowledgments have released a retransmission of data that the sender knows to be
    /// lost: other data follow at once. A timeout would leave a congestion window of one segment
    /// (RFC 5681 §3.1).
    const fn is_released(&self, attempt: &UnclassifiedRetransmission, has_evidence: bool) -> bool {
        let is_recovering = match self.state {
            State::Recovery(until) | State::Loss(until) => attempt.start < until,
            State::Open => false,
        };
        attempt.is_followed && (has_evidence || is_recovering)
    }

    /// True if neither a duplicate ACK nor a SACK block has reported a loss of these data.
    pub(super) const fn shows_no_loss(&self, attempt: &UnclassifiedRetransmission) -> bool {
        self.duplicates == 0 && self.sacked_to < attempt.end
    }

    /// True if a retransmission belongs to the recovery of the data before the position `until`: it
    /// repairs these data, or is the rescue retransmission (RFC 6675 §4, rule 4), which is the last
    /// segment, and which no SACK block has shown to be lost. With SACK blocks, it also repairs
    /// later data (`NextSeg`, rule 1). Without them, only the end of the recovery releases these.
    const fn is_repair(&self, until: i64, attempt: &UnclassifiedRetransmission) -> bool {
        let is_last = attempt.end >= attempt.snd_max && self.sacked_to <= attempt.start;
        attempt.start < until || (self.has_sack && (is_last || self.snd_una < until))
    }

    /// True unless the silence before a retransmission shows that no queue before the capture has
    /// delayed it: such a queue is empty after a round trip without packets.
    fn may_have_queued(&self, silence_ns: i64) -> bool {
        self.rtt_min_ns.is_none_or(|least_ns| silence_ns < least_ns)
    }

    /// Shortest silence after which a timer may have caused a retransmission.
    fn quiet_ns(&self, srtt_ns: i64, is_time_unknown: bool) -> i64 {
        let least_ns = self.rtt_min_ns.filter(|_| !is_time_unknown).unwrap_or(srtt_ns);
        // Queues lengthen the smoothed RTT, but they do not delay what an acknowledgment triggers.
        srtt_ns.min(2 * least_ns).clamp(SILENCE_MIN_NS, 1_000_000_000)
    }

    /// True if the timer must have retransmitted the first unacknowledged segment in fast recovery.
    /// One reason is that no ACK of the previous copy can have arrived yet; the other is that
    /// without SACK the sender cannot know that the previous copy was lost.
    fn is_impatient(&self, attempt: &UnclassifiedRetransmission) -> bool {
        let age = attempt.time_ns - attempt.previous_ns;
        // A SYN takes less time than a full segment.
        let least_ns =
            self.rtt_min_ns.map(|ns| self.syn_rtt_ns.map_or(ns, |syn_ns| syn_ns.min(ns)));
        let is_soon = least_ns.is_some_and(|least| age < least / 20 * 19);
        matches!(self.state, State::Recovery(until) if attempt.start < until)
            && attempt.previous_ns >= self.recovery_ns
            && attempt.is_previous_known
            && !attempt.is_time_unknown
            && (is_soon || !self.has_sack)
    }

    /// Classifies a retransmission of data whose acknowledgment was on its way to the sender. Only
    /// a timeout can have caused it.
    fn stale(&mut self, attempt: &UnclassifiedRetransmission) -> (Kind, f64) {
        if self.state != State::Loss(attempt.snd_max) {
            self.state = State::Loss(attempt.snd_max);
            self.timeouts = 1;
            self.has_reduced = true;
        }
        (Kind::Timeout, 0.85)
    }

    /// True if the timer that expired while one segment was in flight must be that of a tail loss
    /// probe. With one segment in flight, this timer includes the maximum delay of an ACK (RFC 8985
    /// §7.2), and is thus about as long as the RTO. Linux always arms the probe's timer first when
    /// no loss is being repaired (`tcp_schedule_loss_probe`).
    fn probes_alone(&self, elapsed: i64) -> bool {
        let allows = self.estimator.srtt_ns().map_or(0, |srtt| 2 * srtt + DELAYED_ACK_NS);
        self.is_linux() || (elapsed - allows).abs() < allows / 50
    }

    /// Classifies a retransmission that no acknowledgment has triggered.
    fn by_timer(
        &mut self,
        at: &UnclassifiedRetransmission,
        is_head: bool,
        elapsed: i64,
        rto: i64,
    ) -> (Kind, f64) {
        let is_tail = at.end >= at.snd_max;
        let may_probe = self.state == State::Open && self.timeouts == 0 && !self.has_probed;
        // A timeout retransmits the first unacknowledged segment first, so this is a tail loss
        // probe (RFC 8985 §7.3).
        if is_tail && may_probe && !is_head {
            self.probes += 1;
            self.has_probed = true;
            return (Kind::TailLossProbe, 0.99);
        }
        if is_tail && may_probe && self.probes >= 0 {
            let sooner = elapsed < rto / 100 * 95 || (is_head && self.probes_alone(elapsed));
            if sooner || self.probes > 0 {
                self.has_probed = true;
                return (Kind::TailLossProbe, if sooner { 0.9 } else { 0.7 });
            }
        }
        if !is_head {
            // Neither of the two timers retransmits a segment in the middle of the data in flight,
            // so an acknowledgment that was not captured must have triggered this retransmission.
            return match self.state {
                State::Loss(until) if at.start < until => (Kind::Timeout, 0.9),
                State::Recovery(until) if at.start < until => (Kind::Recovery, 0.8),
                _ => {
                    self.state = State::Recovery(at.snd_max);
                    self.recovery_ns = at.time_ns;
                    self.has_reduced = true;
                    (Kind::Fast, 0.6)
                }
            };
        }
        if !is_tail && may_probe && self.timeouts == 0 {
            self.probes -= 1;
        }
        self.timeouts += 1;
        self.last_timeout_was_needless = false;
        // A timeout in fast recovery inherits the undo state of the recovery (`tcp_enter_loss`).
        self.may_undo = !matches!(self.state, State::Recovery(_));
        self.timeout_ns = at.time_ns;
        self.state = State::Loss(at.snd_max);
        self.has_reduced = true;
        (Kind::Timeout, if elapsed >= rto / 2 { 0.99 } else { 0.7 })
    }
}
