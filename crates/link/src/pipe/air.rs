//! What is on its way: the packets that have been let in and have not yet come out.

use super::Departure;
use super::ring::Ring;
use crate::channel::Reason;
use retx_units::Time;
use std::collections::VecDeque;

/// Packets in a pipe, sorted by when they leave it.
#[derive(Debug, Clone)]
pub(super) struct Air {
    /// When the first leaves.
    next: Time,
    /// The latest arrival at the far end so far.
    last: Time,
    /// Arrival at the far end.
    delivered: Ring<(Time, u32)>,
    /// End of transmission of those that the channel loses; usually there are none.
    lost: VecDeque<(Time, u32, Reason)>,
}

impl Air {
    pub fn new() -> Self {
        Self {
            next: Time::NEVER,
            last: Time::ZERO,
            delivered: Ring::default(),
            lost: VecDeque::new(),
        }
    }

    /// A packet that arrives at the far end at `arrival`.
    #[inline]
    pub fn send(&mut self, arrival: Time, id: u32) {
        self.next = self.next.min(arrival);
        if arrival >= self.last {
            self.last = arrival;
            self.delivered.push_back((arrival, id));
        } else {
            // Only channels that say so let a packet overtake another.
            self.delivered.insert_before((arrival, id), |(time, _)| *time > arrival);
        }
    }

    /// A packet that is lost when its transmission ends; transmissions end in order.
    pub fn lose(&mut self, end: Time, id: u32, reason: Reason) {
        self.next = self.next.min(end);
        self.lost.push_back((end, id, reason));
    }

    /// When the first packet leaves.
    #[inline]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// Takes out the first packet that has left by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Departure> {
        let first = self.next;
        if first > now || first == Time::NEVER {
            return None;
        }
        if !self.lost.is_empty() {
            return self.pop_among_losses(first);
        }
        let (_, id) = self.delivered.pop_front()?;
        self.next = self.delivered.front().map_or(Time::NEVER, |(time, _)| *time);
        Some(Departure::Delivered { id })
    }

    #[cold]
    fn pop_among_losses(&mut self, first: Time) -> Option<Departure> {
        // At the same instant a loss comes first: its transmission ended no later than that of the
        // packet that arrives now.
        let departure = if self.lost.front().is_some_and(|(time, ..)| *time == first) {
            let (at, id, reason) = self.lost.pop_front()?;
            Departure::Lost { id, at, reason }
        } else {
            let (_, id) = self.delivered.pop_front()?;
            Departure::Delivered { id }
        };
        let delivered = self.delivered.front().map_or(Time::NEVER, |(time, _)| *time);
        let lost = self.lost.front().map_or(Time::NEVER, |(time, ..)| *time);
        self.next = delivered.min(lost);
        Some(departure)
    }

    /// Packets in the pipe, those that wait for the transmitter included.
    pub fn len(&self) -> u64 {
        (self.delivered.len() + self.lost.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever overtakes what: packets leave in order of time, at the same time a loss first,
        /// else in the order in which they came.
        #[test]
        fn leaves_in_order(arrivals in prop::collection::vec((0u64..30, any::<bool>()), 0..60)) {
            let mut air = Air::new();
            let mut expected = Vec::new();
            let mut end = 0;
            for (id, (arrival, lost)) in arrivals.into_iter().enumerate() {
                let id = id as u32;
                if lost {
                    // Transmissions end in order.
                    end += arrival % 3;
                    air.lose(Time::from_nanos(end), id, Reason::Channel);
                    expected.push((end, 0, id));
                } else {
                    air.send(Time::from_nanos(arrival), id);
                    expected.push((arrival, 1, id));
                }
            }
            expected.sort_unstable();
            for (time, delivered, id) in expected {
                let time = Time::from_nanos(time);
                prop_assert_eq!(air.next(), time);
                if time > Time::ZERO {
                    prop_assert_eq!(air.pop(Time::from_nanos(time.as_nanos() - 1)), None);
                }
                prop_assert_eq!(air.pop(time), Some(match delivered {
                    0 => Departure::Lost { id, at: time, reason: Reason::Channel },
                    _ => Departure::Delivered { id },
                }));
            }
            prop_assert_eq!(air.len(), 0);
            prop_assert_eq!(air.next(), Time::NEVER);
        }
    }
}
