//! What is on its way: the packets that have been let in and have not yet come out.

use super::Departure;
use crate::channel::Reason;
use retx_units::Time;
use std::collections::VecDeque;

/// Packets in a pipe, sorted by when they leave it.
#[derive(Debug, Clone, Default)]
pub(super) struct Air {
    /// Arrival at the far end.
    delivered: VecDeque<(Time, u32)>,
    /// End of transmission of those that the channel loses; usually there are none.
    lost: VecDeque<(Time, u32, Reason)>,
}

impl Air {
    /// A packet that arrives at the far end at `arrival`.
    #[inline]
    pub fn send(&mut self, arrival: Time, id: u32) {
        match self.delivered.back() {
            // Only channels that say so let a packet overtake another.
            Some(&(last, _)) if last > arrival => {
                let place = self.delivered.partition_point(|(time, _)| *time <= arrival);
                self.delivered.insert(place, (arrival, id));
            }
            _ => self.delivered.push_back((arrival, id)),
        }
    }

    /// A packet that is lost when its transmission ends; transmissions end in order.
    pub fn lose(&mut self, end: Time, id: u32, reason: Reason) {
        self.lost.push_back((end, id, reason));
    }

    /// When the first packet leaves.
    #[inline]
    pub fn next(&self) -> Time {
        let delivered = self.delivered.front().map_or(Time::NEVER, |(time, _)| *time);
        match self.lost.front() {
            None => delivered,
            Some((time, ..)) => delivered.min(*time),
        }
    }

    /// Takes out the first packet that has left by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Departure> {
        let first = self.next();
        if first > now || first == Time::NEVER {
            return None;
        }
        // At the same instant a loss comes first: its transmission ended no later than that of the
        // packet that arrives now.
        if self.lost.front().is_some_and(|(time, ..)| *time == first) {
            let (at, id, reason) = self.lost.pop_front()?;
            return Some(Departure::Lost { id, at, reason });
        }
        let (_, id) = self.delivered.pop_front()?;
        Some(Departure::Delivered { id })
    }

    /// Packets in the pipe, those that wait for the transmitter included.
    pub fn len(&self) -> u64 {
        (self.delivered.len() + self.lost.len()) as u64
    }
}
