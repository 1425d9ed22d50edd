//! What a segment will need is fetched into the processor's cache before its turn. Fetching takes
//! its time, too: no more than nearly every segment needs.

use super::Connection;
use prefetch_index::prefetch_index;
use std::mem::offset_of;

const LINE: usize = 64;

/// Lines of a connection: where what both directions need begins, where what sends does, and where
/// it ends.
const NEXT: usize = offset_of!(Connection, receiver.rcv_nxt) / LINE;
const SENDER: usize = offset_of!(Connection, sender) / LINE;
const END: usize = size_of::<Connection>() / LINE;

impl Connection {
    /// A segment is about to arrive, with data or with an acknowledgment of what this end `sends`:
    /// lets the processor fetch what that needs, and no more, as fetching takes its time, too.
    #[inline]
    pub fn prefetch(&self, sends: bool) {
        if sends {
            self.prefetch_lines::<NEXT, END>();
        } else {
            self.prefetch_lines::<0, SENDER>();
        }
    }

    // So many as are known beforehand: no loop.
    #[inline(always)]
    fn prefetch_lines<const FROM: usize, const TO: usize>(&self) {
        // By words, from the first on.
        let words = std::slice::from_ref(&self.reply);
        for line in FROM..TO {
            prefetch_index(words, line * LINE / size_of_val(words));
        }
    }

    /// Then what it knows of the segments in flight.
    #[inline]
    pub fn prefetch_board(&self) {
        if let Some(board) = self.sender.board.get() {
            prefetch_index(std::slice::from_ref(board), 0);
        }
    }

    /// Then the first and the last of them.
    #[inline]
    pub fn prefetch_records(&self) {
        if let Some(board) = self.sender.board.get() {
            board.prefetch_records();
        }
    }
}
