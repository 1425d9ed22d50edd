//! Who is to be woken when. A target has one pending event that counts; asking for a later time
//! than that costs nothing, as the event looks again when it comes.

use crate::event_queue::{EventQueue, Target};
use retx_units::Time;

/// The events to come, and the time at which each target will be woken first.
#[derive(Debug, Clone)]
pub struct Agenda {
    queue: EventQueue,
    wake: Vec<Time>,
}

impl Agenda {
    /// Nothing to come for this many targets.
    pub fn new(targets: u32) -> Self {
        Self { queue: EventQueue::default(), wake: vec![Time::NEVER; targets as usize] }
    }

    /// `target` wants to be woken at `time`, and may be woken earlier.
    #[inline]
    pub fn wake(&mut self, target: Target, time: Time) {
        let pending = &mut self.wake[target as usize];
        if time < *pending {
            *pending = time;
            self.queue.push(time, target);
        }
    }

    /// The next to be woken.
    #[inline]
    pub fn take_first(&mut self) -> Option<(Time, Target)> {
        loop {
            let (time, target) = self.queue.pop()?;
            let pending = &mut self.wake[target as usize];
            // Else an earlier event has come instead of this one.
            if *pending == time {
                *pending = Time::NEVER;
                return Some((time, target));
            }
        }
    }

    /// When the next is to be woken: that of `take_first`.
    pub fn next_time(&mut self) -> Time {
        while let Some((time, target)) = self.queue.first() {
            if self.wake[target as usize] == time {
                return time;
            }
            // An earlier event has come instead of this one.
            self.queue.drop_first();
        }
        Time::NEVER
    }

    /// Events put in so far: what the queue had to do.
    pub const fn inserted(&self) -> u64 {
        self.queue.inserted()
    }

    /// Events pending, superseded ones included.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(agenda.inserted(), 3);
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
        // The event at 20 has been superseded: who waits for it would get the one at 1000 early.
        assert_eq!(agenda.next_time(), at(1000));
        assert_eq!(agenda.take_first(), Some((at(1000), 1)));
        assert_eq!(agenda.next_time(), Time::NEVER);
    }
}
