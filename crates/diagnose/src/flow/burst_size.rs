//! Sizes of the bursts that acknowledgments release, which tell when slow start is over.
//!
//! *Rule.* Linux marks the last segment of a burst of several with PSH, but not a single segment
//! (Linux commit 051ba67447de, "tcp: force a PSH flag on TSO packets"). In slow start an
//! acknowledgment of one segment releases two. Single segments one after the other, each released
//! by the acknowledgment of one segment, show that slow start is over; pairs show that it goes on.
//! Acknowledgments within a millisecond may release one burst together (`tcp_tso_should_defer`), so
//! that the size of the burst tells nothing. Only single segments, each released by the
//! acknowledgment of one, mean a window that does not grow, as BBR's. A whole window of pairs after
//! its end is not released by acknowledgments: BBR paces pairs. Queues do not hide this.

/// Number of single segments in a row that show the end of slow start. The number is a convention:
/// single segments also occur where a pair does not fit into a window.
const SINGLES_MIN: u32 = 3;
/// Number of acknowledgments of one segment in a row, and of segments sent since their first and
/// after the expected end of slow start, from which on pairs show that slow start goes on
/// (conventions).
const ACKS_MIN: u32 = 8;
const SEGMENTS_MIN: u32 = 16;
/// Longest time since its last segment for which Linux defers the next one until it can send a
/// larger burst (`tcp_tso_should_defer`).
const DEFERRED_NS: i64 = 1_000_000;

/// Bursts of a sender that marks their ends.
#[derive(Debug, Default)]
pub struct BurstSizes {
    /// True if the newest segment has no PSH, and the position after it.
    is_open: bool,
    end: i64,
    /// Number of single segments in a row.
    singles: u32,
    /// Number of pairs in a row.
    pairs: u32,
    /// Time of the last acknowledgment.
    ack_ns: i64,
    /// Number of acknowledgments of one segment in a row, each of which released its own burst.
    single_acks: u32,
    /// Number of acknowledgments of several segments in a row.
    wide_acks: u32,
    /// Number of single segments in a row that followed enough such acknowledgments.
    spread: u32,
    /// True once single segments have shown that slow start is over.
    is_over: bool,
    /// The expected end of slow start, if it is neither confirmed nor refuted.
    expected: Option<ExpectedEnd>,
    /// True if pairs have refuted an expected end.
    is_refuted: bool,
}

/// End of slow start that the model of the sender expects.
#[derive(Debug, Clone, Copy)]
struct ExpectedEnd {
    /// Position from which on data were sent after it.
    position: i64,
    /// Number of segments sent after it, and after acknowledgments of one segment.
    segments: u32,
    /// Bytes that were acknowledged since.
    acked: i64,
}

/// Evidence of bursts on whether slow start is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowStart {
    /// No evidence.
    Unknown,
    /// Slow start is over, but this number of segments in a row were sent in pairs.
    Pairs(u32),
    /// Single segments, this number in a row, show that it is over.
    Over(u32),
    /// Single segments although acknowledgments cover several: they have not released them.
    Spread,
    /// Pairs show that it goes on, after the expected end, since which so many bytes were
    /// acknowledged.
    GoesOn(i64),
}

impl BurstSizes {
    /// Handles an acknowledgment of `acked` bytes, in segments of `segment` bytes, that reaches the
    /// sender at this time.
    pub fn on_ack(&mut self, time_ns: i64, acked: i64, segment: i64) {
        let since_ns = time_ns - std::mem::replace(&mut self.ack_ns, time_ns);
        let is_wide = acked > segment;
        self.wide_acks = if is_wide { self.wide_acks.saturating_add(1) } else { 0 };
        let is_single = !is_wide && since_ns > DEFERRED_NS;
        self.single_acks = if is_single { self.single_acks.saturating_add(1) } else { 0 };
        if let Some(expected) = &mut self.expected {
            expected.acked += acked;
        }
    }

    /// Expects the end of slow start; all data before `position` were sent before it. Returns false
    /// if bursts have refuted an earlier expectation.
    pub fn expect_end(&mut self, position: i64) -> bool {
        if !self.is_refuted {
            self.expected = Some(ExpectedEnd { position, segments: 0, acked: 0 });
        }
        !self.is_refuted
    }

    /// True if slow start has gone on after its expected end.
    pub const fn is_refuted(&self) -> bool {
        self.is_refuted
    }

