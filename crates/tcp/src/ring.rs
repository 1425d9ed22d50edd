//! Queue in a ring buffer. Its size is a power of two, so a bit mask maps an index to a slot.

use prefetch_index::prefetch_index;
use std::ops::{Index, IndexMut};

/// First-in-first-out queue with access by index.
#[derive(Clone)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    /// Number of items ever removed, modulo 2^32. Reduced modulo the size of the ring, it is the
    /// slot of the first item.
    head: u32,
    /// Number of items ever added, modulo 2^32.
    tail: u32,
}

/// Number of slots of the first allocation.
const FIRST_SIZE: usize = 4;

impl<T> Ring<T> {
    /// Empty queue.
    pub const EMPTY: Self = Self { slots: Vec::new(), head: 0, tail: 0 };

    /// Number of items.
    #[inline]
    pub const fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    #[inline]
    const fn place(&self, count: u32) -> usize {
        count as usize & self.slots.len().wrapping_sub(1)
    }

    /// Item at this index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len() {
            return None;
        }
        self.slots.get(self.place(self.head.wrapping_add(index as u32)))
    }

    /// Mutable reference to the item at this index.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len() {
            return None;
        }
        let place = self.place(self.head.wrapping_add(index as u32));
        self.slots.get_mut(place)
    }

    /// First item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.head == self.tail { None } else { self.slots.get(self.place(self.head)) }
    }

    /// Last item.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len().wrapping_sub(1))
    }

    /// Mutable reference to the last item.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len().wrapping_sub(1))
    }

    /// Prefetches the first and the third item, and the slots of the next two items to be added.
    #[inline]
    pub fn prefetch_ends(&self) {
        for count in [self.head, self.head.wrapping_add(2), self.tail, self.tail.wrapping_add(1)] {
            prefetch_index(&self.slots, self.place(count));
        }
    }

    /// Removes the first item, if any.
    #[inline]
    pub fn pop_front(&mut self) {
        self.head = self.head.wrapping_add(u32::from(self.head != self.tail));
    }

    /// Removes the first `count` items.
    #[inline]
    pub fn drop_front(&mut self, count: usize) {
        debug_assert!(count <= self.len(), "as many as there are");
        self.head = self.head.wrapping_add(count as u32);
    }

    /// Removes leading items while `is` returns true; `is` is called once per item.
    #[inline(always)]
    pub fn pop_while(&mut self, mut is: impl FnMut(&T) -> bool) {
        let mut head = self.head;
        while head != self.tail && self.slots.get(self.place(head)).is_some_and(&mut is) {
            head = head.wrapping_add(1);
        }
        self.head = head;
    }

    /// Index of the first item from `index` on for which `skips` is false; `skips` is called once
    /// per item.
    #[inline(always)]
    pub fn skip_while(&self, index: usize, mut skips: impl FnMut(&T) -> bool) -> usize {
        let mut place = self.head.wrapping_add(index as u32);
        let mut left = self.len().saturating_sub(index);
        while left > 0 && self.slots.get(self.place(place)).is_some_and(&mut skips) {
            place = place.wrapping_add(1);
            left -= 1;
        }
        self.len() - left
    }

    /// Items from first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let (from, to) = self.halves();
        self.slots[from].iter().chain(&self.slots[to])
    }

    /// Iterator over mutable references.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let (from, to) = self.halves();
        let (before, after) = self.slots.split_at_mut(from.start);
        after[..from.end - from.start].iter_mut().chain(&mut before[to])
    }

    /// Slots of the items, as two ranges: one up to the end of the ring, and one from its
    /// beginning.
    fn halves(&self) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        if self.head == self.tail {
            return (0..0, 0..0);
        }
        let first = self.place(self.head);
        let end = (first + self.len()).min(self.slots.len());
        (first..end, 0..self.len() - (end - first))
    }

    /// Number of leading items for which `is` holds, found by binary search. `is` must be false for
    /// all later items.
    pub fn partition_point(&self, is: impl Fn(&T) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if is(&self[middle]) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Appends an item at the back.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.tail);
        self.slots[place] = item;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Inserts an item at an index. All later items are moved, so this is for rare cases.
    pub fn insert(&mut self, index: usize, item: T) {
        self.push_back(item);
        for place in (index + 1..self.len()).rev() {
            self[place] = self[place - 1];
        }
        self[index] = item;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(FIRST_SIZE);
        assert!(size <= 1 << 31, "a place for each");
        let mut slots = Vec::with_capacity(size);
        slots.extend(self.iter().copied());
        self.head = 0;
        self.tail = slots.len() as u32;
        slots.resize(size, T::default());
        self.slots = slots;
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Formats the items in order.
impl<T: std::fmt::Debug> std::fmt::Debug for Ring<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl<T> Index<usize> for Ring<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        self.get(index).expect("there are more")
    }
}

impl<T> IndexMut<usize> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).expect("there are more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Compares with the standard library's queue.
        #[test]
        fn agrees_with_a_queue(steps in prop::collection::vec((0u8..6, 0u32..20), 0..400)) {
            let mut ring = Ring::EMPTY;
            let mut queue = VecDeque::new();
            for (number, (step, value)) in (0..).zip(steps) {
                match step {
                    0 => {
                        ring.pop_front();
                        queue.pop_front();
                    }
                    1 => {
                        let below = |other: &u32| *other < number - value.min(number);
                        ring.pop_while(below);
                        while queue.front().is_some_and(below) {
                            queue.pop_front();
                        }
                    }
                    2 => {
                        ring.iter_mut().filter(|it| **it % 7 == 0).for_each(|it| *it += 1);
                        queue.iter_mut().filter(|it| **it % 7 == 0).for_each(|it| *it += 1);
                    }
                    _ => {
                        ring.push_back(number);
                        queue.push_back(number);
                    }
                }
                prop_assert_eq!(ring.len(), queue.len());
                prop_assert_eq!((ring.front(), ring.back()), (queue.front(), queue.back()));
                let index = value as usize;
                prop_assert_eq!(ring.get(index), queue.get(index));
                prop_assert_eq!(ring.get_mut(index), queue.get_mut(index));
                let odd = |other: &u32| *other % 2 == 1;
                let even = (index..queue.len()).find(|index| !odd(&queue[*index]));
                prop_assert_eq!(ring.skip_while(index, odd), even.unwrap_or(queue.len()));
                let below = |other: &u32| *other < number / 2;
                prop_assert_eq!(ring.partition_point(below), queue.partition_point(below));
                prop_assert!(ring.iter().eq(&queue) && ring.iter().rev().eq(queue.iter().rev()));
                prop_assert_eq!(format!("{ring:?}"), format!("{queue:?}"));
            }
        }
    }
}
