//! Storage of events, and linked lists of events. Each target (owner of events) has a place for one
//! event. A second event of the same target takes an additional place, after the places of all
//! targets.

use super::Target;
use retx_units::Time;

/// Index of a place. A list is identified by the place of its first event.
pub(super) type Node = u32;

/// End of a list.
const NONE: Node = Node::MAX;

// The size is a power of two, so an index is converted to an address by a shift.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Place {
    /// Next wake-up of the target of this place; [`Time::NEVER`] if there is none.
    wake: Time,
    /// Time of the event stored here; [`Time::NEVER`] if there is none.
    time: Time,
    /// Next place in the list; for a free place, the next free one.
    next: Node,
    /// Last place of a list, valid in its first place.
    last: Node,
}

const EMPTY: Place = Place { wake: Time::NEVER, time: Time::NEVER, next: NONE, last: NONE };

/// All places.
#[derive(Debug, Clone)]
pub(super) struct Places {
    places: Vec<Place>,
    /// Number of targets; the first places are theirs.
    targets: u32,
    /// Target of the event in each additional place.
    others: Vec<Target>,
    /// First free additional place.
    free: Node,
}

impl Places {
    /// Creates the places of `targets` targets, without events.
    pub fn new(targets: u32) -> Self {
        let places = vec![EMPTY; targets as usize];
        Self { places, targets, others: Vec::new(), free: NONE }
    }

    /// Next wake-up of this target.
    #[inline]
    pub fn wake_of(&self, target: Target) -> Time {
        self.places[target as usize].wake
    }

    /// Mutable next wake-up of this target.
    #[inline(always)]
    pub fn wake_mut(&mut self, target: Target) -> &mut Time {
        &mut self.places[target as usize].wake
    }

    /// Creates a list of one event in its target's place; `None` if that place is occupied.
    #[inline(always)]
    pub fn create_list(&mut self, time: Time, target: Target) -> Option<Node> {
        let place = &mut self.places[target as usize];
        if place.time != Time::NEVER {
            return None;
        }
        place.time = time;
        place.next = NONE;
        Some(target)
    }

    /// Creates a list of one event in its target's place, or in an additional one.
    pub fn create_list_anywhere(&mut self, time: Time, target: Target) -> Node {
        if let Some(node) = self.create_list(time, target) {
            return node;
        }
        let mut node = self.free;
        if node == NONE {
            node = self.places.len() as Node;
            self.places.push(EMPTY);
            self.others.push(target);
        } else {
            self.free = self.places[node as usize].next;
            self.others[(node - self.targets) as usize] = target;
        }
        self.places[node as usize] = Place { time, ..EMPTY };
        node
    }

    /// Separates the first event of a list. Returns its time, and the list of the remaining events.
    /// Only this function and [`Self::drain_into`] may be called on that list.
    #[inline]
    pub fn split(&mut self, list: Node) -> (Time, Option<Node>) {
        let place = &mut self.places[list as usize];
        let next = std::mem::replace(&mut place.next, NONE);
        (place.time, (next != NONE).then_some(next))
    }

    const fn last_of(&self, list: Node, first: &Place) -> Node {
        if first.next == NONE { list } else { first.last }
    }

    /// Appends a list of one event to a list.
    pub fn append(&mut self, list: Node, node: Node) {
        let last = self.last_of(list, &self.places[list as usize]);
        self.places[last as usize].next = node;
        self.places[list as usize].last = node;
    }

    /// Inserts a list of one event into a sorted list, after all events that are not later. Returns
    /// the resulting list, and the number of events that were passed to find the position.
    pub fn insert(&mut self, list: Node, node: Node) -> (Node, u64) {
        let time = self.places[node as usize].time;
        let first = self.places[list as usize];
        let last = self.last_of(list, &first);
        // Checked first, because most events are inserted in order of time.
        if self.places[last as usize].time <= time {
            self.append(list, node);
            return (list, 0);
        }
        if first.time > time {
            let place = &mut self.places[node as usize];
            (place.next, place.last) = (list, last);
            return (node, 1);
        }
        let (mut before, mut passed) = (list, 2);
        loop {
            let next = self.places[before as usize].next;
            if self.places[next as usize].time > time {
                self.places[before as usize].next = node;
                self.places[node as usize].next = next;
                return (list, passed);
            }
            before = next;
            passed += 1;
        }
    }

    /// Removes the only event of a list and clears the wake-up of its target, which is the usual
    /// case. `None`, without a change, if there are several events or the event was superseded.
    #[inline(always)]
    pub fn take_only_event(&mut self, list: Node) -> Option<Time> {
        let place = &mut self.places[list as usize];
        let time = place.time;
        // A superseded event must not clear the earlier wake-up that superseded it.
        if place.wake != time || place.next != NONE {
            return None;
        }
        place.wake = Time::NEVER;
        place.time = Time::NEVER;
        Some(time)
    }

    /// Removes and returns the first event of a list, and the rest of the list.
    pub fn take(&mut self, list: Node) -> ((Time, Target), Option<Node>) {
        let place = &mut self.places[list as usize];
        let Place { time, next, last, .. } = *place;
        place.time = Time::NEVER;
        let mut target = list;
        if let Some(other) = list.checked_sub(self.targets) {
            place.next = std::mem::replace(&mut self.free, list);
            target = self.others[other as usize];
        }
        if next == NONE {
            return ((time, target), None);
        }
        // `last` is valid only in the first place of a list, so the new first place inherits it.
        self.places[next as usize].last = last;
        ((time, target), Some(next))
    }

    /// Moves all events out of a list.
    pub fn drain_into(&mut self, list: Node, to: &mut Vec<(Time, Target)>) {
        let mut rest = Some(list);
        while let Some(list) = rest {
            let (event, next) = self.take(list);
            to.push(event);
            rest = next;
        }
    }

    /// Events of a list, in its order.
    pub fn iter(&self, list: Node) -> impl Iterator<Item = (Time, Target)> {
        let mut next = list;
        std::iter::from_fn(move || {
            let node = next;
            let place = self.places.get(node as usize)?;
            next = place.next;
            let other = node.checked_sub(self.targets);
            Some((place.time, other.map_or(node, |other| self.others[other as usize])))
        })
    }
}
