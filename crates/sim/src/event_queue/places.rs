//! The places of events, and lists of them. Each target has a place of its own, which its event
//! nearly always takes; what comes while that is taken has one of those behind.

use super::Target;
use retx_units::Time;

/// Names a place. A list is named by the place of its first event.
pub(super) type Node = u32;

/// Ends a list.
const NONE: Node = Node::MAX;

// Of a size that is a power of two: it is found by a shift.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Place {
    /// When the target of this place will be woken first; [`Time::NEVER`] for not at all.
    wake: Time,
    /// When the event here is due; [`Time::NEVER`] where there is none.
    time: Time,
    /// The next in its list; of what is free behind the targets' places, the next that is.
    next: Node,
    /// Of the first of several in a list: the last.
    last: Node,
}

const EMPTY: Place = Place { wake: Time::NEVER, time: Time::NEVER, next: NONE, last: NONE };

/// All places.
#[derive(Debug, Clone)]
pub(super) struct Places {
    places: Vec<Place>,
    /// So many are the targets' own.
    targets: u32,
    /// Whose event each place behind them has, or had.
    others: Vec<Target>,
    /// The first of those that are free.
    free: Node,
}

impl Places {
    /// Of so many targets, which have no events.
    pub fn new(targets: u32) -> Self {
        let places = vec![EMPTY; targets as usize];
        Self { places, targets, others: Vec::new(), free: NONE }
    }

    /// When this target will be woken first.
    #[inline]
    pub fn wake_of(&self, target: Target) -> Time {
        self.places[target as usize].wake
    }

    /// When this target will be woken first, to be changed.
    #[inline(always)]
    pub fn wake_mut(&mut self, target: Target) -> &mut Time {
        &mut self.places[target as usize].wake
    }

    /// A list of one event, in its target's place; none if that is taken.
    #[inline(always)]
    pub fn start(&mut self, time: Time, target: Target) -> Option<Node> {
        let place = &mut self.places[target as usize];
        if place.time != Time::NEVER {
            return None;
        }
        place.time = time;
        place.next = NONE;
        Some(target)
    }

    /// A list of one event, wherever there is room.
    pub fn start_anywhere(&mut self, time: Time, target: Target) -> Node {
        if let Some(node) = self.start(time, target) {
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

    /// Makes the first event of a list a list of its own; returns its time, and the others, which
    /// are a list only to be split or moved out.
    #[inline]
    pub fn split(&mut self, list: Node) -> (Time, Option<Node>) {
        let place = &mut self.places[list as usize];
        let next = std::mem::replace(&mut place.next, NONE);
        (place.time, (next != NONE).then_some(next))
    }

    const fn last_of(&self, list: Node, first: &Place) -> Node {
        if first.next == NONE { list } else { first.last }
    }

    /// Puts the list of one behind a list.
    pub fn append(&mut self, list: Node, node: Node) {
        let last = self.last_of(list, &self.places[list as usize]);
        self.places[last as usize].next = node;
        self.places[list as usize].last = node;
    }

    /// Puts the list of one into a list in the order of time, behind all that are not later.
    /// Returns the list that it has become, and how many had to be passed on the way.
    pub fn insert(&mut self, list: Node, node: Node) -> (Node, u64) {
        let time = self.places[node as usize].time;
        let first = self.places[list as usize];
        let last = self.last_of(list, &first);
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

    /// Takes out the event of a list that has one alone, if it is the one by which its target is to
    /// be woken: it is to be no more. Nearly all are.
    #[inline(always)]
    pub fn take_alone(&mut self, list: Node) -> Option<Time> {
        let place = &mut self.places[list as usize];
        let time = place.time;
        if place.wake != time || place.next != NONE {
            return None;
        }
        place.wake = Time::NEVER;
        place.time = Time::NEVER;
        Some(time)
    }

    /// Takes out the first event of a list, and says what is left of that.
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
        self.places[next as usize].last = last;
        ((time, target), Some(next))
    }

    /// Takes all events out of a list.
    pub fn move_out(&mut self, list: Node, to: &mut Vec<(Time, Target)>) {
        let mut rest = Some(list);
        while let Some(list) = rest {
            let (event, next) = self.take(list);
            to.push(event);
            rest = next;
        }
    }

    /// The events of a list, in its order.
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
