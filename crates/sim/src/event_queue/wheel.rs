//! The order of events: two rings and a heap, by how far ahead an event lies.
//!
//! Time is cut into slots of 2^w ns, and into turns of [`TURN`] slots. The ring of slots has the
//! events of this turn and the next in their order; the ring of turns has those of the turns
//! behind, each list in the order in which they came; what lies further ahead is in the heap. As
//! time goes on, a turn's list is dealt out to its slots before anything else can be put there: so
//! events at the same time stay in the order in which they came, and need no number for it.

use super::Target;
use super::far::Far;
use super::lists::{Lists, Node};
use super::ring::{PLACES, Ring};
use retx_units::Time;

/// Slots in a turn: two turns fill a ring.
const TURN: u64 = PLACES / 2;

/// When an event has to pass so many others in its slot, slots are too wide.
const CROWD: u64 = 64;

/// By this the binary logarithm of their width is then less.
const NARROWER: u32 = 3;

/// Events to come, in slots of a width that others choose.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    /// The binary logarithm of a slot's width in nanoseconds.
    width: u32,
    /// No event lies in an earlier slot.
    slot: u64,
    /// The first turn that is not in the ring of slots.
    turn: u64,
    /// Its first slot; wraps behind the last that there can be.
    end: u64,
    /// The slot at which that turn comes into the ring of slots.
    turns_at: u64,
    slots: Ring,
    turns: Ring,
    far: Far,
    lists: Lists,
    load: Load,
}

/// What tells whether slots are too wide.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Events that had to be passed to put others in their order.
    pub passed: u64,
    /// How much narrower slots have become because of a crowd: binary logarithm.
    pub narrowed: u32,
}

impl Wheel {
    /// No events, at time 0.
    pub fn new(width: u32) -> Self {
        let mut wheel = Self {
            width,
            slot: 0,
            turn: 0,
            end: 0,
            turns_at: 0,
            slots: Ring::default(),
            turns: Ring::default(),
            far: Far::default(),
            lists: Lists::default(),
            load: Load::default(),
        };
        wheel.set_turn(2);
        wheel
    }

    /// The binary logarithm of a slot's width in nanoseconds.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// The load since it was last asked for.
    pub fn take_load(&mut self) -> Load {
        std::mem::take(&mut self.load)
    }

    const fn slot_of(&self, time: Time) -> u64 {
        time.as_nanos() >> self.width
    }

