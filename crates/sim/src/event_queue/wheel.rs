//! The order of events: two rings and a heap, by how far ahead an event lies.
//!
//! Time is cut into slots of 2^w ns, and into turns of [`TURN`] slots. The ring of slots has the
//! events of this turn and the next in their order; the ring of turns has those of the turns
//! behind, each list in the order in which they came; what lies further ahead is in the heap. As
//! time goes on, a turn's list is dealt out to its slots before anything else can be put there: so
//! events at the same time stay in the order in which they came, and need no number for it.
//!
//! The wheel goes on by words of 64 slots. A turn begins with a word, so that none has slots that
//! lie a round apart: the first event is at the lowest bit of the word.

use super::Target;
use super::far::Far;
use super::places::{Node, Places};
use super::ring::{PLACES, Ring, WORDS};
use retx_units::Time;
use std::num::NonZeroU64;

/// Slots in a turn: two turns fill a ring.
const TURN: u64 = PLACES / 2;

/// The words of a turn.
const TURN_WORDS: u64 = WORDS / 2;

/// When an event has to pass so many others in its slot, slots are too wide.
const CROWD: u64 = 64;

/// By this the binary logarithm of their width is then less.
const NARROWER: u32 = 3;

/// Events to come, in slots of a width that others choose.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    /// The binary logarithm of a slot's width in nanoseconds.
    width: u32,
    /// No event lies in an earlier word.
    word: u64,
    /// How many words from that on are in the ring of slots.
    span: u64,
    slots: Ring,
    pub places: Places,
    /// The first turn that is not in the ring of slots.
    turn: u64,
    turns: Ring,
    far: Far,
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
    /// No events of so many targets, at time 0.
    pub fn new(targets: u32, width: u32) -> Self {
        let mut wheel = Self {
            width,
            word: 0,
            span: 0,
            slots: Ring::default(),
            places: Places::new(targets),
            turn: 0,
            turns: Ring::default(),
            far: Far::default(),
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
    #[inline(always)]
    pub fn push(&mut self, time: Time, target: Target) {
        let slot = self.slot_of(time);
        if (slot / 64).wrapping_sub(self.word) >= self.span {
            return self.put(time, target);
        }
        // Nearly all events go this way.
        let Some(node) = self.places.start(time, target) else {
            return self.push_elsewhere(time, target);
        };
        if let Err(list) = self.slots.put_if_free(slot, node) {
            self.insert_and_look(slot, list, node);
        }
    }

    /// The place of the target is taken.
    #[cold]
    #[inline(never)]
    fn push_elsewhere(&mut self, time: Time, target: Target) {
        let slot = self.slot_of(time);
        let node = self.places.start_anywhere(time, target);
        if let Err(list) = self.slots.put_if_free(slot, node) {
            self.insert_and_look(slot, list, node);
        }
    }

    #[inline(never)]
    fn insert_and_look(&mut self, slot: u64, list: Node, node: Node) {
        let passed = self.insert(slot, list, node);
        self.load.passed += passed;
        if passed >= CROWD && self.width > 0 {
            let width = self.width.saturating_sub(NARROWER);
            self.load = Load { passed: 0, narrowed: self.load.narrowed + self.width - width };
            self.set_width(width, Time::from_nanos((self.word * 64) << self.width));
        }
    }

    #[inline]
    fn insert(&mut self, slot: u64, list: Node, node: Node) -> u64 {
        let (list, passed) = self.places.insert(list, node);
        self.slots.replace(slot, list);
        passed
    }

    /// Puts in an event wherever it belongs; what is past belongs into the first slot.
    #[inline(never)]
    fn put(&mut self, time: Time, target: Target) {
        let slot = self.slot_of(time).max(self.word * 64);
        let turn = slot / TURN;
        if turn >= self.turn && turn - self.turn >= PLACES {
            return self.far.push(time, target);
        }
        let node = self.places.start_anywhere(time, target);
        if turn >= self.turn {
            match self.turns.at(turn) {
                None => self.turns.put(turn, node),
                Some(list) => self.places.append(list, node),
            }
            return;
        }
        if let Err(list) = self.slots.put_if_free(slot, node) {
            self.insert(slot, list, node);
        }
    }

    /// Takes out the first event, if it is simple: alone in its slot, in its target's place, and
    /// the one by which its target is to be woken, which from now on it is to be no more. Nearly
    /// all are.
    // Where the queue's is.
    #[inline(always)]
    pub fn pop_simple(&mut self) -> Option<(Time, Target)> {
        let word = self.slots.word(self.word);
        let bits = NonZeroU64::new(word).or_else(|| self.next_word())?;
        let slot = self.word * 64 + u64::from(bits.trailing_zeros());
        let target = self.slots.at_some(slot);
        let time = self.places.take_alone(target)?;
        self.slots.set_word(self.word, bits.get() & (bits.get() - 1));
        Some((time, target))
    }

    /// Takes out the first event, whatever it is.
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        if self.slots.word(self.word) == 0 {
            self.next_word()?;
        }
        let bits = self.slots.word(self.word);
        let slot = self.word * 64 + u64::from(bits.trailing_zeros());
        let (event, rest) = self.places.take(self.slots.at_some(slot));
        match rest {
            None => self.slots.clear(slot),
            Some(rest) => self.slots.replace(slot, rest),
        }
        Some(event)
    }

    /// The first event, which stays.
    pub fn first(&self) -> Option<(Time, Target)> {
        if let Some(slot) = self.slots.first(self.word * 64) {
            return self.places.iter(self.slots.at_some(slot)).next();
        }
        match self.turns.first(self.turn) {
            // Of several at the same time, that which came first.
            Some(turn) => self.places.iter(self.turns.at_some(turn)).min_by_key(|(time, _)| *time),
            None => self.far.first(),
        }
    }

    /// Goes on to the next word that has events, as this one has none; returns its bits.
    #[inline(never)]
    fn next_word(&mut self) -> Option<NonZeroU64> {
        match self.slots.first_word(self.word + 1) {
            Some(word) => {
                self.span -= word - self.word;
                self.word = word;
                if self.span <= TURN_WORDS {
                    self.deal_out();
                }
            }
            None => self.go_to_a_later_turn()?,
        }
        NonZeroU64::new(self.slots.word(self.word))
    }

    /// Goes on to the next turn that has events, as the ring of slots has none.
    #[cold]
    #[inline(never)]
    fn go_to_a_later_turn(&mut self) -> Option<()> {
        let turn = match self.turns.first(self.turn) {
            Some(turn) => turn,
            None => self.slot_of(self.far.first()?.0) / TURN,
        };
        self.word = turn * TURN_WORDS;
        self.set_turn(turn);
        self.deal_out();
        self.word = self.slots.first_word(self.word)?;
        self.deal_out();
        Some(())
    }

    /// Brings the next turn into the ring of slots.
    #[inline(never)]
    fn deal_out(&mut self) {
        let turn = self.turn;
        let mut rest = self.turns.at(turn);
        self.turns.clear(turn);
        self.set_turn(turn + 1);
        while let Some(node) = rest {
            let time;
            (time, rest) = self.places.split(node);
            let slot = self.slot_of(time);
            if let Err(list) = self.slots.put_if_free(slot, node)
                && self.insert(slot, list, node) >= CROWD
            {
                return self.deal_out_in_order(turn, rest);
            }
        }
    }

    /// The same where many are in one slot, after some have been dealt out.
    #[cold]
    #[inline(never)]
    fn deal_out_in_order(&mut self, turn: u64, rest: Option<Node>) {
        let mut events = Vec::new();
        for slot in turn * TURN..=turn * TURN + (TURN - 1) {
            if let Some(list) = self.slots.at(slot) {
                self.places.move_out(list, &mut events);
                self.slots.clear(slot);
            }
        }
        if let Some(rest) = rest {
            self.places.move_out(rest, &mut events);
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
        self.span = turn * TURN_WORDS - self.word;
        let width = self.width;
        let near = |time: Time| (time.as_nanos() >> width) / TURN < turn + PLACES;
        while let Some((time, target)) = self.far.pop_if(near) {
            self.put(time, target);
        }
    }

    /// Gives slots another width, at a time when no event is due earlier.
    pub fn set_width(&mut self, width: u32, now: Time) {
        let mut events = Vec::new();
        for (ring, from) in [(&mut self.slots, self.word * 64), (&mut self.turns, self.turn)] {
            while let Some(number) = ring.first(from) {
                self.places.move_out(ring.at_some(number), &mut events);
                ring.clear(number);
            }
        }
        self.width = width;
        self.word = self.slot_of(now) / 64;
        self.turn = self.word / TURN_WORDS + 2;
        self.put_all(events);
        // What has been in the heap is later than all of these.
        self.set_turn(self.turn);
    }
}
