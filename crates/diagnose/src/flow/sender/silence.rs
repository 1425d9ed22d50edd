//! Silences of the sender, and the timers that end them.

use super::{Sender, State, THRESHOLD};

/// Least silence before a tail loss probe, in parts of the smoothed RTT, here 7/4: the timer lasts
/// for two smoothed RTTs (RFC 8985 §7.2), and the estimate of the RTT may be a little too long.
const PROBE_PARTS: (i64, i64) = (4, 7);

impl Sender {
    /// Time since the last acknowledgment, and since the last packet.
    pub fn idle_ns(&self, now_ns: i64) -> [i64; 2] {
        [now_ns - self.ack_ns, now_ns - self.sent_ns]
    }

    /// Time of the last packet or acknowledgment.
    pub fn last_activity_ns(&self) -> i64 {
        self.ack_ns.max(self.sent_ns)
    }

    /// Time from an acknowledgment to the tail loss probe of a Linux sender with several segments
    /// in flight (`tcp_schedule_loss_probe`), if the timer could expire after it within this
    /// silence; otherwise 0.
    pub fn time_to_probe_within(&self, silence_ns: i64) -> i64 {
        let Some(srtt_ns) = self.estimator.srtt_ns().filter(|_| self.is_linux()) else { return 0 };
        let is_within = 2 * srtt_ns + self.estimator.rto_ns() <= silence_ns;
        if is_within { 2 * srtt_ns } else { 0 }
    }

    /// True if nothing happened for at least the minimum RTT before this time.
    pub fn is_silent_before(&self, time_ns: i64) -> bool {
        self.rtt_min_ns.is_some_and(|least_ns| time_ns - self.last_activity_ns() >= least_ns)
    }

    /// Handles new data sent while other data were in flight. If neither a packet nor an
    /// acknowledgment came for nearly two smoothed RTTs before, they are a tail loss probe, which
    /// restarts the timer of the RTO (RFC 8985 §7.3, `tcp_send_loss_probe`). Until an
    /// acknowledgment arrives, no other probe follows.
    #[cold]
    #[inline(never)]
    pub fn on_data_in_flight(&mut self, sent_ns: i64) {
        let Some(srtt_ns) = self.estimator.srtt_ns().filter(|_| self.is_linux()) else { return };
        let is_silent =
            sent_ns - self.last_activity_ns() >= srtt_ns / PROBE_PARTS.0 * PROBE_PARTS.1;
        if is_silent && self.is_open() && self.timeouts == 0 && !self.has_probed {
            (self.timer_ns, self.has_probed) = (sent_ns, true);
        }
    }

    /// Sum of the retransmission timeouts within a silence of this length.
    pub fn timeouts_within(&self, silence_ns: i64) -> i64 {
        self.estimator.timeouts_within(silence_ns.max(0), self.is_linux())
    }

    /// Times between which the last packet before a silence waited in a queue, as far as its time
    /// of sending is known. A fast retransmission is sent at the third duplicate ACK. After the
    /// fast recovery of Reno, the last acknowledgment of new data released the last packet; later
    /// duplicate ACKs did not.
    pub fn last_packet_queued_ns(&self) -> (i64, i64) {
        let is_fast = self.sent_ns == self.recovery_ns && self.sent_ns == self.resent_ns;
        let released_ns = match self.state {
            State::Recovery(_) if is_fast => self.trigger_ns,
            State::Open if self.has_left_recovery() => self.timer_ns,
            _ => self.sent_ns,
        };
        (released_ns.min(self.sent_ns), self.sent_ns)
    }

    /// True if duplicate ACKs report further losses after a fast recovery of Reno.
    fn has_left_recovery(&self) -> bool {
        self.is_reno() && self.duplicates >= THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ack, Sender, UnclassifiedRetransmission};
    use crate::answer::Kind;

    const RTT_NS: i64 = 80_000_000;

    /// Retransmission of the first of the data from 2001 to 5001, which waits from time 0 for an
    /// acknowledgment. The last data are sent at `sent_ns`; the retransmission follows after
    /// 240 ms.
    fn classify_after(sent_ns: i64) -> (Kind, i64) {
        let mut sender = Sender { snd_una: 1, has_first_of_linux: true, ..Sender::default() };
        let ack =
            Ack { ack: 2_001, rtt_ns: Some(RTT_NS), original_end: i64::MAX, ..Ack::default() };
        sender.enqueue_ack(ack);
        assert!(sender.pop_effective_ack(0, 4_001).is_some());
        sender.on_data_in_flight(sent_ns);
        sender.on_new_data(sent_ns, false);
        let attempt = UnclassifiedRetransmission {
            time_ns: sent_ns + 240_000_000,
            start: 2_001,
            end: 3_001,
            previous_ns: -1_000_000,
            is_previous_known: true,
            earliest_previous_ns: -1_000_000,
            snd_max: 5_001,
            ..UnclassifiedRetransmission::default()
        };
        let answer = sender.on_retransmission(&attempt);
        (answer.kind, answer.waited_ns)
    }

    /// RFC 8985 §7.3: the timer of the RTO restarts when the probe is sent.
    #[test]
    fn a_tail_loss_probe_with_new_data_restarts_the_timer() {
        assert_eq!(classify_after(2 * RTT_NS), (Kind::Timeout, 240_000_000));
    }

    /// RFC 6298 §5.1: other data do not restart a timer that runs.
    #[test]
    fn new_data_do_not_restart_the_timer() {
        assert_eq!(classify_after(RTT_NS), (Kind::Timeout, RTT_NS + 240_000_000));
    }

    /// Three duplicate ACKs, and the retransmission of the missing data 350 ms later, far from the
    /// sender. Before it, the path was silent for most of this time, which
    /// is shorter than the RTO of about 600 ms.
    fn classify_behind_silence(is_queued: bool) -> Kind {
        let mut sender = Sender { snd_una: 1, ..Sender::default() };
        let first = Ack { rtt_ns: Some(200_000_000), original_end: i64::MAX, ..Ack::default() };
        sender.enqueue_ack(Ack { ack: 2_001, ..first });
        for number in 1..4 {
            let effective_ns = number * 1_000_000;
            let duplicate = Ack { ack: 2_001, effective_ns, is_duplicate: true, ..first };
            sender.enqueue_ack(Ack { rtt_ns: None, ..duplicate });
        }
        while sender.pop_effective_ack(5_000_000, 9_001).is_some() {}
        let attempt = UnclassifiedRetransmission {
            time_ns: 353_000_000,
            start: 2_001,
            end: 3_001,
            previous_ns: -1_000_000,
            earliest_previous_ns: -1_000_000,
            snd_max: 9_001,
            is_far: true,
            is_time_unknown: true,
            is_queued,
            ..UnclassifiedRetransmission::default()
        };
        sender.on_retransmission(&attempt).kind
    }

    /// New data that arrive just before the retransmission have waited with it. By itself, it was
    /// sent after the silence.
    #[test]
    fn a_fast_retransmission_may_wait_behind_other_data() {
        assert_eq!(classify_behind_silence(true), Kind::Fast);
        assert_eq!(classify_behind_silence(false), Kind::Timeout);
    }
}