    /// Puts in an event behind all that are not later.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) {
        let slot = self.slot_of(time);
        if slot.wrapping_sub(self.slot) >= self.end.wrapping_sub(self.slot) {
            return self.put(time, target);
        }
        // Nearly all events go this way.
        let Some(node) = self.lists.start(time, target) else {
            return self.push_into_new_room(slot, time, target);
        };
        self.push_node(slot, node);
    }

    #[cold]
    #[inline(never)]
    fn push_into_new_room(&mut self, slot: u64, time: Time, target: Target) {
        let node = self.lists.start_with_room(time, target);
        self.push_node(slot, node);
    }

    #[inline(always)]
    fn push_node(&mut self, slot: u64, node: Node) {
        match self.slots.at(slot) {
            None => self.slots.put(slot, node),
            Some(list) => self.insert_and_look(slot, list, node),
        }
    }

    #[inline(never)]
    fn insert_and_look(&mut self, slot: u64, list: Node, node: Node) {
        let passed = self.insert(slot, list, node);
        self.load.passed += passed;
        if passed >= CROWD && self.width > 0 {
            let width = self.width.saturating_sub(NARROWER);
            self.load = Load { passed: 0, narrowed: self.load.narrowed + self.width - width };
            self.set_width(width, Time::from_nanos(self.slot << self.width));
        }
    }

    #[inline]
    fn insert(&mut self, slot: u64, list: Node, node: Node) -> u64 {
        let (list, passed) = self.lists.insert(list, node);
        self.slots.replace(slot, list);
        passed
    }

    /// Puts in an event wherever it belongs; what is past belongs into the first slot.
    #[cold]
    #[inline(never)]
    fn put(&mut self, time: Time, target: Target) {
        let slot = self.slot_of(time).max(self.slot);
        let turn = slot / TURN;
        if turn >= self.turn && turn - self.turn >= PLACES {
            return self.far.push(time, target);
        }
        let node = self.lists.start_with_room(time, target);
        if turn >= self.turn {
            match self.turns.at(turn) {
                None => self.turns.put(turn, node),
                Some(list) => self.turns.replace(turn, self.lists.append(list, node)),
            }
            return;
        }
        match self.slots.at(slot) {
            None => self.slots.put(slot, node),
            Some(list) => {
                self.insert(slot, list, node);
            }
        }
    }

    /// Takes out the first event.
    // Where the queue's is.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        let slot = match self.slots.first(self.slot) {
            Some(slot) => slot,
            None => self.first_slot_of_a_later_turn()?,
        };
        self.slot = slot;
        if slot >= self.turns_at {
            self.deal_out();
        }
        let (time, target, alone) = self.lists.pop(self.slots.at_some(slot));
        if alone {
            self.slots.clear(slot);
        }
        Some((time, target))
    }

    /// The first event, which stays.
    pub fn first(&self) -> Option<(Time, Target)> {
        if let Some(slot) = self.slots.first(self.slot) {
            return self.lists.iter(self.slots.at_some(slot)).next();
        }
        match self.turns.first(self.turn) {
            // Of several at the same time, that which came first.
            Some(turn) => self.lists.iter(self.turns.at_some(turn)).min_by_key(|(time, _)| *time),
            None => self.far.first(),
        }
    }

    /// Goes on to the next turn that has events, as the ring of slots has none.
    #[cold]
    #[inline(never)]
    fn first_slot_of_a_later_turn(&mut self) -> Option<u64> {
        let turn = match self.turns.first(self.turn) {
            Some(turn) => turn,
            None => self.slot_of(self.far.first()?.0) / TURN,
        };
        self.slot = turn * TURN;
        self.set_turn(turn);
        self.deal_out();
        self.slots.first(self.slot)
    }

    /// Brings the next turn into the ring of slots.
    #[cold]
    #[inline(never)]
    fn deal_out(&mut self) {
        let turn = self.turn;
        self.set_turn(turn + 1);
        let Some(list) = self.turns.at(turn) else {
            return;
        };
        self.turns.clear(turn);
        let mut events = Vec::new();
        loop {
            let (time, target, alone) = self.lists.pop(list);
            events.push((time, target));
            if alone {
                break;
            }
        }
        self.put_all(events);
    }

    /// Puts in events of which some came in a turn's list: earlier ones first, so that none has to
    /// pass another, and those at the same time in the order in which they are.
    fn put_all(&mut self, mut events: Vec<(Time, Target)>) {
        events.sort_by_key(|(time, _)| *time);
        for (time, target) in events {
            self.put(time, target);
        }
    }

    /// Lets this be the first turn that is not in the ring of slots.
    fn set_turn(&mut self, turn: u64) {
        self.turn = turn;
        self.end = turn.wrapping_mul(TURN);
        self.turns_at = (turn - 1).saturating_mul(TURN);
        let width = self.width;
        let near = |time: Time| (time.as_nanos() >> width) / TURN < turn + PLACES;
        while let Some((time, target)) = self.far.pop_if(near) {
            self.put(time, target);
        }
    }

    /// Gives slots another width, at a time when no event is due earlier.
    pub fn set_width(&mut self, width: u32, now: Time) {
        let mut events = Vec::new();
        for (ring, from) in [(&mut self.slots, self.slot), (&mut self.turns, self.turn)] {
            while let Some(number) = ring.first(from) {
                events.extend(self.lists.iter(ring.at_some(number)));
                ring.clear(number);
            }
        }
        self.lists.clear();
        self.width = width;
        self.slot = self.slot_of(now);
        self.turn = self.slot / TURN + 2;
        self.put_all(events);
        // What has been in the heap is later than all of these.
        self.set_turn(self.turn);
    }
}
