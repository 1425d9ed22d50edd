//! Silences of the sender, and the timers that end them.

use super::{Sender, State, THRESHOLD};

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
