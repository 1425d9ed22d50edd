//! Events while there are few: in a row, the first at its end.

use super::Target;
use retx_units::Time;

/// More than these take less time in the wheel.
const ROOM: usize = 8;

/// A short row of events in their order.
#[derive(Debug, Clone)]
pub(super) struct Few {
    events: [(Time, Target); ROOM],
    len: usize,
}

impl Default for Few {
    fn default() -> Self {
        Self { events: [(Time::NEVER, 0); ROOM], len: 0 }
    }
}

impl Few {
    /// Puts in an event behind all that are not later; false if there is no room for it.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) -> bool {
        let mut at = self.len;
        if at >= ROOM {
            return false;
        }
        self.len += 1;
        while at > 0 && self.events[at - 1].0 <= time {
            self.events[at] = self.events[at - 1];
            at -= 1;
        }
        self.events[at] = (time, target);
        true
    }

    /// Takes out the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        let last = self.len.checked_sub(1)?;
        self.len = last;
        self.events.get(last).copied()
    }

    /// The first event, which stays.
    pub fn first(&self) -> Option<(Time, Target)> {
        self.events[..self.len].last().copied()
    }
}
