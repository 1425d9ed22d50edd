//! Applications: writing and closing by the data sender, and reading by the receiver.

use crate::plan::{AppPlan, CopyOnWrite};
use retx_tcp::Connection;
use retx_units::Time;

/// Both applications of a flow. A sender of files writes as fast as the send buffer accepts data,
/// and closes once all data are acknowledged, so its FIN is a separate segment. A server that
/// answers requests closes right after it has written its last response, like an HTTP/1.0 server,
/// so its FIN is sent with the data. The receiver reads at once, unless its reading rate is
/// limited, and closes after the sender.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct App {
    /// Bytes of the file in transfer that the receiver has not read yet.
    unread: u64,
    /// Largest number of bytes that the receiver may read now: the free space of a proxy's buffer,
    /// or the block size of a program that reads slowly. [`u64::MAX`] means unlimited.
    room: u64,
    /// Bytes of the file in transfer that are available, but not yet written to the connection.
    unwritten: u64,
    /// Number of the file in transfer, from 0.
    file: u32,
    closed: bool,
    /// True if more data of the file in transfer may become available.
    is_supply_open: bool,
    /// True if the sender is a proxy, which sends only bytes that its other connection has
    /// received.
    is_fed: bool,
    /// True if the receiver is a proxy, which forwards the bytes that it reads.
    feeds: bool,
    /// True if the sender is a server, which answers requests.
    answers: bool,
    plan: CopyOnWrite<AppPlan>,
}

impl App {
    /// Creates the applications, before the first file.
    pub fn new(work: CopyOnWrite<AppPlan>) -> Self {
        Self {
            answers: matches!(*work, AppPlan::Exchanges(_)),
            plan: work,
            file: 0,
            unwritten: 0,
            unread: 0,
            closed: false,
            is_fed: false,
            is_supply_open: false,
            room: u64::MAX,
            feeds: false,
        }
    }

    /// Data to send.
    pub fn plan(&self) -> &AppPlan {
        &self.plan
    }

    /// Number of the file being sent, from 0.
    pub const fn file_number(&self) -> u32 {
        self.file
    }

    /// Prepares the current file; called right before its connection is opened.
    pub fn begin_file(&mut self) {
        let bytes = self.plan.file_bytes(self.file).unwrap_or(0);
        self.unwritten = if self.is_fed { 0 } else { bytes };
        self.unread = bytes;
        self.closed = false;
        self.is_supply_open = self.is_fed;
        self.room = if self.feeds { 0 } else { u64::MAX };
    }

    /// Makes the sender a proxy, which sends only data that it is supplied with.
    pub const fn make_sender_proxy(&mut self) {
        self.is_fed = true;
    }

    /// Makes the receiver a proxy, which reads only what its buffer can hold.
    pub const fn make_receiver_proxy(&mut self) {
        self.feeds = true;
        self.room = 0;
    }

    /// Makes `bytes` more bytes of the current file available to the sender.
    pub const fn add_supply(&mut self, bytes: u64) {
        self.unwritten += bytes;
    }

    /// Begins a file whose data become available over time; [`Self::end_supply`] ends it.
    pub const fn open_supply(&mut self) {
        self.is_supply_open = true;
    }

    /// Adds `bytes` to the number of bytes that the receiver expects.
    pub const fn add_expected(&mut self, bytes: u64) {
        self.unread += bytes;
    }

    /// Declares that no more data of this file become available.
    pub const fn end_supply(&mut self) {
        self.is_supply_open = false;
    }

    /// True if more of this file may become available to the sender.
    pub const fn is_supply_open(&self) -> bool {
        self.is_supply_open
    }

    /// Sets the largest number of bytes that the receiver may read now.
    pub const fn set_read_limit(&mut self, bytes: u64) {
        self.room = bytes;
    }

    /// Finishes the current file; true if another follows.
    pub fn next_file(&mut self) -> bool {
        self.file += 1;
        self.plan.file_bytes(self.file).is_some()
    }

    /// Lets the sender write and close. Called after every event of its connection, beginning with
    /// the handshake. Returns true if all available data are written and acknowledged.
    #[inline]
    pub fn write_to(&mut self, now: Time, connection: &mut Connection) -> bool {
        if self.unwritten > 0 {
            let written = connection.write(now, self.unwritten);
            // [`u64::MAX`] stands for an endless file, so nothing is subtracted from it.
            if self.unwritten != u64::MAX {
                self.unwritten -= written;
            }
        }
        let written = self.unwritten == 0;
        let done = written && connection.unacknowledged() == 0;
        if written && !self.closed && !self.is_supply_open && (done || self.answers) {
            self.closed = true;
            connection.close();
        }
        done
    }

    /// True if available data do not fit into the send buffer yet.
    #[inline(always)]
    pub const fn has_more(&self) -> bool {
        self.unwritten > 0
    }

    /// Lets the receiver read after a segment has arrived; returns the number of bytes read.
    #[inline]
    pub fn read_from(&mut self, connection: &mut Connection) -> u64 {
        let read = connection.read(self.room);
        if self.unread != u64::MAX {
            self.unread -= read;
        }
        read
    }

    /// True once the receiver has read the whole current file.
    pub const fn has_read_file(&self) -> bool {
        self.unread == 0
    }

    /// True once the receiver has read the last file completely.
    pub fn is_complete(&self) -> bool {
        self.has_read_file() && self.plan.file_bytes(self.file + 1).is_none()
    }
}
