use super::ring::LISTS;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Queue and reference (a sorted set), to which all operations are applied alike.
struct Pair {
    queue: EventQueue,
    /// Time, rank of the target, and number of the event.
    sorted: BTreeSet<(u64, u32, u32)>,
    number: u32,
    /// Time of the last event removed.
    now: u64,
}

/// Number of targets. There are more events than that, so some targets have several.
const TARGETS: u32 = 100;

/// First target in the order of ties.
const FIRST: Target = 10;

impl Default for Pair {
    fn default() -> Self {
        let queue = EventQueue::new(TARGETS, FIRST);
        Self { queue, sorted: BTreeSet::new(), number: 0, now: 0 }
    }
}

impl Pair {
    fn push(&mut self, time: u64) {
        self.queue.push(Time::from_nanos(time), self.number % TARGETS);
        let target = self.number % TARGETS;
        self.sorted.insert((time, target.wrapping_sub(FIRST), self.number));
        self.number += 1;
    }

    /// Pushes an event `delay` after the last event removed, without overflow.
    fn push_after(&mut self, delay: u64) {
        self.push(self.now.saturating_add(delay).min(u64::MAX - 1));
    }

    /// Pops an event from both and compares them; false if both were empty.
    fn pop(&mut self) -> bool {
        let expected = self.sorted.pop_first();
        let found = self.queue.pop().map(|(time, target)| (time.as_nanos(), target));
        assert_eq!(found, expected.map(|(time, _, number)| (time, number % TARGETS)));
        assert_eq!(self.queue.len(), self.sorted.len());
        self.now = expected.map_or(self.now, |(time, ..)| time);
        expected.is_some()
    }

    fn look(&self) {
        let first = self.queue.first().map(|(time, target)| (time.as_nanos(), target));
        assert_eq!(first, self.sorted.first().map(|(time, _, n)| (*time, n % TARGETS)));
        assert_eq!(self.queue.is_empty(), self.sorted.is_empty());
        let upcoming: Vec<Target> = self.queue.upcoming().collect();
        assert!(upcoming.len() <= self.sorted.len());
        for (target, (_, _, number)) in upcoming.into_iter().zip(&self.sorted) {
            assert!(target == Target::MAX || target == number % TARGETS);
        }
    }

    fn empty(&mut self) {
        while self.pop() {}
        assert_eq!(self.queue.pop(), None);
    }
}

proptest! {
    /// Pushes and pops in any order, with many ties and times in the past, agree with the
    /// reference.
    #[test]
    fn pops_in_order_of_time_then_target(
        steps in prop::collection::vec((any::<bool>(), 0u64..20), 0..600),
    ) {
        let mut pair = Pair::default();
        for (push, time) in steps {
            if push {
                pair.push(time);
            } else {
                pair.pop();
            }
            if time % 3 == 0 {
                pair.look();
            }
        }
        pair.empty();
    }

    /// Delays of any magnitude, from ties to the far future, agree with the reference. Their scale
    /// changes between phases, so slots get wider and narrower, and events move from the heap to
    /// turns and from there to slots.
    #[test]
    fn pops_in_order_over_all_scales(
        phases in prop::collection::vec((0u32..63, 1u32..20, 1usize..120, any::<u64>()), 1..12),
    ) {
        let mut pair = Pair::default();
        for (magnitude, spread, pending, seed) in phases {
            let mut stream = retx_units::StreamKey { seed, replication: 0 }.stream("delays");
            let mut delay = || {
                let bits = magnitude.saturating_sub(stream.below(spread.into()) as u32);
                stream.below(1 << bits)
            };
            for _ in 0..pending {
                pair.push_after(delay());
            }
            for step in 0..3 * pending {
                pair.pop();
                pair.push_after(if step % 5 == 0 { delay() >> (delay() % 40) } else { delay() });
                pair.look();
            }
            for _ in 0..pending / 2 {
                pair.pop();
            }
        }
        pair.empty();
    }

    /// Bursts of thousands of events in a short time, with long pauses between bursts, agree with
    /// the reference.
    #[test]
    fn pops_in_order_in_bursts(
        bursts in prop::collection::vec((10u32..45, 1u64..3000, 1usize..3000), 1..5),
    ) {
        let mut pair = Pair::default();
        for (silence, within, count) in bursts {
            for index in 0..count as u64 {
                pair.push_after((1 << silence) + index * 7919 % within);
            }
            for _ in 0..count * 3 / 4 {
                pair.pop();
            }
            pair.look();
        }
        pair.empty();
    }
}

