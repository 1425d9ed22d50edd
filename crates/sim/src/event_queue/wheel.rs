//! Timing wheel: events wait in one of two rings or in a heap, depending on how far ahead they are.
//!
//! Time is divided into slots of 2^w ns, and into turns of [`TURN`] slots. The ring of slots holds
//! the events of the current turn and the next, sorted by time and, at equal times, by the rank of
//! their targets. For each of the following turns, the ring of turns holds a list of events in the
//! order of insertion. Events further ahead are in the heap. The list of a turn is distributed to
//! the slots before any event is inserted into slots of that turn.
//!
//! The wheel advances by words of the bitmap, each of which represents 64 slots. Turns begin at
//! word boundaries, so all slots of a word belong to one turn. The lowest set bit of a word marks
//! its first slot with events.

use super::Target;
use super::far::FarHeap;
use super::nodes::{EventNodes, NodeIndex};
use super::ring::{LISTS, Ring, WORDS};
use retx_units::Time;
use std::num::NonZeroU64;

/// Slots per turn; two turns fill the ring of slots.
const TURN: u64 = LISTS / 2;

/// Words per turn.
const TURN_WORDS: u64 = WORDS / 2;

/// Number of events: if a single insertion passes this many, the slots are too wide.
const CROWD: u64 = 64;

/// Reduction of the binary logarithm of the slot width if slots are too wide: they become 8 times
/// narrower.
const NARROWER: u32 = 3;

/// Pending events, in slots of a width chosen by the caller.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    /// Binary logarithm of the slot width in nanoseconds.
    width_log2: u32,
    /// Current word of the ring of slots; no event is in an earlier one.
    word: u64,
    /// Number of words, from `word` on, that the ring of slots covers at present.
    span: u64,
    slots: Ring,
    pub nodes: EventNodes,
    /// First turn that is not in the ring of slots.
    turn: u64,
    turns: Ring,
    far: FarHeap,
    load: SlotCrowding,
}

/// Measurements that show whether slots are too wide.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SlotCrowding {
    /// Number of events passed by insertions.
    pub events_passed: u64,
    /// Binary logarithm of the factor by which slots were narrowed because of crowded slots.
    pub narrowing_log2: u32,
}

impl Wheel {
    /// Creates an empty wheel for `targets` targets, at time 0. `first` is the first target in the
    /// order of ties.
    pub fn new((targets, first): (u32, Target), width: u32) -> Self {
        let mut wheel = Self {
            width_log2: width,
            word: 0,
            span: 0,
            slots: Ring::default(),
            nodes: EventNodes::new(targets, first),
            turn: 0,
            turns: Ring::default(),
            far: FarHeap::default(),
            load: SlotCrowding::default(),
        };
        wheel.set_turn(2);
        wheel
    }

    /// Binary logarithm of the slot width in nanoseconds.
    pub const fn width_log2(&self) -> u32 {
        self.width_log2
    }

    /// Returns and resets the measurements of crowded slots.
    pub fn take_crowding(&mut self) -> SlotCrowding {
        std::mem::take(&mut self.load)
    }

    const fn slot_of(&self, time: Time) -> u64 {
        time.as_nanos() >> self.width_log2
    }

    /// Inserts an event.
    #[inline(always)]
    pub fn push(&mut self, time: Time, target: Target) {
        let slot = self.slot_of(time);
        // One comparison checks both ends of the ring's span: for an event in the past, the
        // difference wraps around to a large number.
        if (slot / 64).wrapping_sub(self.word) >= self.span {
            return self.put(time, target);
        }
        // The usual case.
        let Some(node) = self.nodes.create_list(time, target) else {
            return self.push_elsewhere(time, target);
        };
        if let Err(list) = self.slots.put_if_free(slot, node) {
            self.insert_and_look(slot, list, node);
        }
    }

    /// Inserts an event of a target whose own node is already occupied.
    #[cold]
    #[inline(never)]
    fn push_elsewhere(&mut self, time: Time, target: Target) {
        let slot = self.slot_of(time);
        let node = self.nodes.create_list_anywhere(time, target);
        if let Err(list) = self.slots.put_if_free(slot, node) {
            self.insert_and_look(slot, list, node);
        }
    }

