//! State and counters that most pipes never need.

use super::Pipe;
use super::statistics::{Bursts, Delays, Drops};
use crate::channel;
use retx_units::{Duration, RandomStream, Time};

/// State that most pipes never need; allocated with the channels, or when the queue first
/// overflows.
#[derive(Debug, Clone, Default)]
pub(super) struct Rare {
    pub exceptions: Exceptions,
    pub channels: Vec<(channel::State, RandomStream)>,
    /// Duplicate made by the channel; it gets its packet id in [`Pipe::add_copy`].
    pub copy: Option<Duplicate>,
    /// Packets that had already passed this pipe ahead of time at the last reset of the maximum,
    /// but arrive after it. Each has its arrival time and the queue length at that time.
    pub future_queues: Vec<(Time, u64)>,
}

/// Copy made by the channel, before it has an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Duplicate {
    /// Arrival of the copy; if the original is held back, the latest arrival.
    pub arrival: Time,
    /// Number of packets that overtake the original, and the delay between original and copy;
    /// `None` if the original is not held back.
    pub held: Option<(u32, Duration)>,
}

/// Counters of rare events.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Exceptions {
    pub marked: u64,
    pub copies: u64,
    pub drops: Drops,
    pub bursts: Bursts,
    pub delays: Delays,
}

impl Pipe {
    /// Assigns an id to the copy announced by [`super::Entry::AcceptedTwice`].
    ///
    /// # Panics
    /// If no copy is pending.
    pub fn add_copy(&mut self, id: u32) {
        let rare = self.rare_mut();
        let Duplicate { arrival, held } = rare.copy.take().expect("a copy was announced");
        rare.exceptions.copies += 1;
        match held {
            // The copy of a held frame must not arrive before the frame itself, so it waits until
            // the same packets have overtaken it.
            Some(held) => self.delay_line.insert_reordered(arrival, id, held),
            None => self.delay_line.insert_out_of_order(arrival, id),
        }
    }

    #[inline]
    pub(super) fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Counters of rare events so far.
    pub(super) fn exceptions(&self) -> Exceptions {
        self.rare.as_ref().map_or_else(Exceptions::default, |rare| rare.exceptions)
    }

    /// Largest queue length in `future_queues` with an arrival time before `now`.
    pub(super) fn max_queue_until(&self, now: Time) -> u64 {
        let known = self.rare.iter().flat_map(|rare| &rare.future_queues);
        known.filter(|(at, _)| *at < now).map(|(_, packets)| *packets).max().unwrap_or(0)
    }

    /// Counts a packet dropped because the queue is full.
    #[cold]
    pub(super) fn count_queue_drop(&mut self) {
        self.rare_mut().exceptions.drops.queue += 1;
    }
}
