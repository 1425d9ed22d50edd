//! Receiving programs: a program reads data as soon as they arrive, or slowly, at a given rate.
//!
//! A slow program reads up to [`READ_BLOCK`] bytes, processes them for the time that its rate
//! implies, and reads again. Meanwhile the receive buffer fills, and the advertised window closes.

use super::{Flow, RECEIVER};
use crate::app::App;
use crate::plan::READ_BLOCK;
use crate::recorder::Recorder;
use retx_units::{Rate, Time};

/// Receiving program that reads slowly.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    rate: Rate,
    /// Time at which the program has processed its last block; [`Time::NEVER`] while it waits for
    /// data.
    busy_until: Time,
    /// True if the peer has closed, but the program still has data to read.
    peer_closed: bool,
}

impl Reader {
    /// Creates a program that reads at this rate, without a connection yet.
    pub const fn new(rate: Rate) -> Self {
        Self { rate, busy_until: Time::NEVER, peer_closed: false }
    }

    /// Resets the state for the next connection.
    pub const fn begin_connection(&mut self, app: &mut App) {
        (self.busy_until, self.peer_closed) = (Time::NEVER, false);
        app.set_read_limit(READ_BLOCK);
    }

    /// Time at which the program reads next; [`Time::NEVER`] if it waits for data.
    pub const fn next_read(&self) -> Time {
        self.busy_until
    }
}

impl Flow {
    /// Lets the receiving program read as much as its rate permits now.
    #[inline(always)]
    pub(super) fn read(&mut self, now: Time, recorder: &mut Recorder) {
        let read = self.app.read_from(&mut self.ends[RECEIVER]);
        if read == 0 {
            return;
        }
        self.record.counters.bytes_delivered += read;
        if let Some(exchanges) = &mut self.exchanges
            && self.app.has_read_file()
        {
            exchanges.note_response(now, self.record.flow(), recorder);
        }
        if self.is_complete() {
            self.record.note_finish(now);
        }
        if let Some(reader) = &mut self.reader {
            // `read` fits into 32 bits: it is at most one block.
            reader.busy_until = now + reader.rate.transmission_time(read as u32);
            self.app.set_read_limit(0);
        }
    }

    /// Lets a slow program read its next block, if it has processed the last one.
    pub(super) fn read_next_block(&mut self, now: Time, recorder: &mut Recorder) {
        let Some(reader) = self.reader.as_mut().filter(|reader| reader.busy_until <= now) else {
            return;
        };
        reader.busy_until = Time::NEVER;
        self.app.set_read_limit(READ_BLOCK);
        self.read(now, recorder);
        if self.reader.as_ref().is_some_and(|reader| reader.peer_closed) {
            self.handle_peer_close(now, recorder);
        }
    }

    /// Handles the end of the peer's data, which a program notices only after it has read all data.
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
