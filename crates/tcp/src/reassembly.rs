//! Reassembly of data that arrived out of order: ranges of the stream beyond a gap.

use crate::lazy::LazyDefault;
use crate::ranges::Ranges;
use retx_wire::{SackBlock, SackBlocks};

/// Start of an arrived segment, and the range of data that contains it. The range of an unused
/// entry is empty.
#[derive(Debug, Clone, Copy, Default)]
struct Arrival {
    position: u64,
    range: (u64, u64),
}

/// Data beyond `RCV.NXT`, and their order of arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reassembly {
    ranges: Ranges,
    /// Up to four recent arrivals, newest first, each with the range that now contains it; several
    /// may lie in one range. Their order is that of the blocks in the SACK option (RFC 2018 §4).
    recent: [Arrival; 4],
}

impl LazyDefault for Reassembly {
    const DEFAULT: &'static Self =
        &Self { ranges: Ranges::EMPTY, recent: [Arrival { position: 0, range: (0, 0) }; 4] };
}

impl Reassembly {
    /// True if there are no out-of-order data.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Position after the last out-of-order byte.
    pub fn end(&self) -> Option<u64> {
        self.ranges.end()
    }

    /// Stores an arrival, merging it with adjacent ranges.
    pub fn insert(&mut self, left: u64, right: u64) {
        let range = self.ranges.insert(left, right);
        self.note_arrival(left, range);
    }

    /// Handles an arrival beyond or at a gap; returns the new `RCV.NXT`.
    pub fn insert_and_advance(&mut self, rcv_nxt: u64, left: u64, right: u64) -> u64 {
        if left == rcv_nxt {
            return self.advance_over_gap(rcv_nxt, right);
        }
        self.insert(left, right);
        rcv_nxt
    }

    /// Delivers an arrival at `rcv_nxt` and the ranges that follow it without a gap; returns the
    /// new `RCV.NXT`. The other ranges keep their places in the order of the SACK option (RFC 2018
    /// §4; Linux, `tcp_sack_remove`): an arrival in order does not become a block, so it must not
    /// displace one.
    pub fn advance_over_gap(&mut self, rcv_nxt: u64, right: u64) -> u64 {
        self.ranges.insert(rcv_nxt, right);
        let end = self.ranges.remove_through(rcv_nxt);
        let recent = std::mem::take(&mut self.recent);
        let beyond = recent.into_iter().filter(|arrival| arrival.position >= end);
        for (place, arrival) in self.recent.iter_mut().zip(beyond) {
            *place = arrival;
        }
        end
    }

    /// True if all of `left` … `right` − 1 has arrived out of order.
    pub fn contains(&self, left: u64, right: u64) -> bool {
        self.ranges.contains(left, right)
    }

    /// First part of `left` … `right` − 1 that is missing from the data received out of order.
    pub fn first_gap(&self, left: u64, right: u64) -> Option<(u64, u64)> {
        self.ranges.first_gap(left, right)
    }

    /// First part of `left` … `right` − 1 that has arrived out of order.
    pub fn first_overlap(&self, left: u64, right: u64) -> Option<(u64, u64)> {
        self.ranges.first_overlap(left, right)
    }

