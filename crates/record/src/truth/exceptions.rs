//! Exceptions: copies of segments that were dropped, and copies that are retransmissions.

use super::SegmentCopy;
use crate::reason::Cause;
use std::collections::VecDeque;

#[derive(Debug, Clone)]
struct Dropped {
    copy: SegmentCopy,
    /// Cause of an episode that this drop triggers; `None` if the receiver discarded the copy.
    cause: Option<Cause>,
}

#[derive(Debug, Clone)]
struct Retransmitted {
    /// Part of the segment's range that had been sent before.
    copy: SegmentCopy,
    delivered: bool,
}

trait Stretch {
    fn copy(&self) -> &SegmentCopy;
}

impl Stretch for Dropped {
    fn copy(&self) -> &SegmentCopy {
        &self.copy
    }
}

impl Stretch for Retransmitted {
    fn copy(&self) -> &SegmentCopy {
        &self.copy
    }
}

/// Copies sorted by their start.
#[derive(Debug, Clone)]
struct Sorted<T> {
    list: VecDeque<T>,
    /// Length of the longest copy inserted so far. A copy that overlaps a position starts at most
    /// this far before it.
    longest: u64,
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self { list: VecDeque::new(), longest: 0 }
    }
}

impl<T: Stretch> Sorted<T> {
    fn insert(&mut self, item: T) {
        let SegmentCopy { from, to, .. } = *item.copy();
        self.longest = self.longest.max(to - from);
        if self.list.capacity() == 0 {
            // Most flows never have more than one entry.
            self.list.reserve_exact(1);
        }
        match self.list.back() {
            Some(last) if last.copy().from > from => {
                let place = self.list.partition_point(|other| other.copy().from <= from);
                self.list.insert(place, item);
            }
            _ => self.list.push_back(item),
        }
    }

    /// Index of the first copy that may overlap a range that starts at `from`.
    #[inline]
    fn first(&self, from: u64) -> usize {
        let is_before = |item: &T| item.copy().from + self.longest <= from;
        // Most segments that arrive have higher positions than all retransmissions.
        if self.list.back().is_none_or(is_before) {
            return self.list.len();
        }
        self.list.partition_point(is_before)
    }

    fn overlapping(&self, from: u64, to: u64) -> impl Iterator<Item = &T> {
        self.list
            .range(self.first(from)..)
            .take_while(move |item| item.copy().from < to)
            .filter(move |item| item.copy().overlaps(from, to))
    }

    /// True if the first copy ends at or before `position`.
    #[inline(always)]
    fn begins_before(&self, position: u64) -> bool {
        self.list.front().is_some_and(|item| item.copy().to <= position)
    }

    fn forget_before(&mut self, position: u64) {
        while self.list.front().is_some_and(|item| item.copy().to <= position) {
            self.list.pop_front();
        }
    }
}

/// Newest copy of the byte at a position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    /// Number of the copy if it is a retransmission; `None` for the original.
    pub number: Option<u64>,
    /// Cause of the copy's drop; `None` if it was not dropped on the path.
    pub dropped: Option<Cause>,
    /// True if the receiver discarded the copy.
    pub refused: bool,
    /// True if the copy is known to have left the network.
    pub has_left_network: bool,
    /// Number of the tail loss probe that was skipped in the search, if any.
    pub probe: Option<u64>,
}

/// All copies on which verdicts depend: dropped copies, and retransmissions. Originals that arrive
/// are not stored.
#[derive(Debug, Clone, Default)]
pub(super) struct ExceptionalCopies {
    dropped: Sorted<Dropped>,
    retransmitted: Sorted<Retransmitted>,
}

impl ExceptionalCopies {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn has_retransmitted(&self) -> bool {
        !self.retransmitted.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.dropped.list.len() + self.retransmitted.list.len()
    }

    pub fn add_dropped(&mut self, copy: SegmentCopy, cause: Option<Cause>) {
        self.dropped.insert(Dropped { copy, cause });
    }

    pub fn add_retransmitted(&mut self, copy: SegmentCopy) {
        self.retransmitted.insert(Retransmitted { copy, delivered: false });
    }

    pub fn add_delivered(&mut self, copy: &SegmentCopy) {
        let first = self.retransmitted.first(copy.from);
        let same = self.retransmitted.list.range_mut(first..);
        for item in same.take_while(|item| item.copy.from <= copy.from) {
            item.delivered |= item.copy.number == copy.number;
        }
    }

