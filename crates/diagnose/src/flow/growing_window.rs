//! Congestion window of a sender that is clocked by its acknowledgments.

use super::sender::Ack;

/// Number of acknowledged segments for which Linux's CUBIC adds one, before the first loss.
const CUBIC_FIRST: i64 = 20;

/// Congestion window that grows with acknowledgments.
#[derive(Debug, Clone, Copy, Default)]
pub struct GrowingWindow {
    /// Highest cumulative acknowledgment.
    pub una: i64,
    /// Bytes; 0 if unknown.
    pub bytes: i64,
    /// Bytes acknowledged since the window last grew, in congestion avoidance.
    pub acked: i64,
    /// Receive window in bytes; none if unknown.
    pub receive_window: Option<i64>,
    /// Slow start threshold in bytes; none before the sender leaves slow start.
    pub ssthresh: Option<i64>,
    /// True after the first loss.
    pub has_lost: bool,
    /// True if slow start adds all acknowledged bytes.
    pub adds_all: bool,
    /// Position after the last partial segment.
    pub partial_end: i64,
}

impl GrowingWindow {
    /// Position up to which the window permits to send.
    pub fn end(&self) -> i64 {
        self.una + self.receive_window.map_or(self.bytes, |window| window.min(self.bytes))
    }

    /// True if the sender may send the data from `start` to `end`, in segments of `segment` bytes.
    /// Linux holds a partial segment until the one before it is acknowledged
    /// (`tcp_minshall_check`).
    pub fn permits(&self, start: i64, end: i64, segment: i64) -> bool {
        let is_held = self.adds_all && end - start < segment && self.una < self.partial_end;
        end <= self.end() && !is_held
    }

    /// Handles an acknowledgment, for segments of `segment` bytes.
    pub fn on_ack(&mut self, ack: &Ack, segment: i64) {
        self.receive_window = (ack.window >= 0).then_some(ack.window);
        let news = ack.ack - self.una;
        if news <= 0 {
            return;
        }
        self.una = ack.ack;
        if self.ssthresh.is_none_or(|ssthresh| self.bytes < ssthresh) {
            self.bytes += if self.adds_all { news } else { news.min(segment) };
            return;
        }
        self.acked += news;
        // Only CUBIC grows by more than a segment per window, before any loss.
        let is_faster = self.adds_all && !self.has_lost;
        let most = if is_faster { CUBIC_FIRST * segment } else { i64::MAX };
        let per_segment = self.bytes.min(most);
        if self.acked >= per_segment {
            self.acked -= per_segment;
            self.bytes += segment;
        }
    }
}
