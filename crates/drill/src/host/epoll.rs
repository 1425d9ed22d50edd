//! `epoll`: reports descriptors that have become ready.
//!
//! As in Linux, an entry is checked if its socket has had an event since the entry was last
//! reported: data or an error arrived, or a full send buffer has space again. Without `EPOLLET` a
//! ready entry is reported again.

use super::calls::{Fault, bad_descriptor};
use super::{Focus, Host, Kind, Return, Settings, Socket, ready};
use crate::script::EpollChange;

/// Watched descriptor.
#[derive(Debug, Clone, Copy)]
struct Entry {
    fd: i32,
    events: u32,
    /// Number of wake-ups of the socket when the entry was last reported.
    seen: u64,
    /// True if the entry is checked regardless of `seen`.
    fresh: bool,
}

/// Entries of an epoll instance.
#[derive(Debug, Clone, Default)]
pub(super) struct Epoll {
    entries: Vec<Entry>,
}

impl Host {
    pub(super) fn epoll_create(&mut self, returns: Option<i64>) -> Result<Return, Fault> {
        let fd = self.new_descriptor(returns)?;
        let kind = Kind::Epoll(self.epolls.len());
        self.epolls.push(Epoll::default());
        self.sockets.insert(fd, Socket::new(kind, Settings::default()));
        debug_assert!(self.focus != Focus::Socket(fd));
        Ok(Return::Done(fd.into()))
    }

    fn epoll(&self, fd: i32) -> Result<usize, Fault> {
        match self.sockets.get(&fd) {
            Some(Socket { kind: Kind::Epoll(epoll), .. }) => Ok(*epoll),
            _ => Err(format!("{fd} is no descriptor of epoll_create")),
        }
    }

    pub(super) fn epoll_control(
        &mut self,
        epoll: i32,
        what: EpollChange,
        entry: (i32, u32),
    ) -> Result<Return, Fault> {
        let (fd, events) = entry;
        if !self.sockets.contains_key(&fd) {
            return Err(bad_descriptor(fd));
        }
        let seen = self.wakes(fd);
        let epoll = self.epoll(epoll)?;
        let entries = &mut self.epolls[epoll].entries;
        let known = entries.iter().position(|entry| entry.fd == fd);
        match (what, known) {
            (EpollChange::Add, Some(_)) => return Ok(Return::Error("EEXIST")),
            (EpollChange::Add, None) => entries.push(Entry { fd, events, seen, fresh: true }),
            (_, None) => return Ok(Return::Error("ENOENT")),
            (EpollChange::Modify, Some(at)) => {
                entries[at] = Entry { fd, events, seen, fresh: true };
            }
            (EpollChange::Delete, Some(at)) => {
                entries.remove(at);
            }
        }
        Ok(Return::Done(0))
    }

    /// Number of events of a socket that have woken its waiters.
    fn wakes(&self, fd: i32) -> u64 {
        match self.end_for_fd(fd) {
            Ok(Some(end)) => self.ends[end].wakeups,
            _ => self.ends.iter().filter(|end| end.listener == Some(fd) && end.connected).count()
                as u64,
        }
    }

    /// First ready entry, with its bits.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn epoll_ready(&mut self, epoll: i32) -> Result<Option<(i32, u32)>, Fault> {
        let epoll = self.epoll(epoll)?;
        for at in 0..self.epolls[epoll].entries.len() {
            let entry = self.epolls[epoll].entries[at];
            let wakes = self.wakes(entry.fd);
            let watched = entry.events & !(ready::EDGE | ready::ONE_SHOT);
            if watched == 0 || !entry.fresh && wakes == entry.seen {
                continue;
            }
            let found = self.ready_events(entry.fd)? & (watched | ready::ERR | ready::HUP);
            let entry = &mut self.epolls[epoll].entries[at];
            // From now on, only later wake-ups count. This suffices for a full send buffer, too,
            // because the socket wakes its waiters when there is space again.
            (entry.seen, entry.fresh) = (wakes, false);
            if found == 0 {
                continue;
            }
            entry.fresh = entry.events & ready::EDGE == 0;
            if entry.events & ready::ONE_SHOT != 0 {
                entry.events = 0;
            }
            return Ok(Some((entry.fd, found)));
        }
        Ok(None)
    }
}
