//! Which event is next? A heap in which the two children of a node lie together.
//!
//! With four children it is half as high, but to find the least of four keys of 128 bits takes more
//! than the levels that it saves: 222 instructions to take an event out and put one in with 60
//! pending, against 172, in the same time. (With 600 and more pending it is four children that take
//! less time, by some 4 % of a run.) A radix heap took 160 instructions, in a quarter more time,
//! for its branches follow the data; a tournament of all targets took 236.
//!
//! Events are ordered by time, and at the same time by the order in which they were put in: both
//! are in the key, so nothing depends on how the heap happens to lie.

use retx_units::Time;

/// Who an event wakes: an index below 2^24.
pub type Target = u32;

/// Targets that a key has room for.
pub const MAX_TARGETS: u32 = 1 << TARGET_BITS;

const TARGET_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 40;

/// Time, insertion number and target, from the highest bit down.
type Key = u128;

/// Later than any event; fills the places that hold none.
const NONE: Key = Key::MAX;

/// The children of a node.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Children([Key; 2]);

/// Events to come.
///
/// Most events put in another one as they are handled. So taking out the first leaves a hole at the
/// root, and the next insertion fills it on its way down: one walk instead of two.
#[derive(Debug, Clone)]
pub struct EventQueue {
    root: Key,
    /// The children of node n are `nodes[n]`, which are the nodes 2n + 1 and 2n + 2; the root is
    /// node 0.
    nodes: Vec<Children>,
    /// Nodes in the heap, the hole at the root included.
    len: usize,
    hole: bool,
    inserted: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self { root: NONE, nodes: Vec::new(), len: 0, hole: false, inserted: 0 }
    }
}

impl EventQueue {
    /// Events waiting.
    pub fn len(&self) -> usize {
        self.len - usize::from(self.hole)
    }

    /// True when none is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Events ever put in.
    pub const fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Puts in an event: `target` is to be woken at `time`.
    ///
    /// # Panics
    /// When the numbers run out that keep the order of insertion: after 2^40 events.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) {
        debug_assert!(target < MAX_TARGETS);
        let number = self.inserted;
        assert!(number >> SEQUENCE_BITS == 0, "more than 2^40 events");
        self.inserted += 1;
        let low = number << TARGET_BITS | u64::from(target);
        let key = Key::from(time.as_nanos()) << 64 | Key::from(low);
        if self.hole {
            self.hole = false;
            self.sift_down(key);
        } else {
            self.append(key);
        }
    }

    /// Takes out the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        if self.hole {
            self.fill_hole();
        }
        if self.len == 0 {
            return None;
        }
        self.hole = true;
        Some(self.of_root())
    }

    /// The first event, which stays.
    pub fn first(&mut self) -> Option<(Time, Target)> {
        if self.hole {
            self.fill_hole();
        }
        (self.len > 0).then(|| self.of_root())
    }

    #[inline]
    const fn of_root(&self) -> (Time, Target) {
        let target = self.root as u32 & (MAX_TARGETS - 1);
        (Time::from_nanos((self.root >> 64) as u64), target)
    }

    /// The last node takes the root's place.
    fn fill_hole(&mut self) {
        self.hole = false;
        self.len -= 1;
        if self.len == 0 {
            self.root = NONE;
            return;
        }
        let last = self.len - 1;
        let slot = &mut self.nodes[last >> 1].0[last & 1];
        let key = std::mem::replace(slot, NONE);
        // The last may have been the only child left: then it stands alone.
        self.sift_down(key);
    }

    /// Writes `key` at the root or, if it is later than what lies below, further down.
    #[inline]
    fn sift_down(&mut self, key: Key) {
        let mut at = 0;
        let Some(first) = self.nodes.first() else {
            self.root = key;
            return;
        };
        let (mut least, mut which) = least(&first.0);
        if key <= least {
            self.root = key;
            return;
        }
        self.root = least;
        loop {
            let hole = at * 2 + which;
            at = hole + 1;
            let Some(children) = self.nodes.get(at) else {
                self.nodes[hole >> 1].0[hole & 1] = key;
                return;
            };
            (least, which) = self::least(&children.0);
            if key <= least {
                self.nodes[hole >> 1].0[hole & 1] = key;
                return;
            }
            self.nodes[hole >> 1].0[hole & 1] = least;
        }
    }

    /// Writes `key` behind the last node or, if it is earlier than what lies above, further up.
    fn append(&mut self, key: Key) {
        if self.len == 0 {
            self.root = key;
            self.len = 1;
            return;
        }
        // Place p is node p + 1, a child of node p / 2.
        let mut place = self.len - 1;
        self.len += 1;
        if place >> 1 == self.nodes.len() {
            self.nodes.push(Children([NONE; 2]));
        }
        loop {
            let parent = place >> 1;
            let above = if parent == 0 {
                self.root
            } else {
                self.nodes[(parent - 1) >> 1].0[(parent - 1) & 1]
            };
            if above <= key {
                break;
            }
            self.nodes[place >> 1].0[place & 1] = above;
            if parent == 0 {
                self.root = key;
                return;
            }
            place = parent - 1;
        }
        self.nodes[place >> 1].0[place & 1] = key;
    }
}

/// The lesser of two keys, and which it is: found without a branch, which nobody could foresee.
#[inline]
fn least(keys: &[Key; 2]) -> (Key, usize) {
    let which = usize::from(keys[1] < keys[0]);
    (keys[which], which)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a sorted set, with pushes and pops in any order and many ties.
        #[test]
        fn pops_in_order_of_time_then_insertion(
            steps in prop::collection::vec((any::<bool>(), 0u64..20), 0..600),
        ) {
            let mut queue = EventQueue::default();
            let mut sorted = BTreeSet::new();
            let mut number = 0u32;
            for (push, time) in steps {
                if push {
                    queue.push(Time::from_nanos(time), number % 7);
                    sorted.insert((time, number));
                    number += 1;
                } else {
                    let expected =
                        sorted.pop_first().map(|(time, n)| (Time::from_nanos(time), n % 7));
                    prop_assert_eq!(queue.pop(), expected);
                }
                prop_assert_eq!(queue.len(), sorted.len());
                if time % 3 == 0 {
                    let first = sorted.first().map(|(time, n)| (Time::from_nanos(*time), n % 7));
                    prop_assert_eq!(queue.first(), first);
                }
                prop_assert_eq!(queue.is_empty(), sorted.is_empty());
            }
            while let Some((time, n)) = sorted.pop_first() {
                prop_assert_eq!(queue.pop(), Some((Time::from_nanos(time), n % 7)));
            }
            prop_assert_eq!(queue.pop(), None);
            prop_assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn keys_hold_the_extremes() {
        let mut queue = EventQueue::default();
        let last = Time::from_nanos(u64::MAX - 1);
        queue.push(last, MAX_TARGETS - 1);
        queue.push(Time::ZERO, 0);
        assert_eq!(queue.pop(), Some((Time::ZERO, 0)));
        assert_eq!(queue.pop(), Some((last, MAX_TARGETS - 1)));
    }
}