    /// Up to `limit` SACK blocks, beginning with the block of the newest arrival; `wire` maps
    /// positions to sequence numbers.
    pub fn sack_blocks(&self, limit: usize, wire: impl Fn(u64) -> retx_units::SeqNr) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut count = 0;
        for (index, Arrival { range, .. }) in self.recent.iter().enumerate() {
            let reported = self.recent[..index].iter().any(|before| before.range.0 == range.0);
            if count < limit && range.1 > 0 && !reported {
                count += 1;
                blocks.push(SackBlock { left: wire(range.0), right: wire(range.1) });
            }
        }
        blocks
    }

    /// Number of blocks before the first one, in the order of the SACK option, that `left` …
    /// `right` − 1 touch or overlap; the number of all blocks if they touch none.
    pub fn newer_blocks(&self, left: u64, right: u64) -> usize {
        let mut newer = 0;
        for (index, Arrival { range, .. }) in self.recent.iter().enumerate() {
            if range.1 > 0 && left <= range.1 && range.0 <= right {
                break;
            }
            let counted = self.recent[..index].iter().any(|before| before.range.0 == range.0);
            newer += usize::from(range.1 > 0 && !counted);
        }
        newer
    }

    /// Records the newest arrival as the first in the order of SACK blocks.
    fn note_arrival(&mut self, position: u64, range: (u64, u64)) {
        let mut old = self.recent.len() - 1;
        for (index, arrival) in self.recent.iter_mut().enumerate().rev() {
            if range.0 <= arrival.position && arrival.position < range.1 {
                arrival.range = range;
                old = index;
            }
        }
        // An arrival that continues the newest range, the usual case, moves none of the others.
        if old > 0 {
            self.recent.copy_within(..old, 1);
        }
        self.recent[0] = Arrival { position, range };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use retx_units::SeqNr;

    fn blocks(reassembly: &Reassembly) -> Vec<(u32, u32)> {
        let blocks = reassembly.sack_blocks(4, |position| SeqNr(position as u32));
        blocks.as_slice().iter().map(|block| (block.left.0, block.right.0)).collect()
    }

    #[test]
    fn newest_block_comes_first() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(20, 30);
        reassembly.insert(40, 50);
        assert_eq!(blocks(&reassembly), [(40, 50), (20, 30)]);
        assert_eq!(
            [(10, 20), (50, 60), (51, 60)].map(|(a, b)| reassembly.newer_blocks(a, b)),
            [1, 0, 2]
        );
        reassembly.insert(60, 70);
        reassembly.insert(30, 35);
        assert_eq!(
            [(30, 31), (35, 36), (38, 40)].map(|(a, b)| reassembly.newer_blocks(a, b)),
            [0, 0, 2]
        );
        assert_eq!(blocks(&reassembly), [(20, 35), (60, 70), (40, 50)]);
        reassembly.insert(35, 40);
        assert_eq!(blocks(&reassembly), [(20, 50), (60, 70)]);
        assert_eq!(reassembly.advance_over_gap(10, 20), 50);
        assert_eq!(blocks(&reassembly), [(60, 70)]);
    }

    proptest! {
        /// RFC 2018 §4: the first block contains the newest arrival; each block is reported once.
        #[test]
        fn the_first_block_holds_the_newest(
            arrivals in prop::collection::vec((1u64..200, 1u64..20), 1..60),
        ) {
            let mut reassembly = Reassembly::default();
            for (left, length) in arrivals {
                reassembly.insert(left, left + length);
                let reported = blocks(&reassembly);
                prop_assert!((reported[0].0..reported[0].1).contains(&(left as u32)));
                for (index, block) in reported.iter().enumerate() {
                    prop_assert!(!reported[..index].contains(block));
                    prop_assert!(reassembly.contains(block.0.into(), block.1.into()));
                }
            }
        }

        /// RFC 2018 §4: after a gap is filled, the blocks beyond it remain in the option.
        #[test]
        fn filling_a_gap_forgets_no_block(
            arrivals in prop::collection::vec((10u64..200, 1u64..5), 1..40),
            fills in prop::collection::vec(1u64..20, 1..20),
        ) {
            let mut reassembly = Reassembly::default();
            for (left, length) in arrivals {
                reassembly.insert(left, left + length);
            }
            let mut rcv_nxt = 1;
            for length in fills {
                let before = blocks(&reassembly);
                rcv_nxt = reassembly.advance_over_gap(rcv_nxt, rcv_nxt + length);
                let beyond = before.into_iter().filter(|block| u64::from(block.0) > rcv_nxt);
                prop_assert_eq!(blocks(&reassembly), beyond.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn gaps_and_overlaps_are_found() {
        let mut reassembly = Reassembly::default();
        assert_eq!((reassembly.end(), reassembly.first_overlap(1, 99)), (None, None));
        assert_eq!(reassembly.first_gap(1, 99), Some((1, 99)));
        reassembly.insert(20, 30);
        reassembly.insert(40, 50);
        assert_eq!(reassembly.end(), Some(50));
        assert_eq!(reassembly.first_gap(10, 35), Some((10, 20)));
        assert_eq!(reassembly.first_gap(20, 99), Some((30, 40)));
        assert_eq!(reassembly.first_gap(20, 30), None);
        assert_eq!(reassembly.first_overlap(10, 45), Some((20, 30)));
        assert_eq!(reassembly.first_overlap(30, 45), Some((40, 45)));
        assert_eq!(reassembly.first_overlap(30, 40), None);
    }
}