    /// Handles a full segment from `start` to `end`.
    pub fn on_segment(&mut self, start: i64, end: i64, is_pushed: bool) -> SlowStart {
        let was_open = std::mem::replace(&mut self.is_open, !is_pushed);
        let is_single = was_open && !is_pushed;
        // A full queue loses the second segment of each pair, which then looks like a single one.
        let is_next = std::mem::replace(&mut self.end, end) == start;
        self.singles = if is_single && is_next { self.singles.saturating_add(1) } else { 0 };
        let is_spread = self.singles > 0 && self.wide_acks >= ACKS_MIN;
        self.spread = if is_spread { self.spread + 1 } else { 0 };
        if self.spread >= ACKS_MIN {
            return SlowStart::Spread;
        }
        if is_pushed || is_single || !is_next {
            let is_pair = is_pushed && was_open && is_next;
            self.pairs = if is_pair { self.pairs.saturating_add(1) } else { 0 };
        }
        if self.singles >= SINGLES_MIN {
            (self.expected, self.is_over) = (None, true);
            return SlowStart::Over(self.singles);
        }
        if self.is_over && self.pairs > 0 && self.single_acks >= ACKS_MIN {
            return SlowStart::Pairs(2 * self.pairs);
        }
        let Some(expected) = self.expected.as_mut().filter(|it| start >= it.position) else {
            return SlowStart::Unknown;
        };
        // An acknowledgment of two segments releases a pair in any case.
        expected.segments = if self.single_acks == 0 { 0 } else { expected.segments + 1 };
        let acked = expected.acked;
        if expected.segments < SEGMENTS_MIN || self.single_acks < ACKS_MIN {
            return SlowStart::Unknown;
        }
        (self.expected, self.is_refuted) = (None, true);
        SlowStart::GoesOn(acked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(sizes: &mut BurstSizes, number: i64, is_pushed: bool) -> SlowStart {
        sizes.on_segment(1_000 * number, 1_000 * (number + 1), is_pushed)
    }

    #[test]
    fn single_segments_end_slow_start_and_pairs_do_not() {
        let mut sizes = BurstSizes::default();
        for number in 0..20 {
            sizes.on_ack(number * 2_000_000, 1_000, 1_000);
            assert_eq!(segment(&mut sizes, number, number % 2 == 1), SlowStart::Unknown);
        }
        assert!(sizes.expect_end(20_000));
        sizes.on_ack(50_000_000, 1_000, 1_000);
        let evidence: Vec<_> =
            (20..40).map(|number| segment(&mut sizes, number, number % 2 == 1)).collect();
        assert_eq!(evidence[15], SlowStart::GoesOn(1_000));
        assert!(!sizes.expect_end(50_000));
        let evidence: Vec<_> = (40..44).map(|number| segment(&mut sizes, number, false)).collect();
        assert_eq!(evidence[3], SlowStart::Over(3));
        sizes.single_acks = ACKS_MIN;
        assert_eq!(segment(&mut sizes, 44, true), SlowStart::Pairs(2));
        segment(&mut sizes, 45, false);
        assert_eq!(segment(&mut sizes, 46, true), SlowStart::Pairs(4));
        // Every second segment has been lost.
        for number in (48..60).step_by(2) {
            assert_eq!(segment(&mut sizes, number, false), SlowStart::Unknown);
        }
    }

    /// Acknowledgments release pairs after the end of slow start, too, if each covers two segments,
    /// or if Linux defers the first segment until the second may follow.
    #[test]
    fn pairs_that_acknowledgments_release_together_tell_nothing() {
        for (apart_ns, acked) in [(2_000_000, 2_000), (900_000, 1_000)] {
            let mut sizes = BurstSizes::default();
            assert!(sizes.expect_end(0));
            for number in 0..40 {
                sizes.on_ack(number * apart_ns, acked, 1_000);
                assert_eq!(segment(&mut sizes, number, number % 2 == 1), SlowStart::Unknown);
            }
            // Single acknowledgments show something only from the segments that they release on.
            for number in 40..40 + i64::from(ACKS_MIN) {
                sizes.on_ack(number * 2_000_000, 1_000, 1_000);
            }
            assert_eq!(segment(&mut sizes, 40, false), SlowStart::Unknown);
        }
    }

    /// An unpaced sender answers an acknowledgment of two segments with two or more.
    #[test]
    fn single_segments_after_acknowledgments_of_two_are_paced() {
        let mut sizes = BurstSizes::default();
        let mut evidence = (0..20).map(|number| {
            sizes.on_ack(number * 2_000_000, 2_000, 1_000);
            segment(&mut sizes, number, false)
        });
        // After the eighth acknowledgment, the eighth segment.
        assert_eq!(evidence.position(|it| it == SlowStart::Spread), Some(14));
    }
}
