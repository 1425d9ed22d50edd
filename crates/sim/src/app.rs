//! Applications: what the data sender writes and when it closes, and what the receiver does.

use crate::plan::Work;
use retx_tcp::Connection;

/// Both applications of a flow. The sender writes a file as the buffer takes it and closes once
/// all of it is acknowledged, as file servers do whose close follows completion; so the FIN is a
/// segment of its own. The receiver reads at once and closes after the sender.
#[derive(Debug, Clone)]
pub struct App {
    work: Work,
    /// Which file, from 0.
    file: u32,
    /// Bytes of it not yet written.
    unwritten: u64,
    /// Bytes of it not yet read.
    unread: u64,
    closed: bool,
}

impl App {
    /// Before the first file.
    pub fn new(work: Work) -> Self {
        Self { work, file: 0, unwritten: 0, unread: 0, closed: false }
    }

    /// What there is to send.
    pub const fn work(&self) -> &Work {
        &self.work
    }

    /// Which file is being sent, from 0.
    pub const fn file(&self) -> u32 {
        self.file
    }

    /// A connection for the current file is about to be opened.
    pub fn begin_file(&mut self) {
        let bytes = self.work.file_bytes(self.file).unwrap_or(0);
        self.unwritten = bytes;
        self.unread = bytes;
        self.closed = false;
    }

    /// The current file is done; true when another follows.
    pub fn next_file(&mut self) -> bool {
        self.file += 1;
        self.work.file_bytes(self.file).is_some()
    }

    /// The sender's turn, whenever something has happened to its connection, from its handshake
    /// on. Returns true when there is nothing more to send.
    #[inline]
    pub fn send(&mut self, connection: &mut Connection) -> bool {
        if self.unwritten > 0 {
            let written = connection.write(self.unwritten);
            // Bulk data have no end.
            if self.unwritten != u64::MAX {
                self.unwritten -= written;
            }
        }
        let done = self.unwritten == 0 && connection.unacknowledged() == 0;
        if done && !self.closed {
            self.closed = true;
            connection.close();
        }
        done
    }

    /// The receiver's turn after a segment: returns the bytes that it has read.
    #[inline]
    pub fn receive(&mut self, connection: &mut Connection) -> u64 {
        let readable = connection.readable();
        if readable == 0 {
            return 0;
        }
        let read = connection.read(readable);
        if self.unread != u64::MAX {
            self.unread -= read;
        }
        read
    }

    /// True when the receiver has read the whole of the current file.
    pub const fn has_read_file(&self) -> bool {
        self.unread == 0
    }

    /// True when the receiver has read the whole of the last file.
    pub fn is_complete(&self) -> bool {
        self.has_read_file() && self.work.file_bytes(self.file + 1).is_none()
    }
}
