//! Results that fast paths reuse until the buffer, its ratio or the largest window changes.

use super::{ReceiveMemory, ReceiverState};

/// Results computed since the last such change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Number of waiting bytes from which on the window cannot grow; [`u64::MAX`] if not known.
    no_room_from: u64,
    /// Results of [`ReceiveMemory::window`] for an empty buffer, and for waiting bytes. At the
    /// usual end, nothing waits at every other acknowledgment.
    windows: [KnownWindow; 2],
}

/// Result of [`ReceiveMemory::window`].
#[derive(Debug, Clone, Copy)]
struct KnownWindow {
    /// Waiting bytes, including those read behind an acknowledgment; [`u64::MAX`] if no result is
    /// known.
    waiting: u64,
    window: u64,
    /// Estimated size of a segment.
    rcv_mss: u32,
    is_short: bool,
}

impl Known {
    pub const NOTHING: Self = Self { no_room_from: u64::MAX, windows: [KnownWindow::NOTHING; 2] };
}

impl KnownWindow {
    const NOTHING: Self = Self { waiting: u64::MAX, window: 0, rcv_mss: 0, is_short: false };
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
        let known = &self.known.windows[usize::from(all > 0)];
        if (known.waiting, known.rcv_mss) != (all, at.rcv_mss) {
            return self.learn_window(waiting, unit, at);
        }
        (known.window, known.is_short)
    }

    #[inline(never)]
    fn learn_window(&mut self, waiting: u64, unit: u64, at: &ReceiverState) -> (u64, bool) {
        let (window, is_short) = self.window(waiting, unit, at);
        let (waiting, rcv_mss) = (waiting + self.read_behind_ack, at.rcv_mss);
        self.known.windows[usize::from(waiting > 0)] =
            KnownWindow { waiting, window, rcv_mss, is_short };
        (window, is_short)
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
