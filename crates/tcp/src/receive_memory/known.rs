//! Results that fast paths reuse until the buffer, its ratio or the largest window changes.

use super::{ReceiveMemory, ReceiverState};

/// Results computed since the last such change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Number of waiting bytes from which on the window cannot grow; [`u64::MAX`] if not known.
    no_room_from: u64,
    /// Range of waiting bytes, including those read behind an acknowledgment, for which the result
    /// of [`ReceiveMemory::window`] is known (least and most; empty if none is), and the estimated
    /// size of a segment.
    waiting: (u64, u64),
    rcv_mss: u32,
    /// Known result.
    window: (u64, bool),
}

impl Known {
    pub const NOTHING: Self =
        Self { no_room_from: u64::MAX, waiting: (u64::MAX, 0), rcv_mss: 0, window: (0, false) };
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
        let (all, (least, most)) = (waiting + self.read_behind_ack, self.known.waiting);
        if all < least || all > most || self.known.rcv_mss != at.rcv_mss {
            self.learn_window(waiting, unit, at);
        }
        self.known.window
    }

    #[inline(never)]
    fn learn_window(&mut self, waiting: u64, unit: u64, at: &ReceiverState) {
        let (window, short) = self.window(waiting, unit, at);
        let all = waiting + self.read_behind_ack;
        // If the largest window fits into the free space, it also does with fewer waiting bytes.
        let fits = !short && window > 0 && self.free(all) >= self.window;
        self.known.window = (window, short);
        self.known.waiting = (if fits { 0 } else { all }, all);
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
