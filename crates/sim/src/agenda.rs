//! Agenda: the next wake-up of each target (a pipe, an endpoint or another owner of events). Only
//! the earliest pending event of a target is valid. A request for a later time inserts no event,
//! because the target repeats the request when it is woken.

use crate::event_queue::{EventQueue, Target};
use retx_units::Time;

/// Pending events, and the next wake-up of each target.
#[derive(Debug, Clone)]
pub struct Agenda {
    queue: EventQueue,
}

impl Agenda {
    /// Creates an empty agenda for `targets` targets.
    pub fn new(targets: u32) -> Self {
        Self { queue: EventQueue::new(targets) }
    }

    /// Makes sure that `target` is woken at `time` or earlier.
    #[inline(always)]
    pub fn wake(&mut self, target: Target, time: Time) {
        let pending = self.queue.wake_time_mut(target);
        if time < *pending {
            *pending = time;
            self.queue.push(time, target);
        }
    }

    /// Removes and returns the next wake-up.
    #[inline]
    pub fn take_first(&mut self) -> Option<(Time, Target)> {
        self.queue.take_first()
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

    /// Reference implementation of an agenda.
    struct Plain {
        events: BTreeSet<(u64, usize, Target)>,
        wake: Vec<u64>,
        entered: usize,
    }

    impl Plain {
        fn wake(&mut self, target: Target, time: u64) {
            let pending = &mut self.wake[target as usize];
            if time < *pending {
                *pending = time;
                self.events.insert((time, self.entered, target));
                self.entered += 1;
            }
        }

        fn take_first(&mut self) -> Option<(u64, Target)> {
            loop {
                let (time, _, target) = self.events.pop_first()?;
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
            let mut agenda = Agenda::new(TARGETS);
            let wake = vec![u64::MAX; TARGETS as usize];
            let mut plain = Plain { events: BTreeSet::new(), wake, entered: 0 };
            let mut now = 0;
            for (target, delay, scale) in steps {
                // Times lie on a grid, so that ties occur.
                let time = ((now >> magnitude) + (delay << (2 * scale))) << magnitude;
                plain.wake(target, time);
                agenda.wake(target, at(time));
                prop_assert_eq!(agenda.pending_events(), plain.events.len());
                if delay % 3 == 0 {
                    let expected = plain.take_first();
                    now = expected.map_or(now, |(time, _)| time);
                    let found = agenda.take_first().map(|(time, target)| (time.as_nanos(), target));
                    prop_assert_eq!(found, expected);
                }
                if scale == 0 {
                    let first = plain.wake.iter().min().expect("there are some");
                    prop_assert_eq!(agenda.next_time().as_nanos(), *first);
                    // The agenda has dropped superseded events at its front; the reference does the
                    // same.
                    while plain.events.first().is_some_and(|(time, _, target)| {
                        plain.wake[*target as usize] != *time
                    }) {
                        plain.events.pop_first();
                    }
                }
            }
        }
    }

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn a_target_is_woken_at_its_earliest_wish() {
        let mut agenda = Agenda::new(2);
        agenda.wake(0, at(50));
        agenda.wake(0, at(70));
        agenda.wake(1, at(60));
        agenda.wake(0, at(40));
        assert_eq!(agenda.events_inserted(), 3);
        assert_eq!(agenda.take_first(), Some((at(40), 0)));
        agenda.wake(0, at(70));
        assert_eq!(agenda.take_first(), Some((at(60), 1)));
        assert_eq!(agenda.take_first(), Some((at(70), 0)));
        assert_eq!(agenda.take_first(), None);
    }

    #[test]
    fn the_next_time_is_that_of_the_first_that_counts() {
        let mut agenda = Agenda::new(2);
        agenda.wake(0, at(20));
        agenda.wake(0, at(10));
        agenda.wake(1, at(1000));
        assert_eq!(agenda.next_time(), at(10));
        assert_eq!(agenda.take_first(), Some((at(10), 0)));
        // The event at 20 is superseded. If its time were returned, the target due at 1000 would be
        // woken too early.
        assert_eq!(agenda.next_time(), at(1000));
        assert_eq!(agenda.take_first(), Some((at(1000), 1)));
        assert_eq!(agenda.next_time(), Time::NEVER);
    }
}
