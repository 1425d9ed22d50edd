//! Lists of events that share their memory. A list is named by its last event, which the first
//! one follows: so both ends are at hand.

use super::Target;
use retx_units::Time;

/// Names an event while it is in a list.
pub(super) type Node = u32;

/// Ends the list of what is free.
const NONE: Node = Node::MAX;

#[derive(Debug, Clone, Copy)]
struct Event {
    time: Time,
    target: Target,
    /// The next in its list, or the next that is free.
    next: Node,
}

/// The memory of all lists.
#[derive(Debug, Clone)]
pub(super) struct Lists {
    events: Vec<Event>,
    free: Node,
}

impl Default for Lists {
    fn default() -> Self {
        Self { events: Vec::new(), free: NONE }
    }
}

impl Lists {
    /// A list of one event; none if there is no room that has been used before.
    #[inline]
    pub fn start(&mut self, time: Time, target: Target) -> Option<Node> {
        let node = self.free;
        let place = self.events.get_mut(node as usize)?;
        self.free = std::mem::replace(place, Event { time, target, next: node }).next;
        Some(node)
    }

    /// A list of one event, in new room if need be.
    pub fn start_with_room(&mut self, time: Time, target: Target) -> Node {
        if let Some(node) = self.start(time, target) {
            return node;
        }
        let node = self.events.len() as Node;
        self.events.push(Event { time, target, next: node });
        node
    }

    /// Forgets all lists, and keeps their room.
    pub fn clear(&mut self) {
        self.events.clear();
        self.free = NONE;
    }

    /// Puts the list of one behind a list; returns the list that it has become.
    pub fn append(&mut self, last: Node, node: Node) -> Node {
        let first = std::mem::replace(&mut self.events[last as usize].next, node);
        self.events[node as usize].next = first;
        node
    }

    /// Puts the list of one into a list in the order of time, behind all that are not later.
    /// Returns the list that it has become, and how many had to be passed on the way.
    pub fn insert(&mut self, last: Node, node: Node) -> (Node, u64) {
        let time = self.events[node as usize].time;
        if self.events[last as usize].time <= time {
            return (self.append(last, node), 0);
        }
        let (mut before, mut passed) = (last, 1);
        loop {
            let next = self.events[before as usize].next;
            if self.events[next as usize].time > time {
                self.append(before, node);
                return (last, passed);
            }
            before = next;
            passed += 1;
        }
    }

    /// Takes out the first event of a list, and tells whether it was the last, too.
    #[inline]
    pub fn pop(&mut self, last: Node) -> (Time, Target, bool) {
        let first = self.events[last as usize].next;
        let Event { time, target, next } = self.events[first as usize];
        self.events[first as usize].next = self.free;
        self.free = first;
        let alone = first == last;
        if !alone {
            self.events[last as usize].next = next;
        }
        (time, target, alone)
    }

    /// The events of a list, in its order.
    pub fn iter(&self, last: Node) -> impl Iterator<Item = (Time, Target)> {
        let mut before = last;
        let mut over = false;
        std::iter::from_fn(move || {
            if over {
                return None;
            }
            before = self.events[before as usize].next;
            over = before == last;
            let event = &self.events[before as usize];
            Some((event.time, event.target))
        })
    }
}
