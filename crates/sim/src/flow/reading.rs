//! Receiving programs: one that reads at once, or one that reads slowly.
//!
//! A slow one reads up to [`READ_BLOCK`] bytes, works on them for as long as its rate says, and
//! reads again. Meanwhile the receive buffer fills, and the window that it advertises closes.

use super::{Flow, RECEIVER};
use crate::app::App;
use crate::plan::READ_BLOCK;
use crate::recorder::Recorder;
use retx_units::{Rate, Time};

/// Receiving program that reads slowly.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    rate: Rate,
    /// Time at which its work on the last block ends; [`Time::NEVER`] while it waits for data.
    busy_until: Time,
    /// True once the peer has closed while data were still to be read.
    peer_closed: bool,
}

impl Reader {
    /// Creates a program that reads at this rate. It has no connection yet.
    pub const fn new(rate: Rate) -> Self {
        Self { rate, busy_until: Time::NEVER, peer_closed: false }
    }

    /// Resets the state for the next connection.
    pub const fn begin_connection(&mut self, app: &mut App) {
        (self.busy_until, self.peer_closed) = (Time::NEVER, false);
        app.set_room(READ_BLOCK);
    }

    /// Time at which the program reads next; [`Time::NEVER`] if data have to arrive first.
    pub const fn reads_at(&self) -> Time {
        self.busy_until
    }
}

impl Flow {
    /// Lets the receiving program read as much as its rate permits now.
    #[inline(always)]
    pub(super) fn read(&mut self, now: Time, recorder: &mut Recorder) {
        let read = self.app.receive(&mut self.ends[RECEIVER]);
        if read == 0 {
            return;
        }
        self.record.counters.bytes_delivered += read;
        if let Some(exchanges) = &mut self.exchanges
            && self.app.has_read_file()
        {
            exchanges.note_answer(now, self.record.flow(), recorder);
        }
        if self.is_complete() {
            self.record.note_finish(now);
        }
        if let Some(reader) = &mut self.reader {
            // `read` fits into 32 bits: it is at most one block.
            reader.busy_until = now + reader.rate.duration_of(read as u32);
            self.app.set_room(0);
        }
    }

    /// Lets a slow program read its next block, once it has finished with the last one.
    pub(super) fn read_on(&mut self, now: Time, recorder: &mut Recorder) {
        let Some(reader) = self.reader.as_mut().filter(|reader| reader.busy_until <= now) else {
            return;
        };
        reader.busy_until = Time::NEVER;
        self.app.set_room(READ_BLOCK);
        self.read(now, recorder);
        if self.reader.as_ref().is_some_and(|reader| reader.peer_closed) {
            self.handle_peer_close(now, recorder);
        }
    }

    /// Handles the end of the peer's data. A program with unread data notices the end only after
    /// reading them.
    pub(super) fn handle_peer_close(&mut self, now: Time, recorder: &mut Recorder) {
        if let Some(reader) = &mut self.reader {
            reader.peer_closed = self.ends[RECEIVER].readable() > 0;
            if reader.peer_closed {
                return;
            }
        }
        self.close_after_peer(now, recorder);
    }
}
