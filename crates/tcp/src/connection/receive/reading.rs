//! Reading of received data by the application.

use super::{Connection, Receiver};
use crate::connection::fast_path::Receiving;

impl Receiver {
    /// Position after the last byte read by the application.
    #[inline]
    pub const fn read_position(&self) -> u64 {
        self.read
    }

    pub fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.readable());
        self.read += taken;
        if taken > 0 {
            // Linux acknowledges a segment when it arrives, before it wakes the application: the
            // window of an ACK that is due does not include the bytes read here.
            if self.ack_now
                && let Some(memory) = &mut self.memory
            {
                memory.read_behind_ack += taken;
            }
            if self.memory.as_ref().is_some_and(|memory| memory.ends_round()) {
                self.end_round(taken);
            }
            // `tcp_cleanup_rbuf`: a read may send the ACK that the arrival delayed.
            self.ack_now |= self.pending.ack_due_after_read(self.readable() == 0);
        }
        taken
    }

    /// True if there are no more data in order to read.
    #[inline(always)]
    const fn has_read_all(&self) -> bool {
        self.read >= self.rcv_nxt
    }

    #[inline(never)]
    fn end_round(&mut self, bytes: u64) {
        let position = self.position();
        self.memory.iter_mut().for_each(|memory| memory.on_read(bytes, &position));
    }

    /// Like [`Self::read`], if segments are simply counted: see [`Self::only_counts_segments`].
    #[inline]
    pub fn read_counted(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.rcv_nxt - self.read);
        self.read += taken;
        taken
    }

    /// Like [`Self::read`], for a receiver without a FIN and with nothing out of order, while no
    /// round ends. The second value is true if reading may open the window.
    #[inline(always)]
    fn read_next(&mut self, bytes: u64) -> (u64, bool) {
        let taken = bytes.min(self.rcv_nxt - self.read);
        self.read += taken;
        if taken == 0 {
            return (0, false);
        }
        let was_due = self.ack_now;
        if let Some(memory) = &mut self.memory {
            // As in `read`: the ACK that is due does not include these bytes.
            memory.read_behind_ack += if was_due { taken } else { 0 };
        }
        if was_due {
            return (taken, !self.has_read_before_ack());
        }
        self.ack_now = self.pending.ack_due_after_read(self.read == self.rcv_nxt);
        (taken, !self.has_read_before_ack())
    }
}

impl Connection {
    /// Reads up to `bytes` of in-order data for the application; returns their number. Reading may
    /// open the window again, so poll for a segment afterwards.
    #[inline(always)]
    pub fn read(&mut self, bytes: u64) -> u64 {
        match self.fast_paths.receiving {
            Receiving::Next => self.read_fast(bytes),
            Receiving::Detailed => self.read_in_order(bytes),
            // Most segments that arrive now lie beyond the gap.
            Receiving::BeyondGap | Receiving::DetailedGap if self.receiver.has_read_all() => 0,
            Receiving::General | Receiving::BeyondGap | Receiving::DetailedGap => {
                self.read_in_full(bytes)
            }
        }
    }

    #[inline(never)]
    fn read_in_full(&mut self, bytes: u64) -> u64 {
        let read = self.receiver.read(bytes);
        if read > 0 && self.receives_data() && !self.receiver.has_read_before_ack() {
            self.receiver.update_window_after_read(&self.parameters);
        }
        read
    }

    /// Like [`Self::read_in_full`], while the path of [`Self::receive_next_as_linux`] is open.
    #[inline(never)]
    pub(super) fn read_in_order(&mut self, bytes: u64) -> u64 {
        if self.receiver.memory.as_ref().is_some_and(|memory| memory.ends_round()) {
            return self.read_in_full(bytes);
        }
        let (read, may_open) = self.receiver.read_next(bytes);
        if may_open {
            self.receiver.update_window_after_read(&self.parameters);
        }
        read
    }
}
