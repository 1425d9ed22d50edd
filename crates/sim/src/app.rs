//! Applications: what the data sender writes and when it closes, and what the receiver does.

use crate::plan::{Shared, Work};
use retx_tcp::Connection;

/// Both applications of a flow. The sender writes a file as the buffer takes it and closes once
/// all of it is acknowledged, as file servers do whose close follows completion; so the FIN is a
/// segment of its own. A server of requests closes once it has written its last response, as those
/// of HTTP/1.0 do, and the FIN goes with the data. The receiver reads at once and closes after the
/// sender.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct App {
    /// Bytes of the file not yet read.
    unread: u64,
    /// The most that the receiver reads: what a proxy has room for.
    room: u64,
    /// Bytes of the file not yet written, of those that are there.
    unwritten: u64,
    /// Which file, from 0.
    file: u32,
    closed: bool,
    /// More of the file may be given.
    is_open: bool,
    /// A proxy sends, which has only what it is given.
    is_fed: bool,
    /// A proxy reads.
    feeds: bool,
    work: Shared<Work>,
}

impl App {
    /// Before the first file.
    pub fn new(work: Shared<Work>) -> Self {
        Self {
            work,
            file: 0,
            unwritten: 0,
            unread: 0,
            closed: false,
            is_fed: false,
            is_open: false,
            room: u64::MAX,
            feeds: false,
        }
    }

    /// What there is to send.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Which file is being sent, from 0.
    pub const fn file(&self) -> u32 {
        self.file
    }

    /// A connection for the current file is about to be opened.
    pub fn begin_file(&mut self) {
        let bytes = self.work.file_bytes(self.file).unwrap_or(0);
        self.unwritten = if self.is_fed { 0 } else { bytes };
        self.unread = bytes;
        self.closed = false;
        self.is_open = self.is_fed;
        self.room = if self.feeds { 0 } else { u64::MAX };
    }

    /// A proxy sends.
    pub const fn be_fed(&mut self) {
        self.is_fed = true;
    }

    /// A proxy reads.
    pub const fn feed_another(&mut self) {
        self.feeds = true;
        self.room = 0;
    }

    /// The proxy that sends is given so many bytes more.
    pub const fn give(&mut self, bytes: u64) {
        self.unwritten += bytes;
    }

    /// It is given what there is to send as time goes.
    pub const fn open_supply(&mut self) {
        self.is_open = true;
    }

    /// The receiver is to get so many bytes more.
    pub const fn expect(&mut self, bytes: u64) {
        self.unread += bytes;
    }

    /// It is given no more of this file.
    pub const fn end_supply(&mut self) {
        self.is_open = false;
    }

    /// The proxy that sends may be given more of this file.
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// The proxy that reads has room for so many bytes.
    pub const fn set_room(&mut self, bytes: u64) {
        self.room = bytes;
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
        let written = self.unwritten == 0;
        let done = written && connection.unacknowledged() == 0;
        if written && !self.closed && !self.is_open && (done || self.answers()) {
            self.closed = true;
            connection.close();
        }
        done
    }

    /// The application has more of its file to write than the send buffer has taken.
    #[inline(always)]
    pub const fn has_more(&self) -> bool {
        self.unwritten > 0
    }

    /// The sender is a server, which answers requests.
    fn answers(&self) -> bool {
        matches!(*self.work, Work::Exchanges(_))
    }

    /// The receiver's turn after a segment: returns the bytes that it has read.
    #[inline]
    pub fn receive(&mut self, connection: &mut Connection) -> u64 {
        let read = connection.read(self.room);
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
