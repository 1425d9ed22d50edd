//! Prefetching of the connection state that a segment will need. Prefetching costs time, too, so it
//! is limited to what nearly every segment needs.

use super::Connection;
use prefetch_index::prefetch_index;
use std::mem::offset_of;

const LINE: usize = 64;

/// Indices of cache lines within a connection: first line with state of both directions, first line
/// of the sender's state, and the end of the connection.
const NEXT: usize = offset_of!(Connection, receiver.rcv_nxt) / LINE;
const SENDER: usize = offset_of!(Connection, sender) / LINE;
const END: usize = size_of::<Connection>() / LINE;

impl Connection {
    /// Prefetches only the state that the next segment needs: an acknowledgment if this end
    /// `sends`, otherwise a segment with data.
    #[inline]
    pub fn prefetch(&self, sends: bool) {
        if sends {
            self.prefetch_lines::<NEXT, END>();
        } else {
            self.prefetch_lines::<0, { SENDER + 1 }>();
        }
    }

    // The number of lines is a constant, which avoids a loop.
    #[inline(always)]
    fn prefetch_lines<const FROM: usize, const TO: usize>(&self) {
        // Addresses are counted in words of the size of `reply`, the first field.
        let words = std::slice::from_ref(&self.reply);
        for line in FROM..TO {
            prefetch_index(words, line * LINE / size_of_val(words));
        }
    }

    /// Prefetches the list of segments in flight.
    #[inline]
    pub fn prefetch_board(&self) {
        if let Some(board) = self.sender.board.get() {
            prefetch_index(std::slice::from_ref(board), 0);
        }
    }

    /// Prefetches the list of data beyond a gap.
    #[inline]
    pub fn prefetch_beyond_gap(&self) {
        if let Some(reassembly) = self.receiver.out_of_order.get() {
            prefetch_index(std::slice::from_ref(reassembly), 0);
        }
    }

    /// Prefetches the first and the last records of the scoreboard.
    #[inline]
    pub fn prefetch_records(&self) {
        if let Some(board) = self.sender.board.get() {
            board.prefetch_records();
        }
    }
}
