//! Time for which acknowledgments wait in queues.

use retx_link::ring::Ring;
use retx_units::{Duration, Time};

/// Waiting times of the acknowledgments of a connection.
#[derive(Debug, Clone, Default)]
pub struct AckWaits {
    /// Acknowledgments in transit that acknowledge new data: the position up to which each
    /// acknowledges, and its time of transmission.
    sent: Ring<(u64, Time)>,
}

impl AckWaits {
    /// Records that an acknowledgment of everything before `acked` is sent.
    pub fn on_ack_sent(&mut self, now: Time, acked: u64) {
        let last = self.sent.len().checked_sub(1).and_then(|last| self.sent.get(last));
        if last.is_none_or(|(last, _)| acked > *last) {
            self.sent.push_back((acked, now));
        }
    }

    /// Prefetches the place of the next acknowledgment to be sent (`sends`), or to arrive.
    pub fn prefetch(&self, sends: bool) {
        self.sent.prefetch(if sends { self.sent.len() as u32 } else { 0 });
    }

    /// Waiting time of the newest acknowledgment that has arrived: its time in transit minus
    /// `least`, the time with empty queues. `None` if none has arrived since the last call.
    /// `snd_una` is the sender's first unacknowledged position.
    pub fn on_ack_arrived(&mut self, now: Time, snd_una: u64, least: Duration) -> Option<Duration> {
        let mut newest = None;
        while let Some((_, at)) = self.sent.front().filter(|(acked, _)| *acked <= snd_una) {
            newest = Some(*at);
            self.sent.drop_front();
        }
        let at = newest?;
        Some(now.since(at).saturating_sub(least))
    }
}
