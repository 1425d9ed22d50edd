//! Agenda: the next wake-up of each target (a pipe, an endpoint or another owner of events). Only
//! the earliest pending event of a target is valid. A request for a later time inserts no event,
//! because the target repeats the request when it is woken. Nor does a request for a time after a
//! superseded event of the target: that event is replaced when it is removed. A timer that is often
//! postponed, such as a retransmission timer, thus leaves no trail of superseded events.

use crate::event_queue::{EventQueue, Target};
use retx_units::Time;

/// Pending events, and the next wake-up of each target.
#[derive(Debug, Clone)]
pub struct Agenda {
    queue: EventQueue,
}

impl Agenda {
    /// Creates an empty agenda for `targets` targets. At equal times, `first` and the targets after
    /// it are woken before the targets before it.
    pub fn new(targets: u32, first: Target) -> Self {
        Self { queue: EventQueue::new(targets, first) }
    }

    /// Makes sure that `target` is woken at `time` or earlier.
    #[inline(always)]
    pub fn wake(&mut self, target: Target, time: Time) {
        self.queue.wake(target, time);
    }

    /// Removes and returns the next wake-up in the usual case, see [`EventQueue::take_only`].
    #[inline(always)]
    pub fn take_only(&mut self) -> Option<(Time, Target)> {
        self.queue.take_only()
    }

    /// Like [`Self::take_only`], if the wake-up is before `limit`.
    pub fn take_only_before(&mut self, limit: Time) -> Option<(Time, Target)> {
        self.queue.take_only_before(limit)
    }

    /// True if no target is woken before `time` or at it.
    #[inline(always)]
    pub fn begins_after(&mut self, time: Time) -> bool {
        time < self.queue.lower_bound() || time < self.queue.raise_lower_bound()
    }

    /// Removes and returns the next wake-up; for `stands_for`, see [`EventQueue::take_first`].
    pub fn take_first(
        &mut self,
        stands_for: impl Fn(Target) -> Option<Target>,
    ) -> Option<(Time, Target)> {
        self.queue.take_first(stands_for)
    }

    /// Next wake-up of `target`; [`Time::NEVER`] if there is none.
    pub fn wake_time(&self, target: Target) -> Time {
        self.queue.wake_time(target)
    }

    /// Targets of the events that follow soon, in order; see [`EventQueue::upcoming`].
    #[inline(always)]
    pub fn upcoming(&self) -> impl Iterator<Item = Target> {
        self.queue.upcoming()
    }

    /// Prefetches the place of a target's next event.
    #[inline(always)]
    pub fn prefetch(&self, target: Target) {
        self.queue.prefetch(target);
    }

    /// Time before which no target is woken; see [`EventQueue::earliest`].
    pub fn earliest(&self) -> Time {
        self.queue.earliest()
    }

    /// Time of the next wake-up, as returned by `take_first`.
    pub fn next_time(&mut self) -> Time {
        while let Some((time, target)) = self.queue.first() {
            if self.queue.wake_time(target) == time {
                return time;
            }
            // An earlier event has superseded this one.
            self.queue.remove_first();
        }
        Time::NEVER
    }

    /// Number of events inserted so far; measures the work of the queue.
    pub const fn events_inserted(&self) -> u64 {
        self.queue.events_inserted()
    }

