//! Ring buffer whose size is a power of two, so a slot is found with a mask.

use prefetch_index::prefetch_index;

/// FIFO queue in a ring buffer.
#[derive(Debug, Clone)]
pub struct Ring<T> {
    slots: Box<[T]>,
    /// Number of items removed so far, modulo 2^32; the mask yields the slot of the first item.
    head: u32,
    /// Number of items appended so far, modulo 2^32.
    tail: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Box::default(), head: 0, tail: 0 }
    }
}

/// Initial number of slots.
const FIRST_SIZE: usize = 2;

impl<T: Copy + Default> Ring<T> {
    /// Number of items.
    #[inline]
    pub const fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// True if there are no items.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    #[inline]
    fn place(&self, count: u32) -> usize {
        count as usize & self.slots.len().wrapping_sub(1)
    }

    /// First item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.slots[self.place(self.head)]) }
    }

    /// Item at `index`, counted from the front.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let place = self.place(self.head.wrapping_add(index as u32));
        if index < self.len() { self.slots.get(place) } else { None }
    }

    /// Prefetches the item at `index`.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        prefetch_index(&self.slots, self.place(self.head.wrapping_add(index)));
    }

    /// Prefetches the slot of the item that will be pushed after `others` further items.
    #[inline(always)]
    pub fn prefetch_back(&self, others: u32) {
        prefetch_index(&self.slots, self.place(self.tail.wrapping_add(others)));
    }

    /// Removes and returns the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.drop_front();
        Some(first)
    }

    /// Drops the first item, whose presence the caller has checked.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        debug_assert!(!self.is_empty(), "there is a first");
        self.head = self.head.wrapping_add(1);
    }

    /// Drops leading items while `is` returns true; `is` is called once per item.
    #[inline(always)]
    pub fn drop_while(&mut self, mut is: impl FnMut(&T) -> bool) {
        let mut head = self.head;
        while head != self.tail
            && let Some(item) = self.slots.get(self.place(head))
            && is(item)
        {
            head = head.wrapping_add(1);
        }
        self.head = head;
    }

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

    /// Inserts an item at the front.
    #[inline]
    pub fn push_front(&mut self, item: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        self.head = self.head.wrapping_sub(1);
        let place = self.place(self.head);
        self.slots[place] = item;
    }

    /// Inserts an item before those items at the back for which `after` holds.
    #[cold]
    pub fn insert_before(&mut self, item: T, after: impl Fn(&T) -> bool) {
        self.push_back(item);
        let mut at = self.tail.wrapping_sub(1);
        while at != self.head {
            let before = self.place(at.wrapping_sub(1));
            if !after(&self.slots[before]) {
                break;
            }
            let here = self.place(at);
            self.slots[here] = self.slots[before];
            at = at.wrapping_sub(1);
        }
        let here = self.place(at);
        self.slots[here] = item;
    }

    /// Removes the last item for which `is` holds.
    #[cold]
    pub fn remove(&mut self, is: impl Fn(&T) -> bool) {
        let count = self.len();
        let at = |index: usize| self.place(self.head.wrapping_add(index as u32));
        let Some(found) = (0..count).rev().find(|index| is(&self.slots[at(*index)])) else {
            return;
        };
        for index in found + 1..count {
            let place = |index: usize| self.place(self.head.wrapping_add(index as u32));
            let [to, from] = [index - 1, index].map(place);
            self.slots[to] = self.slots[from];
        }
        self.tail = self.tail.wrapping_sub(1);
    }

    /// Number of leading items for which `is` holds; `is` must be false for all items after them.
    pub fn partition_point(&self, is: impl Fn(&T) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if is(&self.slots[self.place(self.head.wrapping_add(middle as u32))]) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Removes all items.
    #[inline]
    pub const fn clear(&mut self) {
        self.head = self.tail;
    }

    /// Items from first to last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len() as u32).map(|index| &self.slots[self.place(self.head.wrapping_add(index))])
    }

    #[cold]
    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(FIRST_SIZE);
        assert!(size <= 1 << 31, "a place for each");
        let mut slots: Vec<T> = Vec::with_capacity(size);
        slots.extend(self.iter());
        self.head = 0;
        self.tail = slots.len() as u32;
        slots.resize(size, T::default());
        self.slots = slots.into_boxed_slice();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The ring agrees with the standard library's queue.
        #[test]
        fn agrees_with_a_queue(steps in prop::collection::vec((0u8..6, 0u32..50), 0..400)) {
            let mut ring = Ring::default();
            let mut queue = VecDeque::new();
            for (step, value) in steps {
                match step {
                    0 if value % 2 == 0 && !queue.is_empty() => {
                        queue.pop_front();
                        ring.drop_front();
                    }
                    0 => prop_assert_eq!(ring.pop_front(), queue.pop_front()),
                    2 => {
                        let below = |other: &u32| *other < value;
                        ring.drop_while(below);
                        while queue.front().is_some_and(below) {
                            queue.pop_front();
                        }
                    }
                    1 if value == 0 => {
                        ring.clear();
                        queue.clear();
                    }
                    1 if value < 10 => {
                        ring.remove(|other| *other == value);
                        if let Some(at) = queue.iter().rposition(|other| *other == value) {
                            queue.remove(at);
                        }
                    }
                    1 if value < 20 => {
                        ring.push_front(value);
                        queue.push_front(value);
                    }
                    1 => {
                        let later = queue.iter().rev().take_while(|other| **other > value).count();
                        queue.insert(queue.len() - later, value);
                        ring.insert_before(value, |other| *other > value);
                    }
                    _ => {
                        ring.push_back(value);
                        queue.push_back(value);
                    }
                }
                prop_assert_eq!(ring.front(), queue.front());
                let index = value as usize % 8;
                prop_assert_eq!(ring.get(index), queue.get(index));
                prop_assert_eq!(ring.is_empty(), queue.is_empty());
                if queue.iter().is_sorted() {
                    let below = queue.partition_point(|other| *other < value);
                    prop_assert_eq!(ring.partition_point(|other| *other < value), below);
                }
                prop_assert_eq!(ring.iter().collect::<Vec<_>>(), queue.iter().collect::<Vec<_>>());
            }
        }
    }
}