    /// First dropped copy, and first retransmission.
    #[inline(always)]
    pub fn firsts(&self) -> impl Iterator<Item = &SegmentCopy> {
        let dropped = self.dropped.list.front().map(Stretch::copy);
        dropped.into_iter().chain(self.retransmitted.list.front().map(Stretch::copy))
    }

    /// True if there is a copy that [`Self::forget_before`] would remove.
    #[inline(always)]
    pub fn begin_before(&self, position: u64) -> bool {
        self.dropped.begins_before(position) || self.retransmitted.begins_before(position)
    }

    pub fn forget_before(&mut self, position: u64) {
        self.dropped.forget_before(position);
        self.retransmitted.forget_before(position);
    }

    /// True if `copy` is the original of the byte at `position`, not a retransmission.
    pub fn is_original(&self, copy: &SegmentCopy, position: u64) -> bool {
        let again = self.retransmitted.overlapping(position, position + 1);
        again.into_iter().all(|item| item.copy.number != copy.number)
    }

    /// True if `part` has a byte of which all copies sent before copy number `before` were dropped.
    pub fn has_fully_dropped_byte(&self, part: &SegmentCopy, before: u64) -> bool {
        let (from, to) = (part.from, part.to);
        let earlier = |copy: &SegmentCopy| copy.number < before;
        let drops = || self.dropped.overlapping(from, to).filter(|item| earlier(&item.copy));
        let again = || self.retransmitted.overlapping(from, to).filter(|item| earlier(&item.copy));
        // In the usual case each copy covers the whole range, so that all its bytes have the same
        // number of copies.
        let is_whole = |copy: &SegmentCopy| copy.from <= from && to <= copy.to;
        let (mut dropped, mut sent, mut all_whole) = (0, 1, true);
        for item in drops() {
            dropped += 1;
            all_whole &= is_whole(&item.copy);
        }
        if dropped == 0 {
            return false;
        }
        for item in again() {
            sent += 1;
            all_whole &= is_whole(&item.copy);
        }
        if all_whole {
            assert!(dropped <= sent, "more copies dropped than sent");
            return dropped == sent;
        }
        // Along the range, the number of copies that were not dropped changes only where a
        // retransmission or a dropped copy begins or ends. Summing up these changes yields the
        // number at each position.
        let mut edges: Vec<(u64, i32)> = Vec::new();
        let mut span = |copy: &SegmentCopy, weight: i32| {
            edges.push((copy.from.max(from), weight));
            edges.push((copy.to.min(to), -weight));
        };
        drops().for_each(|item| span(&item.copy, -1));
        again().for_each(|item| span(&item.copy, 1));
        edges.sort_unstable_by_key(|(position, _)| *position);
        // Each byte has one original.
        let mut alive = 1;
        let mut edges = edges.into_iter().peekable();
        while let Some((position, change)) = edges.next() {
            alive += change;
            let next = edges.peek().map_or(to, |(next, _)| *next);
            if next > position && alive == 0 {
                return true;
            }
            assert!(next == position || alive > 0, "more copies dropped than sent");
        }
        false
    }

    /// Newest copy of the byte at `position`. If `probe` is true, the newest copy is already a
    /// repair of the loss, such as a tail loss probe, and the copy before it is returned.
    pub fn newest_copy(&self, position: u64, probe: bool) -> Newest {
        let again = || self.retransmitted.overlapping(position, position + 1);
        let last = again().map(|item| item.copy.number).max();
        let probe = last.filter(|_| probe);
        let earlier = |item: &&Retransmitted| probe.is_none_or(|last| item.copy.number < last);
        let newest = again().filter(earlier).max_by_key(|item| item.copy.number);
        let mut drops = self.dropped.overlapping(position, position + 1);
        let drop = match newest {
            Some(newest) => drops.find(|drop| drop.copy.number == newest.copy.number),
            // No other retransmission covers the byte, so a dropped copy must be the original.
            None => drops.find(|drop| probe != Some(drop.copy.number)),
        };
        Newest {
            number: newest.map(|item| item.copy.number),
            dropped: drop.and_then(|drop| drop.cause),
            refused: drop.is_some_and(|drop| drop.cause.is_none()),
            has_left_network: drop.is_some() || newest.is_some_and(|item| item.delivered),
            probe,
        }
    }
}
