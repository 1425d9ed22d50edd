//! What has happened and nobody has asked for yet: hardly ever more than one thing.

use super::Event;

/// Events in their order, in as much room as there ever were.
#[derive(Debug, Clone, Default)]
pub(super) struct Events(Vec<Event>);

impl Events {
    /// Another one.
    pub fn push_back(&mut self, event: Event) {
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(1);
        }
        self.0.push(event);
    }

    /// Nobody has to be told of anything.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first that nobody has asked for.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if self.0.is_empty() { None } else { Some(self.take_first()) }
    }

    #[inline(never)]
    fn take_first(&mut self) -> Event {
        self.0.remove(0)
    }
}