    /// Number of pending events, superseded ones included.
    pub fn pending_events(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// First target in the order of ties.
    const FIRST: Target = 2;

    /// Reference implementation of an agenda.
    struct Plain {
        events: BTreeSet<(u64, Target, usize, Target)>,
        wake: Vec<u64>,
        entered: usize,
    }

    impl Plain {
        fn wake(&mut self, target: Target, time: u64) {
            let pending = &mut self.wake[target as usize];
            if time < *pending {
                *pending = time;
                self.events.insert((time, target.wrapping_sub(FIRST), self.entered, target));
                self.entered += 1;
            }
        }

        fn take_first(&mut self) -> Option<(u64, Target)> {
            loop {
                let (time, _, _, target) = self.events.pop_first()?;
                let pending = &mut self.wake[target as usize];
                if *pending == time {
                    *pending = u64::MAX;
                    return Some((time, target));
                }
            }
        }
    }

    proptest! {
        /// The agenda returns the same wake-ups as the reference implementation. Many requests go
        /// to only four targets, so superseded events lie anywhere in the queue. Some requests
        /// repeat the time of a superseded event.
        #[test]
        fn wakes_as_wished(
            steps in prop::collection::vec((0u32..4, 0u64..8, 0u32..8), 0..2000),
            magnitude in 0u32..40,
        ) {
            const TARGETS: u32 = 4;
            let mut agenda = Agenda::new(TARGETS, FIRST);
            let wake = vec![u64::MAX; TARGETS as usize];
            let mut plain = Plain { events: BTreeSet::new(), wake, entered: 0 };
            let mut now = 0;
            for (target, delay, scale) in steps {
                // Times lie on a grid, so that ties occur.
                let time = ((now >> magnitude) + (delay << (2 * scale))) << magnitude;
                plain.wake(target, time);
                agenda.wake(target, at(time));
                prop_assert!(agenda.pending_events() <= plain.events.len());
                if delay % 3 == 0 {
                    let expected = plain.take_first();
                    now = expected.map_or(now, |(time, _)| time);
                    let expected = expected.map(|(time, target)| (at(time), target));
                    prop_assert_eq!(take_first(&mut agenda), expected);
                }
                if scale == 0 {
                    let first = plain.wake.iter().min().expect("there are some");
                    prop_assert_eq!(agenda.next_time().as_nanos(), *first);
                    // The agenda has dropped superseded events at its front; the reference does the
                    // same.
                    while plain.events.first().is_some_and(|(time, .., target)| {
                        plain.wake[*target as usize] != *time
                    }) {
                        plain.events.pop_first();
                    }
                }
            }
        }
    }

    fn take_first(agenda: &mut Agenda) -> Option<(Time, Target)> {
        agenda.take_only().or_else(|| agenda.take_first(|_| None))
    }

    /// Target 4 precedes the others, and stands for one of them.
    #[test]
    fn a_target_is_woken_when_the_one_that_it_stands_for_would_be() {
        for other in 0..4 {
            let mut agenda = Agenda::new(6, 4);
            [4, 2, 0, 3, 1].into_iter().for_each(|target| agenda.wake(target, at(10)));
            let stands_for = |target| (target >= 4).then_some(other);
            let order: Vec<Target> =
                std::iter::from_fn(|| agenda.take_only().or_else(|| agenda.take_first(stands_for)))
                    .map(|(_, woken)| woken)
                    .collect();
            let mut expected = vec![0, 1, 2, 3];
            expected.insert(other as usize, 4);
            assert_eq!(order, expected);
        }
    }

    /// Targets 4 and 5 precede the others, and stand for some of them in the opposite order.
    #[test]
    fn targets_that_stand_for_others_are_woken_in_the_order_of_those() {
        let mut agenda = Agenda::new(6, 4);
        [0, 1, 2, 4, 5].into_iter().for_each(|target| agenda.wake(target, at(10)));
        let stands_for = |target: Target| target.checked_sub(4).map(|lane| 2 - 2 * lane);
        let order: Vec<Target> =
            std::iter::from_fn(|| agenda.take_only().or_else(|| agenda.take_first(stands_for)))
                .map(|(_, woken)| woken)
                .collect();
        assert_eq!(order, [5, 0, 1, 4, 2]);
    }

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn a_superseded_event_stands_for_a_later_wake_up() {
        let mut agenda = Agenda::new(2, 0);
        agenda.wake(0, at(50));
        for time in [10, 20, 30] {
            agenda.wake(0, at(time));
            assert_eq!(take_first(&mut agenda), Some((at(time), 0)));
            agenda.wake(0, at(60 + time));
            assert_eq!(agenda.pending_events(), 1, "the event at 50 is not due, but suffices");
        }
        agenda.wake(1, at(70));
        assert_eq!(agenda.next_time(), at(70));
        assert_eq!(agenda.events_inserted(), 6, "also the one that has replaced that at 50");
        assert_eq!(take_first(&mut agenda), Some((at(70), 1)));
        assert_eq!(take_first(&mut agenda), Some((at(90), 0)));
        assert_eq!(take_first(&mut agenda), None);
    }

    #[test]
    fn a_target_is_woken_at_its_earliest_wish() {
        let mut agenda = Agenda::new(2, 0);
        agenda.wake(0, at(50));
        agenda.wake(0, at(70));
        agenda.wake(1, at(60));
        agenda.wake(0, at(40));
        assert_eq!(agenda.events_inserted(), 3);
        assert_eq!(take_first(&mut agenda), Some((at(40), 0)));
        agenda.wake(0, at(70));
        assert_eq!(take_first(&mut agenda), Some((at(60), 1)));
        assert_eq!(take_first(&mut agenda), Some((at(70), 0)));
        assert_eq!(take_first(&mut agenda), None);
    }

    #[test]
    fn the_next_time_is_that_of_the_first_that_counts() {
        let mut agenda = Agenda::new(2, 0);
        agenda.wake(0, at(20));
        agenda.wake(0, at(10));
        agenda.wake(1, at(1000));
        assert_eq!(agenda.next_time(), at(10));
        assert_eq!(take_first(&mut agenda), Some((at(10), 0)));
        // The event at 20 is superseded. If its time were returned, the target due at 1000 would be
        // woken too early.
        assert_eq!(agenda.next_time(), at(1000));
        assert_eq!(take_first(&mut agenda), Some((at(1000), 1)));
        assert_eq!(agenda.next_time(), Time::NEVER);
    }
}