    #[inline(never)]
    fn insert_and_look(&mut self, slot: u64, list: NodeIndex, node: NodeIndex) {
        let passed = self.insert(slot, list, node);
        self.load.events_passed += passed;
        // The slots are narrowed at once: if that had to wait for the end of the period, every
        // insertion until then would be equally slow.
        if passed >= CROWD && self.width_log2 > 0 {
            let width = self.width_log2.saturating_sub(NARROWER);
            self.load = SlotCrowding {
                events_passed: 0,
                narrowing_log2: self.load.narrowing_log2 + self.width_log2 - width,
            };
            self.set_width_log2(width, Time::from_nanos((self.word * 64) << self.width_log2));
        }
    }

    #[inline]
    fn insert(&mut self, slot: u64, list: NodeIndex, node: NodeIndex) -> u64 {
        let (list, passed) = self.nodes.insert(list, node);
        self.slots.replace(slot, list);
        passed
    }

    /// Inserts an event into slots, turns or heap; events in the past go to the first slot.
    #[inline(never)]
    fn put(&mut self, time: Time, target: Target) {
        let slot = self.slot_of(time).max(self.word * 64);
        let turn = slot / TURN;
        // The ring of turns holds `LISTS` turns. A later turn would share its list with an earlier
        // one, so its events go to the heap.
        if turn >= self.turn && turn - self.turn >= LISTS {
            return self.far.push(time, self.nodes.rank(target));
        }
        let node = self.nodes.create_list_anywhere(time, target);
        if turn >= self.turn {
            match self.turns.get(turn) {
                None => self.turns.put(turn, node),
                Some(list) => self.nodes.append(list, node),
            }
            return;
        }
        if let Err(list) = self.slots.put_if_free(slot, node) {
            self.insert(slot, list, node);
        }
    }

    /// Removes and returns the first event and clears the wake-up of its target in the usual case:
    /// the event is before `limit`, alone in its slot, and not superseded. Otherwise `None`.
    /// Inlined into `EventQueue::take_only_before`.
    #[inline(always)]
    pub fn pop_simple(&mut self, limit: Time) -> Option<(Time, Target)> {
        let word = self.slots.bits_of_word(self.word);
        let bits = NonZeroU64::new(word).or_else(|| self.next_word())?;
        let slot = self.word * 64 + u64::from(bits.trailing_zeros());
        let event = self.nodes.take_only_event(self.slots.existing(slot), limit)?;
        self.slots.clear_first_of_word(self.word);
        Some(event)
    }

    /// Removes and returns the first event in all cases, and whether the next one is at the same
    /// time.
    pub fn pop(&mut self) -> Option<((Time, Target), bool)> {
        if self.slots.bits_of_word(self.word) == 0 {
            self.next_word()?;
        }
        let bits = self.slots.bits_of_word(self.word);
        let slot = self.word * 64 + u64::from(bits.trailing_zeros());
        let (event, rest) = self.nodes.pop_front(self.slots.existing(slot));
        let Some(rest) = rest else {
            self.slots.clear(slot);
            return Some((event, false));
        };
        self.slots.replace(slot, rest);
        Some((event, self.nodes.time(rest) == event.0))
    }

    /// First event, without removing it.
    pub fn first(&self) -> Option<(Time, Target)> {
        if let Some(slot) = self.slots.next_occupied(self.word * 64) {
            return self.nodes.iter(self.slots.existing(slot)).next();
        }
        match self.turns.next_occupied(self.turn) {
            Some(turn) => {
                let events = self.nodes.iter(self.turns.existing(turn));
                events.min_by_key(|(time, target)| (*time, self.nodes.rank(*target)))
            }
            None => {
                let (time, rank) = self.far.first()?;
                Some((time, self.nodes.target_of_rank(rank)))
            }
        }
    }

    /// Time before which there is no event, at most that of the first event. In contrast to
    /// [`Self::first`], no list of a turn is searched.
    pub fn earliest(&self) -> Time {
        if let Some(slot) = self.slots.next_occupied(self.word * 64) {
            return self.nodes.time(self.slots.existing(slot));
        }
        match self.turns.next_occupied(self.turn) {
            Some(turn) => Time::from_nanos(turn.saturating_mul(TURN) << self.width_log2),
            None => self.far.first().map_or(Time::NEVER, |(time, _)| time),
        }
    }

    /// Targets of the next events in the current word and the one after it, in order. For the few
    /// events in additional nodes, the target is [`Target::MAX`].
    #[inline(always)]
    pub fn upcoming(&self) -> impl Iterator<Item = Target> {
        let (mut word, mut bits) = (self.word, self.slots.bits_of_word(self.word));
        let mut next: Option<NodeIndex> = None;
        std::iter::from_fn(move || {
            let node = match next {
                Some(node) => node,
                None => {
                    if bits == 0 && word == self.word && self.span > 1 {
                        word += 1;
                        bits = self.slots.bits_of_word(word);
                    }
                    // Before the multiplication, since a word after the end of time has no slots.
                    let first = NonZeroU64::new(bits)?.trailing_zeros();
                    bits &= bits - 1;
                    self.slots.existing(word * 64 + u64::from(first))
                }
            };
            next = self.nodes.after(node);
            Some(self.nodes.usual_target(node))
        })
    }

