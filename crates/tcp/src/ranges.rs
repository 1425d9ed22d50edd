//! Sets of positions, stored as ranges. Most changes are at the two ends: acknowledgments remove
//! the lowest positions, and transmissions add the highest.

use crate::work;
use std::collections::VecDeque;
use std::ops;

/// Range (`left`, `right`): the positions from `left` to `right` − 1.
type Range = (u64, u64);

/// Disjoint ranges in ascending order, with gaps between them.
#[derive(Debug, Clone, Default)]
pub struct Ranges(VecDeque<Range>);

impl Ranges {
    /// Empty set.
    pub const EMPTY: Self = Self(VecDeque::new());

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Position after the highest one in the set; `None` if the set is empty.
    pub fn end(&self) -> Option<u64> {
        self.0.back().map(|range| range.1)
    }

    /// Ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range> {
        self.0.iter().copied()
    }

    /// Adds `left` … `right` − 1, merging adjacent ranges; returns the resulting range.
    #[inline(always)]
    pub fn insert(&mut self, left: u64, right: u64) -> Range {
        match self.0.back_mut() {
            // New positions nearly always lie at the end.
            Some(last) if (last.0..=last.1).contains(&left) => {
                last.1 = last.1.max(right);
                *last
            }
            _ => self.insert_elsewhere(left, right),
        }
    }

    #[inline(never)]
    fn insert_elsewhere(&mut self, left: u64, right: u64) -> Range {
        match self.0.back() {
            Some(last) if left < last.0 => self.insert_below(left, right),
            _ => {
                work::steps(1);
                self.0.push_back((left, right));
                (left, right)
            }
        }
    }

    fn insert_below(&mut self, left: u64, right: u64) -> Range {
        let first = self.0.partition_point(|range| range.1 < left);
        // Few ranges are merged at once, and each of them only once.
        let mut after = first;
        while self.0.get(after).is_some_and(|range| range.0 <= right) {
            work::steps(1);
            after += 1;
        }
        if first == after {
            work::steps(first.min(self.0.len() - first) + 1);
            self.0.insert(first, (left, right));
            return (left, right);
        }
        self.0[first] = (left.min(self.0[first].0), right.max(self.0[after - 1].1));
        self.take_out(first + 1..after);
        self.0[first]
    }

    fn take_out(&mut self, gone: ops::Range<usize>) {
        if gone.is_empty() {
            return;
        }
        // `drain` moves the items on the shorter side.
        work::steps(gone.len() + gone.start.min(self.0.len() - gone.end));
        self.0.drain(gone);
    }

    /// Range that contains `position`; `None` if none does.
    pub fn range_at(&self, position: u64) -> Option<Range> {
        let last = *self.0.back()?;
        if position >= last.0 {
            return (position < last.1).then_some(last);
        }
        let index = self.0.partition_point(|range| range.1 <= position);
        self.0.get(index).copied().filter(|range| range.0 <= position)
    }

    /// True if the set contains all of `left` … `right` − 1.
    #[inline(always)]
    pub fn contains(&self, left: u64, right: u64) -> bool {
        // Most positions asked for have just been added, at the end.
        let is_in_last = self.0.back().is_some_and(|last| last.0 <= left && right <= last.1);
        left >= right || is_in_last || self.is_in_one_range(left, right)
    }

    #[inline(never)]
    fn is_in_one_range(&self, left: u64, right: u64) -> bool {
        self.range_at(left).is_some_and(|range| right <= range.1)
    }

    /// First part of `left` … `right` − 1 that is in the set.
    pub fn first_overlap(&self, left: u64, right: u64) -> Option<Range> {
        if self.end()? <= left {
            return None;
        }
        let index = self.0.partition_point(|range| range.1 <= left);
        let range = self.0.get(index).filter(|range| range.0 < right)?;
        Some((range.0.max(left), range.1.min(right)))
    }

    /// First part of `left` … `right` − 1 that is not in the set.
    #[inline(always)]
    pub fn first_gap(&self, left: u64, right: u64) -> Option<Range> {
        // The gap nearly always lies at the end.
        if self.0.back().is_none_or(|last| last.0 <= left) {
            let start = self.end().map_or(left, |end| end.max(left));
            return (start < right).then_some((start, right));
        }
        self.first_gap_below(left, right)
    }

    #[inline(never)]
    fn first_gap_below(&self, left: u64, right: u64) -> Option<Range> {
        let index = self.0.partition_point(|range| range.1 <= left);
        let start = match self.0.get(index) {
            Some(range) if range.0 <= left => range.1,
            _ => left,
        };
        let mut after = self.0.range(index..);
        let next = after.find(|range| range.0 > left).map_or(right, |range| range.0);
        (start < right).then(|| (start, next.min(right)))
    }

    /// True if the set has positions below `position`.
    #[inline]
    pub fn begins_below(&self, position: u64) -> bool {
        self.0.front().is_some_and(|first| first.0 < position)
    }

    /// Removes everything below `position`.
    pub fn remove_below(&mut self, position: u64) {
        if !self.begins_below(position) {
            return;
        }
        let gone = self.0.partition_point(|range| range.1 <= position);
        self.take_out(0..gone);
        if let Some(first) = self.0.front_mut() {
            first.0 = first.0.max(position);
        }
    }

    /// Removes the range that contains `position`, and all below it. Returns the end of the range,
    /// or `position` if no range contains it.
    pub fn remove_through(&mut self, position: u64) -> u64 {
        if self.0.front().is_none_or(|first| first.0 > position) {
            return position;
        }
        let end = self.range_at(position).map_or(position, |range| range.1);
        self.remove_below(end);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Ranges agree with a set of single positions.
        #[test]
        fn agrees_with_a_set(
            additions in prop::collection::vec((1u64..200, 1u64..20), 1..40),
            probes in prop::collection::vec((1u64..220, 1u64..30), 1..20),
            cut in 1u64..220,
        ) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            for (left, length) in additions {
                ranges.insert(left, left + length);
                set.extend(left..left + length);
            }
            let check = |ranges: &Ranges, set: &BTreeSet<u64>| {
                for (below, above) in ranges.iter().zip(ranges.iter().skip(1)) {
                    prop_assert!(below.1 < above.0);
                }
                for &(left, length) in &probes {
                    let right = left + length;
                    let all = (left..right).all(|position| set.contains(&position));
                    prop_assert_eq!(ranges.contains(left, right), all);
                    let start = (left..right).find(|position| !set.contains(position));
                    let gap = start.map(|start| {
                        let end = (start..right).find(|position| set.contains(position));
                        (start, end.unwrap_or(right))
                    });
                    prop_assert_eq!(ranges.first_gap(left, right), gap);
                    let start = (left..right).find(|position| set.contains(position));
                    let overlap = start.map(|start| {
                        let end = (start..right).find(|position| !set.contains(position));
                        (start, end.unwrap_or(right))
                    });
                    prop_assert_eq!(ranges.first_overlap(left, right), overlap);
                }
                Ok(())
            };
            check(&ranges, &set)?;
            ranges.remove_below(cut);
            set.retain(|position| *position >= cut);
            check(&ranges, &set)?;
            prop_assert_eq!(ranges.end(), set.last().map(|last| last + 1));
            let mut next = cut;
            while set.contains(&next) {
                next += 1;
            }
            prop_assert_eq!(ranges.remove_through(cut), next);
        }
    }

    /// A range ends before its right position.
    #[test]
    fn a_position_after_a_range_is_not_in_it() {
        let mut ranges = Ranges::default();
        ranges.insert(10, 20);
        ranges.insert(30, 40);
        let at = [9, 10, 19, 20, 29, 30, 39, 40].map(|position| ranges.range_at(position));
        let (first, second) = (Some((10, 20)), Some((30, 40)));
        assert_eq!(at, [None, first, first, None, None, second, second, None]);
    }
}
