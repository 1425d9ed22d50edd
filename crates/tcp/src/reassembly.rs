//! Data that arrived out of order: which ranges of the stream wait for the gap before them to fill.

use retx_wire::{SackBlock, SackBlocks};

/// A range of positions, `left` to `right` − 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    left: u64,
    right: u64,
}

/// Disjoint ranges beyond `RCV.NXT`, in ascending order, with gaps between them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reassembly {
    ranges: Vec<Range>,
    /// A position in each of the ranges that arrivals touched last, newest first: the order of the
    /// SACK option (RFC 2018 §4).
    recent: [u64; 4],
}

impl Reassembly {
    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Stores an arrival, merging it with what touches it.
    pub fn insert(&mut self, left: u64, right: u64) {
        let first = self.ranges.partition_point(|range| range.right < left);
        let after = self.ranges.partition_point(|range| range.left <= right);
        let merged = if first < after {
            Range {
                left: left.min(self.ranges[first].left),
                right: right.max(self.ranges[after - 1].right),
            }
        } else {
            Range { left, right }
        };
        self.ranges.splice(first..after, [merged]);
        self.note_arrival(left);
    }

    /// Takes out what continues the stream at `rcv_nxt`; returns the new `RCV.NXT`.
    pub fn take_in_order(&mut self, mut rcv_nxt: u64) -> u64 {
        let ready = self.ranges.partition_point(|range| range.left <= rcv_nxt);
        for range in self.ranges.drain(..ready) {
            rcv_nxt = rcv_nxt.max(range.right);
        }
        rcv_nxt
    }

    /// True when all of `left` … `right` − 1 waits here.
    pub fn contains(&self, left: u64, right: u64) -> bool {
        self.range_at(left).is_some_and(|range| right <= range.right)
    }

    /// Up to `limit` SACK blocks, the one that the newest arrival belongs to first; `wire` maps
    /// positions to sequence numbers.
    pub fn sack_blocks(&self, limit: usize, wire: impl Fn(u64) -> retx_units::SeqNr) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut told: [u64; 4] = [u64::MAX; 4];
        let mut count = 0;
        for position in self.recent {
            if count == limit {
                break;
            }
            let Some(range) = self.range_at(position) else { continue };
            if !told[..count].contains(&range.left) {
                told[count] = range.left;
                count += 1;
                blocks.push(SackBlock { left: wire(range.left), right: wire(range.right) });
            }
        }
        blocks
    }

    fn range_at(&self, position: u64) -> Option<&Range> {
        let index = self.ranges.partition_point(|range| range.right <= position);
        self.ranges.get(index).filter(|range| range.left <= position)
    }

    /// Moves the newest arrival's range to the front of the order.
    fn note_arrival(&mut self, position: u64) {
        let newest = self.range_at(position).map(|range| range.left);
        let old = self
            .recent
            .iter()
            .position(|known| self.range_at(*known).map(|range| range.left) == newest)
            .unwrap_or(self.recent.len() - 1);
        self.recent[..=old].rotate_right(1);
        self.recent[0] = position;
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
        reassembly.insert(60, 70);
        reassembly.insert(30, 35);
        assert_eq!(blocks(&reassembly), [(20, 35), (60, 70), (40, 50)]);
        reassembly.insert(35, 40);
        assert_eq!(blocks(&reassembly), [(20, 50), (60, 70)]);
        assert_eq!(reassembly.take_in_order(20), 50);
        assert_eq!(blocks(&reassembly), [(60, 70)]);
    }

    proptest! {
        /// Against a set of single positions.
        #[test]
        fn agrees_with_a_set(arrivals in prop::collection::vec((1u64..200, 1u64..20), 1..60)) {
            let mut reassembly = Reassembly::default();
            let mut set = std::collections::BTreeSet::new();
            for (left, length) in arrivals {
                reassembly.insert(left, left + length);
                set.extend(left..left + length);
                for probe in 0..220u64 {
                    prop_assert_eq!(reassembly.contains(probe, probe + 1), set.contains(&probe));
                }
                for pair in reassembly.ranges.windows(2) {
                    prop_assert!(pair[0].right < pair[1].left);
                }
                let told = reassembly.sack_blocks(4, |position| SeqNr(position as u32));
                let first = told.as_slice()[0];
                prop_assert!((u64::from(first.left.0)..u64::from(first.right.0)).contains(&left));
            }
            let mut next = 1;
            while set.contains(&next) {
                next += 1;
            }
            prop_assert_eq!(reassembly.take_in_order(1), next);
        }
    }
}
