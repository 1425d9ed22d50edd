//! What most pipes never need, apart from what each packet does.

use super::Pipe;
use super::statistics::{Bursts, Drops};
use crate::channel;
use retx_units::{Stream, Time};

/// What most pipes never need: it is made with the channels, or when the queue is full.
#[derive(Debug, Clone, Default)]
pub(super) struct Rare {
    pub exceptions: Exceptions,
    pub channels: Vec<(channel::State, Stream)>,
    /// When the copy arrives that has no name yet.
    pub copy: Option<Time>,
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
    #[inline]
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// What has been counted of few packets.
    pub(super) fn exceptions(&self) -> Exceptions {
        self.rare.as_ref().map_or_else(Exceptions::default, |rare| rare.exceptions)
    }

    /// A packet is turned away.
    #[cold]
    pub(super) fn drop_for_lack_of_room(&mut self) {
        self.rare().exceptions.drops.queue += 1;
    }
}
