//! Congestion window of a sender that is clocked by its acknowledgments.

use super::sender::Ack;

/// Number of acknowledged segments for which Linux's CUBIC adds one, before the first loss.
pub const CUBIC_FIRST: i64 = 20;

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
    /// Slow start threshold and bytes in flight before the last reduction, until it is undone.
    pub prior: Option<(Option<i64>, i64)>,
    /// True after the first loss.
    pub has_lost: bool,
    /// Position whose acknowledgment ends fast recovery; none outside of it.
    pub recovery_end: Option<i64>,
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

    /// Takes the window for one that began with `initial` bytes, although the peer's window did not
    /// permit as many.
    pub fn take_as_large(&mut self, initial: i64) {
        if !self.adds_all {
            (self.adds_all, self.bytes) = (true, self.bytes.max(initial));
        }
    }

    /// True if the sender uses too little of its window to let it grow in slow start
    /// (`tcp_is_cwnd_limited`): less than half of it, because the peer's window is small.
    fn is_unused(&self) -> bool {
        self.adds_all && self.receive_window.is_some_and(|most| self.bytes >= 2 * most)
    }

    /// Handles an acknowledgment, for segments of `segment` bytes.
    pub fn on_ack(&mut self, ack: &Ack, segment: i64) {
        self.receive_window = (ack.window >= 0).then_some(ack.window);
        let news = ack.ack - self.una;
        if news <= 0 {
            return;
        }
        self.una = ack.ack;
        // Fast recovery ends with the window at the slow start threshold.
        if let Some(end) = self.recovery_end {
            self.recovery_end = Some(end).filter(|end| ack.ack < *end);
            return;
        }
        if self.ssthresh.is_none_or(|ssthresh| self.bytes < ssthresh) {
            if self.is_unused() {
                return;
            }
            self.bytes += if self.adds_all { news } else { news.min(segment) };
            return;
        }
        if !self.adds_all {
            // RFC 5681 §3.1, equation 3.
            self.bytes += news.min(segment) * segment / self.bytes.max(segment);
            return;
        }
        self.acked += news;
        // Only CUBIC grows by more than a segment per window, before any loss.
        let is_faster = !self.has_lost;
        let most = if is_faster { CUBIC_FIRST * segment } else { i64::MAX };
        let per_segment = self.bytes.min(most);
        if self.acked >= per_segment {
            self.acked -= per_segment;
            self.bytes += segment;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(segments: i64, window: i64) -> Ack {
        Ack { ack: 1 + segments * 1_000, window: window * 1_000, ..Ack::default() }
    }

    /// The peer's window of four segments leaves most of ten unused, so the window does not grow.
    #[test]
    fn an_unused_window_does_not_grow() {
        let mut window = GrowingWindow { una: 1, bytes: 4_000, ..GrowingWindow::default() };
        window.take_as_large(10_000);
        window.on_ack(&ack(2, 4), 1_000);
        assert_eq!((window.bytes, window.end()), (10_000, 6_001));
        window.on_ack(&ack(4, 20), 1_000);
        assert_eq!((window.bytes, window.end()), (12_000, 16_001));
    }

    /// A delayed ACK covers two segments, but counts as one; and the ACK that ends a fast recovery
    /// does not count.
    #[test]
    fn congestion_avoidance_counts_acknowledgments() {
        let mut window = GrowingWindow {
            una: 1,
            bytes: 4_000,
            ssthresh: Some(4_000),
            recovery_end: Some(8_001),
            ..GrowingWindow::default()
        };
        for (segments, bytes) in [(6, 4_000), (8, 4_000), (10, 4_250), (12, 4_485)] {
            window.on_ack(&ack(segments, 20), 1_000);
            assert_eq!(window.bytes, bytes, "{segments}");
        }
    }
}
