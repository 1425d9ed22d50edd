//! Arrivals inferred from duplicate ACKs, each of which counts as one segment, on connections
//! without SACK.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c`: `tcp_add_reno_sack`, `tcp_remove_reno_sacks`,
//! `tcp_limit_reno_sacked`, `tcp_check_reno_reordering`.

use super::Scoreboard;

/// Segments assumed to have arrived because of duplicate ACKs (`sacked_out`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AssumedArrivals {
    segments: u64,
    smss: u64,
    /// Number of segments covered by the last acknowledgment.
    pub last_acked_segments: u64,
    /// Number of segments in flight when there were more duplicate ACKs than segments that could
    /// have arrived; `None` if this has not happened.
    excess: Option<u64>,
}

impl AssumedArrivals {
    pub const NONE: Self = Self { segments: 0, smss: 0, last_acked_segments: 0, excess: None };

    pub const fn bytes(&self) -> u64 {
        self.segments * self.smss
    }
}

impl Scoreboard {
    /// True if the last acknowledgment has covered a segment.
    pub fn has_advanced(&self) -> bool {
        self.assumed.last_acked_segments > 0
    }

    /// Handles a duplicate ACK: another segment of `smss` bytes has arrived. Returns the number of
    /// segments newly assumed to have arrived.
    pub fn assume_arrival(&mut self, smss: u32) -> u64 {
        let before = self.assumed.segments;
        self.assumed.smss = smss.into();
        self.assumed.segments += 1;
        self.limit_assumed(0);
        self.assumed.segments.saturating_sub(before)
    }

    /// Handles an acknowledgment that covers segments: the first of them filled the hole, the
    /// others may be those assumed to have arrived. Returns the number newly delivered.
    pub fn remove_assumed_arrivals(&mut self) -> u64 {
        let covered = self.assumed.last_acked_segments;
        let delivered = covered.saturating_sub(self.assumed.segments).max(1);
        // One of the covered segments filled the hole; no duplicate ACK has been counted for it.
        self.assumed.segments = self.assumed.segments.saturating_sub(covered - 1);
        self.limit_assumed(covered);
        delivered
    }

    /// Limits the assumed arrivals: no segment marked lost has arrived, and at least one segment in
    /// flight has not.
    fn limit_assumed(&mut self, covered: u64) {
        let flight = self.records.len() as u64;
        let most = flight - self.marked_segments.max(1).min(flight);
        if self.assumed.segments > most {
            self.assumed.segments = most;
            // More duplicates than segments in flight: some ACKs were of reordered data
            // (`tcp_check_reno_reordering`).
            self.assumed.excess = Some(flight + covered);
        }
    }

    /// Number of segments assumed to have arrived because of duplicate ACKs.
    pub const fn assumed_arrivals(&self) -> u64 {
        self.assumed.segments
    }

    /// Discards assumed arrivals, which have been acknowledged meanwhile or were assumed wrongly.
    pub fn forget_assumed_arrivals(&mut self) {
        self.assumed.segments = 0;
    }

    /// Returns, once, the reordering in segments if there were more duplicates than segments that
    /// could have arrived.
    pub fn take_reordering(&mut self) -> Option<u64> {
        self.assumed.excess.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Delivered;
    use retx_units::Time;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for segment in 0..segments {
            board.push(Time::ZERO, 1 + 1000 * segment, 1000);
        }
        board
    }

    /// Ten segments are in flight, and the first is lost: at most nine duplicates count, and the
    /// ACK of all ten counts one more.
    #[test]
    fn each_duplicate_stands_for_one_segment() {
        let mut board = board(10);
        for _ in 0..9 {
            assert_eq!(board.assume_arrival(1000), 1);
        }
        assert_eq!((board.pipe(10_000), board.take_reordering()), (1_000, None));
        board.acknowledge(10_001, &[], &mut Delivered::default());
        assert_eq!((board.remove_assumed_arrivals(), board.assumed_arrivals()), (1, 0));
    }

    #[test]
    fn more_duplicates_than_segments_are_reordering() {
        let mut board = board(3);
        assert_eq!([(); 4].map(|()| board.assume_arrival(1000)), [1, 1, 0, 0]);
        assert_eq!((board.take_reordering(), board.take_reordering()), (Some(3), None));
    }

    /// Three of five segments are assumed to have arrived: after an ACK of two segments, two
    /// assumed arrivals are left.
    #[test]
    fn an_acknowledgment_fills_a_hole_first() {
        let mut board = board(5);
        for _ in 0..3 {
            board.assume_arrival(1000);
        }
        board.acknowledge(2_001, &[], &mut Delivered::default());
        assert_eq!((board.remove_assumed_arrivals(), board.assumed_arrivals()), (1, 2));
        board.acknowledge(2_001, &[], &mut Delivered::default());
        assert!(!board.has_advanced());
    }
}
