//! Time for which acknowledgments wait in queues.

use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// Waiting times of the acknowledgments of a connection.
#[derive(Debug, Clone, Default)]
pub struct AckWaits {
    /// Acknowledgments in transit that acknowledge new data: the position up to which each
    /// acknowledges, and its time of transmission.
    sent: VecDeque<(u64, Time)>,
}

impl AckWaits {
    /// Records that an acknowledgment of everything before `acked` is sent.
    pub fn on_ack_sent(&mut self, now: Time, acked: u64) {
        if self.sent.back().is_none_or(|(last, _)| acked > *last) {
            self.sent.push_back((acked, now));
        }
    }

    /// Waiting time of the newest acknowledgment that has arrived: its time in transit minus
    /// `least`, the time with empty queues. `None` if none has arrived since the last call.
    /// `snd_una` is the sender's first unacknowledged position.
    pub fn on_ack_arrived(&mut self, now: Time, snd_una: u64, least: Duration) -> Option<Duration> {
        let count = self.sent.partition_point(|(acked, _)| *acked <= snd_una);
        let (_, at) = *self.sent.get(count.checked_sub(1)?)?;
        self.sent.drain(..count);
        Some(now.since(at).saturating_sub(least))
    }
}
