//! Storage of events, and linked lists of events. Each target (owner of events) has a node for one
//! event. A second event of the same target takes an additional node, after the nodes of all
//! targets.

use super::Target;
use prefetch_index::prefetch_index;
use retx_units::Time;

/// Index of a node. A list is identified by the node of its first event.
pub(super) type NodeIndex = u32;

/// Index that marks the end of a list of nodes.
const NONE: NodeIndex = NodeIndex::MAX;

// The size is a power of two, so an index is converted to an address by a shift.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct EventNode {
    /// Next wake-up of the target of this node; [`Time::NEVER`] if there is none.
    wake: Time,
    /// Time of the event stored here; [`Time::NEVER`] if there is none.
    time: Time,
    /// Next node in the list; for a free node, the next free one.
    next: NodeIndex,
    /// Last node of a list, valid in its first node.
    last: NodeIndex,
    /// Target of the event stored here.
    target: Target,
    /// True if no event was inserted for the next wake-up, because one of the target's events in
    /// the queue is earlier.
    is_deferred: bool,
}

impl EventNode {
    /// Node without an event.
    const fn empty(target: Target) -> Self {
        let (wake, time) = (Time::NEVER, Time::NEVER);
        Self { wake, time, next: NONE, last: NONE, target, is_deferred: false }
    }
}

/// Event that has been removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removed {
    /// The target is to be woken now.
    Due,
    /// Another event is in the queue for the next wake-up of the target, if there is one.
    Superseded,
    /// An event has to be inserted for the next wake-up of the target, at this time.
    Precedes(Time),
}

/// All nodes.
#[derive(Debug, Clone)]
pub(super) struct EventNodes {
    nodes: Vec<EventNode>,
    /// Number of targets; the first nodes are theirs.
    targets: u32,
    /// Target whose events precede those of all other targets at the same time.
    first: Target,
    /// First free additional node.
    free: NodeIndex,
}

impl EventNodes {
    /// Creates the nodes of `targets` targets, without events. At equal times, the event of the
    /// target `first` precedes those of the targets after it, and these those of the targets before
    /// it.
    pub fn new(targets: u32, first: Target) -> Self {
        let nodes = (0..targets).map(EventNode::empty).collect();
        Self { nodes, targets, first, free: NONE }
    }

    /// Position of a target's events among those at the same time.
    #[inline]
    pub const fn rank(&self, target: Target) -> u32 {
        target.wrapping_sub(self.first)
    }

    /// Target with this rank.
    pub const fn target_of_rank(&self, rank: u32) -> Target {
        rank.wrapping_add(self.first)
    }

    /// Time of the event in this node.
    pub fn time(&self, node: NodeIndex) -> Time {
        self.nodes[node as usize].time
    }

    /// Target of the event in this node.
    fn target(&self, node: NodeIndex) -> Target {
        self.nodes[node as usize].target
    }

    /// True if the event in one node comes after the one in the other: by time, ties by rank.
    fn is_after(&self, node: NodeIndex, other: NodeIndex) -> bool {
        let [own, others] = [node, other].map(|node| self.time(node));
        own > others
            || (own == others && self.rank(self.target(node)) > self.rank(self.target(other)))
    }

    /// Next wake-up of this target.
    #[inline]
    pub fn wake_time(&self, target: Target) -> Time {
        self.nodes[target as usize].wake
    }

    /// Sets the next wake-up of this target to `time` if it is later; true if an event has to be
    /// inserted for it. An event in the target's node that is not later suffices: once removed, it
    /// is replaced by one at the time of the next wake-up ([`Self::take_wake`]).
    #[inline(always)]
    pub fn advance_wake(&mut self, target: Target, time: Time) -> bool {
        let node = &mut self.nodes[target as usize];
        let is_earlier = time < node.wake;
        if is_earlier {
            node.wake = time;
            node.is_deferred = node.time <= time;
        }
        is_earlier && !node.is_deferred
    }

    /// Handles the removal of an event at `time`. If the event was not superseded, clears the
    /// wake-up of its target.
    #[inline(always)]
    pub fn take_wake(&mut self, target: Target, time: Time) -> Removed {
        let node = &mut self.nodes[target as usize];
        if node.wake == time {
            node.wake = Time::NEVER;
            return Removed::Due;
        }
        let is_last = std::mem::take(&mut node.is_deferred) && node.wake != Time::NEVER;
        if is_last { Removed::Precedes(node.wake) } else { Removed::Superseded }
    }

    /// Creates a list of one event in its target's node; `None` if that node is occupied.
    #[inline(always)]
    pub fn create_list(&mut self, time: Time, target: Target) -> Option<NodeIndex> {
        let entry = &mut self.nodes[target as usize];
        if entry.time != Time::NEVER {
            return None;
        }
        entry.time = time;
        entry.next = NONE;
        Some(target)
    }

    /// Creates a list of one event in its target's node, or in an additional one.
    pub fn create_list_anywhere(&mut self, time: Time, target: Target) -> NodeIndex {
        if let Some(node) = self.create_list(time, target) {
            return node;
        }
        let entry = EventNode { time, ..EventNode::empty(target) };
        let node = self.free;
        if node == NONE {
            self.nodes.push(entry);
            return self.nodes.len() as NodeIndex - 1;
        }
        self.free = self.nodes[node as usize].next;
        self.nodes[node as usize] = entry;
        node
    }

