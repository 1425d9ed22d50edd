//! Results that fast paths reuse until the buffer, its ratio or the largest window changes.

use super::{ReceiveMemory, ReceiverState};

/// Results computed since the last such change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Number of waiting bytes from which on the window cannot grow; [`u64::MAX`] if not known.
    no_room_from: u64,
    /// Arguments of the last [`ReceiveMemory::window`]: waiting bytes, including those read behind
    /// an acknowledgment ([`u64::MAX`] if none is known), and the estimated size of a segment.
    waiting: u64,
    rcv_mss: u32,
    /// Result of this call.
    window: (u64, bool),
}

impl Known {
    pub const NOTHING: Self =
        Self { no_room_from: u64::MAX, waiting: u64::MAX, rcv_mss: 0, window: (0, false) };
}

impl ReceiveMemory {
    /// Forgets all results, after a change.
    pub const fn forget_known(&mut self) {
        self.known = Known::NOTHING;
    }

    /// Like [`Self::window`] with a scaled window field, which makes the window independent of the
    /// one in force. The bytes that wait are the same for many acknowledgments.
    #[inline(always)]
    pub fn known_window(&mut self, waiting: u64, unit: u64, at: &ReceiverState) -> (u64, bool) {
        let all = waiting + self.read_behind_ack;
        if (self.known.waiting, self.known.rcv_mss) != (all, at.rcv_mss) {
            self.learn_window(waiting, unit, at);
        }
        self.known.window
    }

    #[inline(never)]
    fn learn_window(&mut self, waiting: u64, unit: u64, at: &ReceiverState) {
        self.known.window = self.window(waiting, unit, at);
        self.known.waiting = waiting + self.read_behind_ack;
        self.known.rcv_mss = at.rcv_mss;
    }

    /// Like [`Self::grow`]. More waiting bytes leave less room: if some of them have left none, so
    /// do as many or more.
    #[inline(always)]
    pub fn grow_unless_known(&mut self, bytes: u32, waiting: u64, at: &ReceiverState) -> bool {
        waiting < self.known.no_room_from && self.grow_or_learn(bytes, waiting, at)
    }

    #[inline(never)]
    fn grow_or_learn(&mut self, bytes: u32, waiting: u64, at: &ReceiverState) -> bool {
        let has_grown = self.grow(bytes, waiting, at);
        if !has_grown && self.free(waiting).min(self.clamp) <= self.window {
            self.known.no_room_from = waiting;
        }
        has_grown
    }
}