    /// Advances from an empty word to the next word with events; returns its bits.
    #[inline(never)]
    fn next_word(&mut self) -> Option<NonZeroU64> {
        match self.slots.next_filled_word(self.word + 1) {
            Some(word) => {
                self.span -= word - self.word;
                self.word = word;
                // The ring of slots can hold two turns. If it holds no more than one now, the next
                // turn must be distributed before an event is inserted into that turn.
                if self.span <= TURN_WORDS {
                    self.deal_out();
                }
            }
            None => self.go_to_a_later_turn()?,
        }
        NonZeroU64::new(self.slots.bits_of_word(self.word))
    }

    /// Advances to the next turn with events; the ring of slots must be empty.
    #[cold]
    #[inline(never)]
    fn go_to_a_later_turn(&mut self) -> Option<()> {
        let turn = match self.turns.next_occupied(self.turn) {
            Some(turn) => turn,
            None => self.slot_of(self.far.first()?.0) / TURN,
        };
        // The first call of `deal_out` adds this turn to the ring of slots, the second adds the
        // next one; outside this function the ring always covers both.
        self.word = turn * TURN_WORDS;
        self.set_turn(turn);
        self.deal_out();
        self.word = self.slots.next_filled_word(self.word)?;
        self.deal_out();
        Some(())
    }

    /// Distributes the next turn to the ring of slots.
    #[inline(never)]
    fn deal_out(&mut self) {
        let turn = self.turn;
        let mut rest = self.turns.get(turn);
        self.turns.clear(turn);
        self.set_turn(turn + 1);
        while let Some(node) = rest {
            let time;
            (time, rest) = self.nodes.split_first(node);
            let slot = self.slot_of(time);
            if let Err(list) = self.slots.put_if_free(slot, node)
                && self.insert(slot, list, node) >= CROWD
            {
                // Inserting the events of a crowded slot one by one would take quadratic time. If
                // they are sorted first, no event has to pass another.
                return self.deal_out_in_order(turn, rest);
            }
        }
    }

    /// Distributes the rest of a turn in sorted order, for crowded slots.
    #[cold]
    #[inline(never)]
    fn deal_out_in_order(&mut self, turn: u64, rest: Option<NodeIndex>) {
        let mut events = Vec::new();
        for slot in turn * TURN..=turn * TURN + (TURN - 1) {
            if let Some(list) = self.slots.get(slot) {
                self.nodes.drain_into(list, &mut events);
                self.slots.clear(slot);
            }
        }
        if let Some(rest) = rest {
            self.nodes.drain_into(rest, &mut events);
        }
        self.put_all(events);
    }

    /// Inserts events after sorting them, so that no event has to pass another.
    fn put_all(&mut self, mut events: Vec<(Time, Target)>) {
        events.sort_by_key(|(time, target)| (*time, self.nodes.rank(*target)));
        for (time, target) in events {
            self.put(time, target);
        }
    }

    /// Sets the first turn that is not in the ring of slots.
    fn set_turn(&mut self, turn: u64) {
        self.turn = turn;
        self.span = turn * TURN_WORDS - self.word;
        let width = self.width_log2;
        let near = |time: Time| (time.as_nanos() >> width) / TURN < turn + LISTS;
        while let Some((time, rank)) = self.far.pop_if(near) {
            self.put(time, self.nodes.target_of_rank(rank));
        }
    }

    /// Changes the slot width; `now` must not be later than any event.
    pub fn set_width_log2(&mut self, width: u32, now: Time) {
        let mut events = Vec::new();
        for (ring, from) in [(&mut self.slots, self.word * 64), (&mut self.turns, self.turn)] {
            while let Some(number) = ring.next_occupied(from) {
                self.nodes.drain_into(ring.existing(number), &mut events);
                ring.clear(number);
            }
        }
        self.width_log2 = width;
        self.word = self.slot_of(now) / 64;
        self.turn = self.word / TURN_WORDS + 2;
        self.put_all(events);
        // Events that now leave the heap are later than all events that were in the rings, so they
        // are inserted last.
        self.set_turn(self.turn);
    }
}
