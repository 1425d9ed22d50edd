//! Growth in whole segments, as Linux counts it (`net/ipv4/tcp_cong.c`).

use super::{Ack, Loss, Window};

/// Counter of acknowledged segments towards the next increase.
#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentCounter {
    /// Segments acknowledged since the last increase.
    pub acked_segments: u64,
    /// SND.MAX at the last reduction (Linux `high_seq`). Until everything before it is
    /// acknowledged, a timeout keeps `ssthresh`.
    reduced_until: u64,
}

/// The window in whole segments, at least one.
pub(crate) fn cwnd_segments(window: &Window) -> u64 {
    (window.cwnd / u64::from(window.smss)).max(1)
}

/// Converts segments to bytes.
pub(crate) fn segments_to_bytes(window: &Window, segments: u64) -> u64 {
    segments.saturating_mul(window.smss.into())
}

/// Segments newly delivered by an acknowledgment.
pub(crate) fn delivered_segments(window: &Window, ack: &Ack) -> u64 {
    ack.delivered.div_ceil(window.smss.into())
}

/// Slow start: the window grows by one segment per segment acknowledged, up to `ssthresh`. Returns
/// the segments left over for congestion avoidance.
pub(crate) fn grow_in_slow_start(window: &mut Window, acked: u64) -> u64 {
    let before = window.cwnd;
    window.cwnd = before.saturating_add(segments_to_bytes(window, acked)).min(window.ssthresh);
    acked.saturating_sub((window.cwnd - before).div_ceil(window.smss.into()))
}

/// Grows the window in slow start, if the window limits the sender. Returns the segments that count
/// for congestion avoidance; `None` if there is nothing more to do.
pub(crate) fn slow_start(window: &mut Window, ack: &Ack) -> Option<u64> {
    if !ack.cwnd_limited {
        return None;
    }
    let acked = delivered_segments(window, ack);
    if !window.in_slow_start() {
        return Some(acked);
    }
    Some(grow_in_slow_start(window, acked)).filter(|rest| *rest > 0)
}

impl SegmentCounter {
    /// Adds one segment to the window for every `per` segments acknowledged.
    pub fn grow_additively(&mut self, window: &mut Window, per: u64, acked: u64) {
        if self.acked_segments >= per {
            // A count collected while `per` was larger yields one segment at most.
            self.acked_segments = 0;
            window.cwnd = window.cwnd.saturating_add(window.smss.into());
        }
        self.acked_segments = self.acked_segments.saturating_add(acked);
        if self.acked_segments >= per {
            let more = self.acked_segments / per;
            self.acked_segments %= per;
            window.cwnd = window.cwnd.saturating_add(segments_to_bytes(window, more));
        }
    }

    /// Grows the window as Reno does, but only while the window limits the sender.
    pub fn grow_like_reno(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(acked) = slow_start(window, ack) {
            self.grow_additively(window, cwnd_segments(window), acked);
        }
    }

    /// Handles a loss detected by duplicate or selective ACKs: `ssthresh`, given in segments, is at
    /// least 2.
    pub fn reduce(&mut self, window: &mut Window, loss: &Loss, ssthresh: u64) {
        window.ssthresh = segments_to_bytes(window, ssthresh.max(2));
        // The window may be less than two segments; a loss must not raise it.
        window.cwnd = window.ssthresh.min(window.cwnd);
        self.reduced_until = loss.snd_max;
        self.acked_segments = 0;
    }

    /// Handles the undo of the reduction: a timeout may then set `ssthresh` again (Linux
    /// `tcp_enter_loss`).
    pub fn undo(&mut self) {
        self.reduced_until = 0;
    }

    /// Handles a timeout. Returns true if `ssthresh` is kept, because the window has been reduced
    /// already, or the same segment has timed out before.
    pub fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) -> bool {
        // `tcp_enter_loss` sets ssthresh only once `high_seq` of the last reduction is
        // acknowledged.
        let reduced = repeated || loss.snd_una < self.reduced_until;
        window.cwnd = window.smss.into();
        self.reduced_until = loss.snd_max;
        self.acked_segments = 0;
        reduced
    }

    /// Handles a timeout as Reno does: `ssthresh` is half the window, unless it is kept.
    pub fn halve_at_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.reduce_at_timeout(window, loss, repeated, cwnd_segments(window) / 2);
    }

    /// Handles a timeout. Unless it is kept, `ssthresh` becomes the given number of segments, and
    /// at least 2.
    pub fn reduce_at_timeout(
        &mut self,
        window: &mut Window,
        loss: &Loss,
        repeated: bool,
        ssthresh: u64,
    ) {
        if !self.on_timeout(window, loss, repeated) {
            window.ssthresh = segments_to_bytes(window, ssthresh.max(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at, loss, window};
    use super::*;

    #[test]
    fn slow_start_ends_at_the_threshold_and_hands_on_the_rest() {
        let mut window = window(9, 10);
        assert_eq!(grow_in_slow_start(&mut window, 4), 3);
        assert_eq!(window.cwnd, 10_000);
    }

    #[test]
    fn reno_grows_a_segment_per_window() {
        let (mut segments, mut window) = (SegmentCounter::default(), window(10, 2));
        for n in 0..10 {
            assert_eq!(window.cwnd, 10_000, "after {n}");
            segments.grow_like_reno(&mut window, &ack(at(0), 1000));
        }
        assert_eq!(window.cwnd, 11_000);
        let idle = Ack { cwnd_limited: false, ..ack(at(0), 11_000) };
        segments.grow_like_reno(&mut window, &idle);
        assert_eq!(window.cwnd, 11_000);
    }

    #[test]
    fn what_is_left_over_counts_for_the_next() {
        let (mut segments, mut window) = (SegmentCounter::default(), window(10, 2));
        segments.grow_additively(&mut window, 10, 25);
        assert_eq!((window.cwnd, segments.acked_segments), (12_000, 5));
        segments.grow_additively(&mut window, 10, 5);
        assert_eq!((window.cwnd, segments.acked_segments), (13_000, 0));
        segments.acked_segments = 30;
        segments.grow_additively(&mut window, 10, 4);
        assert_eq!(
            (window.cwnd, segments.acked_segments),
            (14_000, 4),
            "old credit is spent gently"
        );
    }

    #[test]
    fn a_window_is_reduced_once() {
        let (mut segments, mut window) = (SegmentCounter::default(), window(10, 99));
        segments.reduce(&mut window, &loss(at(0), 10), 5);
        assert_eq!((window.cwnd, window.ssthresh), (5_000, 5_000));
        assert!(segments.on_timeout(&mut window, &loss(at(1), 10), false));
        let later = Loss { snd_una: 20_000, snd_max: 30_000, ..loss(at(2), 10) };
        assert!(!segments.on_timeout(&mut window, &later, false));
    }

    /// `tcp_enter_loss` sets ssthresh once everything before `high_seq` is acknowledged, that is,
    /// when SND.UNA has reached it.
    #[test]
    fn a_reduction_lasts_until_its_data_are_acknowledged() {
        for (snd_una, kept) in [(1, true), (10_000, true), (10_001, false), (10_002, false)] {
            let (mut segments, mut window) = (SegmentCounter::default(), window(10, 99));
            segments.reduce(&mut window, &loss(at(0), 10), 5);
            let later = Loss { snd_una, snd_max: 30_000, ..loss(at(1), 10) };
            assert_eq!(segments.on_timeout(&mut window, &later, false), kept, "{snd_una}");
        }
    }
}