#[test]
fn events_hold_the_extremes() {
    let mut queue = EventQueue::new(2, 0);
    let last = Time::from_nanos(u64::MAX - 1);
    queue.push(last, 1);
    queue.push(Time::ZERO, 0);
    assert_eq!(queue.pop(), Some((Time::ZERO, 0)));
    assert_eq!(queue.pop(), Some((last, 1)));
}

/// Events up to the last possible time are in order in slots of 1 ns.
#[test]
fn the_end_of_all_time_is_in_order() {
    let mut pair = Pair::default();
    let begin = u64::MAX - 20_000;
    for index in 0..10_000 {
        pair.push(begin + index * 7919 % 20_000);
    }
    while pair.pop() {
        if pair.number < 30_000 {
            pair.push_after(u64::from(pair.number) % 3000);
        }
        pair.look();
    }
    assert_eq!(pair.queue.wheel.width_log2(), 0);
}

/// Ties are ordered, whether the others are in the heap, in a later turn, or in a slot.
#[test]
fn ties_are_ordered_wherever_they_were_put() {
    let mut pair = Pair::default();
    let slot = 1 << FIRST_WIDTH;
    let turn = LISTS / 2 * slot;
    let far = (LISTS + 1000) * turn;
    for _ in 0..20 {
        pair.push(far);
    }
    for ahead in [far, LISTS / 2 * turn, 5 * turn / 2, 100 * slot, 0] {
        pair.push(far - ahead);
        pair.pop();
        for _ in 0..3 {
            pair.push(far);
        }
    }
    pair.empty();
}

/// Slot width that results if events are `apart` nanoseconds apart and `pending` are pending.
fn width_after(apart: u64, pending: u64) -> u32 {
    let mut pair = Pair::default();
    for index in 0..pending {
        pair.push(index * apart);
    }
    for _ in 0..20_000 {
        pair.pop();
        pair.push_after(pending * apart);
    }
    pair.queue.wheel.width_log2()
}

#[test]
fn slots_are_as_wide_as_events_are_apart() {
    assert_eq!(width_after(1000, 10), 6);
    assert_eq!(width_after(1000, 1000), 6);
    assert_eq!(width_after(1_000_000, 10), 16);
    assert_eq!(width_after(1, 10), 0);
}

/// Many events are inserted before the first is removed, so no period has measured their density.
#[test]
fn a_crowd_makes_slots_narrower() {
    let mut pair = Pair::default();
    for index in 0..100_000 {
        pair.push(index * 7919 % 100_000);
    }
    assert!(pair.queue.wheel.width_log2() <= 5, "{}", pair.queue.wheel.width_log2());
    let passed = pair.queue.wheel.take_crowding().events_passed;
    // An insertion passes at most the other events of its slot, which has room for 32 ns.
    assert!(passed < 32 * 100_000, "{passed} events passed");
    pair.empty();
}

#[test]
fn upcoming_events_are_those_of_two_words() {
    // The initial width is 2^14 ns, so a word of the bitmap stands for 2^20 ns.
    let mut queue = EventQueue::new(TARGETS, FIRST);
    for (target, time) in [(7, 1_200_000), (3, 20), (5, 30_000), (3, 40_000), (9, 3_000_000)] {
        queue.push(Time::from_nanos(time), target);
    }
    queue.push(Time::from_nanos(20), 4);
    let upcoming: Vec<Target> = queue.upcoming().collect();
    // The second event of target 3 is in an additional node; that of target 9 is too far ahead.
    assert_eq!(upcoming, [3, 4, 5, Target::MAX, 7]);
}