    /// Separates the first event of a list. Returns its time, and the list of the remaining events.
    /// Only this function and [`Self::drain_into`] may be called on that list.
    #[inline]
    pub fn split_first(&mut self, list: NodeIndex) -> (Time, Option<NodeIndex>) {
        let entry = &mut self.nodes[list as usize];
        let next = std::mem::replace(&mut entry.next, NONE);
        (entry.time, (next != NONE).then_some(next))
    }

    const fn last_of(&self, list: NodeIndex, first: &EventNode) -> NodeIndex {
        if first.next == NONE { list } else { first.last }
    }

    /// Appends a list of one event to a list.
    pub fn append(&mut self, list: NodeIndex, node: NodeIndex) {
        let last = self.last_of(list, &self.nodes[list as usize]);
        self.nodes[last as usize].next = node;
        self.nodes[list as usize].last = node;
    }

    /// Inserts a list of one event into a sorted list. Returns the resulting list, and the number
    /// of events at other times that were passed to find the position.
    pub fn insert(&mut self, list: NodeIndex, node: NodeIndex) -> (NodeIndex, u64) {
        let time = self.time(node);
        let first = self.nodes[list as usize];
        let last = self.last_of(list, &first);
        // Checked first, because most events are inserted in order of time.
        if !self.is_after(last, node) {
            self.append(list, node);
            return (list, 0);
        }
        if self.is_after(list, node) {
            let entry = &mut self.nodes[node as usize];
            (entry.next, entry.last) = (list, last);
            return (node, u64::from(first.time > time));
        }
        let mut passed = u64::from(first.time < time) + u64::from(self.time(last) > time);
        let mut before = list;
        loop {
            let next = self.nodes[before as usize].next;
            if self.is_after(next, node) {
                self.nodes[before as usize].next = node;
                self.nodes[node as usize].next = next;
                return (list, passed);
            }
            before = next;
            passed += u64::from(self.time(next) < time);
        }
    }

    /// Removes the only event of a list and clears the wake-up of its target, which is the usual
    /// case. `None`, without a change, if there are several events, or if the event was superseded
    /// or is not before `limit`.
    #[inline(always)]
    pub fn take_only_event(&mut self, list: NodeIndex, limit: Time) -> Option<(Time, Target)> {
        let entry = &mut self.nodes[list as usize];
        let time = entry.time;
        if entry.next != NONE || time >= limit {
            return None;
        }
        if list >= self.targets {
            return self.take_additional(list);
        }
        // A superseded event must not clear the earlier wake-up that superseded it.
        if entry.wake != time {
            return None;
        }
        entry.wake = Time::NEVER;
        entry.time = Time::NEVER;
        Some((time, list))
    }

    /// Takes the event in an additional node for [`Self::take_only_event`].
    #[inline(never)]
    fn take_additional(&mut self, node: NodeIndex) -> Option<(Time, Target)> {
        let EventNode { time, target, .. } = self.nodes[node as usize];
        if self.wake_time(target) != time {
            return None;
        }
        self.nodes[target as usize].wake = Time::NEVER;
        self.vacate(node);
        Some((time, target))
    }

    /// Removes the event from a node.
    fn vacate(&mut self, node: NodeIndex) {
        let entry = &mut self.nodes[node as usize];
        entry.time = Time::NEVER;
        if node >= self.targets {
            entry.next = std::mem::replace(&mut self.free, node);
        }
    }

    /// Removes and returns the first event of a list, and the rest of the list.
    pub fn pop_front(&mut self, list: NodeIndex) -> ((Time, Target), Option<NodeIndex>) {
        let EventNode { time, next, last, target, .. } = self.nodes[list as usize];
        self.vacate(list);
        if next == NONE {
            return ((time, target), None);
        }
        // `last` is valid only in the first node of a list, so the new first node inherits it.
        self.nodes[next as usize].last = last;
        ((time, target), Some(next))
    }

    /// Moves all events out of a list.
    pub fn drain_into(&mut self, list: NodeIndex, to: &mut Vec<(Time, Target)>) {
        let mut rest = Some(list);
        while let Some(list) = rest {
            let (event, next) = self.pop_front(list);
            to.push(event);
            rest = next;
        }
    }

    /// Node after this one in its list.
    #[inline(always)]
    pub fn after(&self, node: NodeIndex) -> Option<NodeIndex> {
        let next = self.nodes[node as usize].next;
        if next == NONE { None } else { Some(next) }
    }

    /// Target of the event in this node; [`Target::MAX`] if it is in an additional node.
    #[inline(always)]
    pub const fn usual_target(&self, node: NodeIndex) -> Target {
        if node < self.targets { node } else { Target::MAX }
    }

    /// Prefetches the node of a target.
    #[inline(always)]
    pub fn prefetch(&self, target: Target) {
        prefetch_index(&self.nodes, target as usize);
    }

    /// Events of a list, in its order.
    pub fn iter(&self, list: NodeIndex) -> impl Iterator<Item = (Time, Target)> {
        let mut next = list;
        std::iter::from_fn(move || {
            let node = next;
            let entry = self.nodes.get(node as usize)?;
            next = entry.next;
            Some((entry.time, self.target(node)))
        })
    }
}
