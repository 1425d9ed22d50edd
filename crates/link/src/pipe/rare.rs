//! What most pipes never need, apart from what each packet does.

use super::Pipe;
use super::statistics::{Bursts, Drops};
use crate::channel;
use retx_units::{Duration, Stream, Time};

/// What most pipes never need: it is made with the channels, or when the queue is full.
#[derive(Debug, Clone, Default)]
pub(super) struct Rare {
    pub exceptions: Exceptions,
    pub channels: Vec<(channel::State, Stream)>,
    /// The copy that has no name yet.
    pub copy: Option<Twin>,
    /// When the maximum was restarted: how long the queue was to be at the arrival of packets that
    /// had passed this pipe ahead of time, and when.
    pub queues_to_come: Vec<(Time, u64)>,
}

/// When a copy arrives that a channel makes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Twin {
    /// At the latest.
    pub arrival: Time,
    /// The frame is held back until so many have overtaken it, and the copy comes so much later.
    pub held: Option<(u32, Duration)>,
}

/// What happens to few packets, counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Exceptions {
    pub marked: u64,
    pub copies: u64,
    pub drops: Drops,
    pub bursts: Bursts,
}

impl Pipe {
    /// Names the copy that [`super::Entry::AcceptedTwice`] has announced.
    ///
    /// # Panics
    /// Without one.
    pub fn add_copy(&mut self, id: u32) {
        let rare = self.rare();
        let Twin { arrival, held } = rare.copy.take().expect("a copy was announced");
        rare.exceptions.copies += 1;
        match held {
            Some(held) => self.air.hold(arrival, id, held),
            None => self.air.stray(arrival, id),
        }
    }

    #[inline]
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// What has been counted of few packets.
    pub(super) fn exceptions(&self) -> Exceptions {
        self.rare.as_ref().map_or_else(Exceptions::default, |rare| rare.exceptions)
    }

    /// The longest queue among those that were known when the maximum was restarted, and have been.
    pub(super) fn longest_known(&self, now: Time) -> u64 {
        let known = self.rare.iter().flat_map(|rare| &rare.queues_to_come);
        known.filter(|(at, _)| *at <= now).map(|(_, packets)| *packets).max().unwrap_or(0)
    }

    /// A packet is turned away.
    #[cold]
    pub(super) fn drop_for_lack_of_room(&mut self) {
        self.rare().exceptions.drops.queue += 1;
    }
}
