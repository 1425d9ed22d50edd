//! System calls.

use super::{ActionCause, Focus, Host, Kind, Return, Role, Settings, Socket};
use crate::script::{MessageFlags, Operation, Transfer};
use retx_tcp::State;
use retx_units::{Duration, Time};

/// Description of an invalid call: an error of the script, not an error number of the machine.
pub type Fault = String;

impl Host {
    /// Makes a call. `returns` is the result that the script expects; it determines the number of a
    /// new descriptor.
    ///
    /// # Errors
    /// A call that is invalid, or that this machine does not support.
    pub fn call(
        &mut self,
        now: Time,
        operation: &Operation,
        returns: Option<i64>,
    ) -> Result<Return, Fault> {
        let answer = match operation {
            Operation::Socket { nonblocking } => self.socket(returns, *nonblocking),
            Operation::Bind(fd) => self.socket_at(*fd).map(|_| Return::Done(0)),
            Operation::Listen(fd) => self.listen(*fd),
            Operation::Accept(fd) => self.accept(now, *fd, returns),
            Operation::Connect(fd) => self.connect(now, *fd),
            Operation::Read(transfer) | Operation::ReadMessage(transfer, _) => {
                self.read(now, transfer)
            }
            Operation::BadBuffer(fd, bytes) => self.bad_buffer(*fd, *bytes),
            Operation::Open => self.open_file(returns),
            Operation::EpollCreate => self.epoll_create(returns),
            Operation::EpollControl { epoll, what, fd, events } => {
                self.epoll_control(*epoll, *what, (*fd, *events))
            }
            Operation::Write(transfer) => self.write(now, transfer),
            Operation::Shutdown { fd, read, write } => self.shutdown(now, *fd, *read, *write),
            Operation::Close(fd) => self.close(now, *fd),
            Operation::SetOption(fd, option) => self.set_option(now, *fd, option),
            Operation::GetFlags(fd) => {
                // Linux's values of O_RDWR and O_NONBLOCK.
                let socket = self.socket_at(*fd)?;
                Ok(Return::Done(if socket.nonblocking { 0x802 } else { 2 }))
            }
            Operation::SetFlags(fd, nonblocking) => {
                self.socket_at(*fd)?.nonblocking = *nonblocking;
                Ok(Return::Done(0))
            }
            Operation::GetOption(..)
            | Operation::ReadErrors(..)
            | Operation::EpollWait { .. }
            | Operation::InQueue(..)
            | Operation::OutQueue(..)
            | Operation::Poll { .. } => unreachable!("these are answered by what they look at"),
        }?;
        Ok(if answer == Return::Wait && self.is_nonblocking(operation) {
            Return::Error(if matches!(operation, Operation::Connect(_)) {
                "EINPROGRESS"
            } else {
                "EAGAIN"
            })
        } else {
            answer
        })
    }

    fn is_nonblocking(&self, operation: &Operation) -> bool {
        let (fd, asked) = match operation {
            Operation::Accept(fd) | Operation::Connect(fd) => (fd, false),
            Operation::Read(it) | Operation::Write(it) | Operation::ReadMessage(it, _) => {
                (&it.fd, it.flags.contains(MessageFlags::DONT_WAIT))
            }
            _ => return false,
        };
        asked || self.sockets.get(fd).is_some_and(|socket| socket.nonblocking)
    }

    /// True if a transfer never waits: it transfers what it can and returns.
    pub(super) fn never_waits(&self, transfer: &Transfer) -> bool {
        self.is_nonblocking(&Operation::Write(*transfer))
    }

    fn socket_at(&mut self, fd: i32) -> Result<&mut Socket, Fault> {
        self.sockets.get_mut(&fd).ok_or_else(|| bad_descriptor(fd))
    }

    /// Connection of a descriptor.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn end_for_fd(&self, fd: i32) -> Result<Option<usize>, Fault> {
        match self.sockets.get(&fd) {
            None => Err(bad_descriptor(fd)),
            Some(Socket { kind: Kind::End(end), .. }) => Ok(Some(*end)),
            Some(_) => Ok(None),
        }
    }

    /// Number of a new descriptor: the result that the script expects of the call.
    pub(super) fn new_descriptor(&self, returns: Option<i64>) -> Result<i32, Fault> {
        let fd = returns
            .and_then(|fd| i32::try_from(fd).ok())
            .filter(|fd| *fd >= 0)
            .ok_or("write which descriptor it returns: a number from 0 on")?;
        if self.sockets.contains_key(&fd) {
            return Err(format!("descriptor {fd} is in use"));
        }
        Ok(fd)
    }

    fn socket(&mut self, returns: Option<i64>, nonblocking: bool) -> Result<Return, Fault> {
        let fd = self.new_descriptor(returns)?;
        let socket = Socket::new(Kind::Fresh, Settings::default());
        self.sockets.insert(fd, Socket { nonblocking, ..socket });
        self.focus = Focus::Socket(fd);
        Ok(Return::Done(fd.into()))
    }

    fn open_file(&mut self, returns: Option<i64>) -> Result<Return, Fault> {
        let fd = self.new_descriptor(returns)?;
        self.sockets.insert(fd, Socket::new(Kind::File, Settings::default()));
        Ok(Return::Done(fd.into()))
    }

    fn listen(&mut self, fd: i32) -> Result<Return, Fault> {
        let socket = self.socket_at(fd)?;
        if matches!(socket.kind, Kind::End(_)) {
            return Ok(Return::Error("EINVAL"));
        }
        socket.kind = Kind::Listener;
        self.focus = Focus::Socket(fd);
        Ok(Return::Done(0))
    }

    fn accept(&mut self, now: Time, fd: i32, returns: Option<i64>) -> Result<Return, Fault> {
        if self.socket_at(fd)?.kind != Kind::Listener {
            return Ok(Return::Error("EINVAL"));
        }
        let waiting = self
            .ends
            .iter()
            .position(|end| end.listener == Some(fd) && end.connected && !end.has_descriptor);
        let Some(end) = waiting else { return Ok(Return::Wait) };
        let new = self.new_descriptor(returns)?;
        let settings = self.sockets[&fd].settings.clone();
        self.ends[end].has_descriptor = true;
        self.start_keepalive(now, end);
        self.sockets.insert(new, Socket::new(Kind::End(end), settings));
        Ok(Return::Done(new.into()))
    }

    fn connect(&mut self, now: Time, fd: i32) -> Result<Return, Fault> {
        let socket = self.socket_at(fd)?;
        match socket.kind {
            Kind::Listener => return Ok(Return::Error("EISCONN")),
            Kind::End(end) => return Ok(self.connect_result(end)),
            Kind::File | Kind::Epoll(_) => return Ok(Return::Error("ENOTSOCK")),
            Kind::Fresh => {}
        }
        let settings = socket.settings.clone();
        let end = self.open(&settings, Role::Opener)?;
        self.ends[end].has_descriptor = true;
        self.start_keepalive(now, end);
        self.socket_at(fd)?.kind = Kind::End(end);
        self.serve(now, end, ActionCause::Call);
        Ok(Return::Wait)
    }

    /// Starts keep-alive, if the socket requested it before the connection existed.
    fn start_keepalive(&mut self, now: Time, end: usize) {
        let target = &mut self.ends[end];
        if target.keepalive.enabled {
            target.connection.set_keepalive(now, Some(target.keepalive.into()));
        }
    }

    /// Result of `connect`: whether the handshake is complete, has failed or continues.
    pub fn connect_result(&mut self, end: usize) -> Return {
        let end = &mut self.ends[end];
        if let Some(errno) = end.error.take() {
            return Return::Error(errno);
        }
        if end.connected { Return::Done(0) } else { Return::Wait }
    }

    fn read(&mut self, now: Time, transfer: &Transfer) -> Result<Return, Fault> {
        let Some(end) = self.end_for_fd(transfer.fd)? else { return Ok(Return::Error("ENOTCONN")) };
        let target = &mut self.ends[end];
        let readable = match target.readable() {
            Ok(readable) => readable,
            Err(answer) => {
                let peeks = transfer.flags.contains(MessageFlags::PEEK);
                target.error = target.error.filter(|_| peeks);
                return Ok(answer);
            }
        };
        let bytes = readable.min(transfer.bytes);
        if !transfer.flags.contains(MessageFlags::PEEK) && bytes > 0 {
            let taken = target.connection.read(bytes);
            assert_eq!(taken, bytes, "a connection gives what it says it has");
            self.serve(now, end, ActionCause::Call);
        }
        Ok(Return::Done(bytes as i64))
    }

    fn write(&mut self, now: Time, transfer: &Transfer) -> Result<Return, Fault> {
        let Some(end) = self.end_for_fd(transfer.fd)? else { return Ok(Return::Error("EPIPE")) };
        let target = &mut self.ends[end];
        if let Err(answer) = target.check_writable() {
            if target.error.take().is_some() {
                target.write_shutdown = true;
            }
            return Ok(answer);
        }
        let mut taken = 0;
        loop {
            let piece = self.ends[end].writable_bytes(transfer.bytes - taken);
            if piece == 0 {
                break;
            }
            let flags = if taken + piece < transfer.bytes {
                transfer.flags.without(MessageFlags::END_OF_RECORD)
            } else {
                transfer.flags
            };
            let given = self.hand_over(now, end, piece, flags);
            if given == 0 {
                break;
            }
            taken += given;
        }
        let target = &mut self.ends[end];
        let written = target.connection.snd_una().max(1) + target.connection.unacknowledged();
        if let Some(stamps) = target.timestamps.as_mut().filter(|_| taken > 0) {
            stamps.on_write(now, written);
        }
        if taken < transfer.bytes {
            target.found_buffer_full = true;
            target.wake_waiters(now);
        }
        Ok(if taken == 0 && transfer.bytes > 0 { Return::Wait } else { Return::Done(taken as i64) })
    }

    /// Passes bytes of a write to the connection, and lets the connection send. Returns the number
    /// of bytes that the connection has accepted.
    fn hand_over(&mut self, now: Time, end: usize, bytes: u64, flags: MessageFlags) -> u64 {
        let target = &mut self.ends[end];
        let connection = &mut target.connection;
        let taken = if flags.contains(MessageFlags::MORE) {
            connection.write_with_more(now, bytes)
        } else {
            connection.write(now, bytes)
        };
        if taken == bytes && flags.contains(MessageFlags::END_OF_RECORD) {
            connection.end_record();
        }
        self.serve(now, end, ActionCause::Call);
        taken
    }

    /// Result of a transfer with a buffer at address 0: it fails if the call would access the
    /// buffer.
    fn bad_buffer(&mut self, fd: i32, bytes: u64) -> Result<Return, Fault> {
        let open = self.end_for_fd(fd)?.is_some();
        Ok(match (open, bytes) {
            (false, _) => Return::Error("EPIPE"),
            (true, 0) => Return::Done(0),
            (true, _) => Return::Error("EFAULT"),
        })
    }

    fn shutdown(&mut self, now: Time, fd: i32, read: bool, write: bool) -> Result<Return, Fault> {
        let Some(end) = self.end_for_fd(fd)? else { return Ok(Return::Error("ENOTCONN")) };
        let target = &mut self.ends[end];
        if target.connection.state() == State::Closed {
            return Ok(Return::Error("ENOTCONN"));
        }
        target.read_shutdown |= read;
        if write && !target.write_shutdown {
            target.write_shutdown = true;
            target.connection.close();
        }
        self.serve(now, end, ActionCause::Call);
        Ok(Return::Done(0))
    }

    fn close(&mut self, now: Time, fd: i32) -> Result<Return, Fault> {
        if let Some(Kind::End(end)) = self.sockets.get(&fd).map(|socket| socket.kind) {
            return Ok(self.close_connection(now, fd, end));
        }
        let socket = self.sockets.remove(&fd).ok_or_else(|| bad_descriptor(fd))?;
        match socket.kind {
            Kind::Fresh | Kind::File | Kind::Epoll(_) => {}
            Kind::Listener => self.stop_listening(now, fd),
            Kind::End(_) => unreachable!("connections are closed above"),
        }
        Ok(Return::Done(0))
    }

    /// Closes a connection's socket. With a linger time, the call waits until the peer has
    /// acknowledged all data or the time has passed (`sk_stream_wait_close`).
    fn close_connection(&mut self, now: Time, fd: i32, end: usize) -> Return {
        let Some(socket) = self.sockets.get_mut(&fd) else { return Return::Error("EBADF") };
        let target = &mut self.ends[end];
        let lingers = socket.settings.linger.filter(|seconds| *seconds > 0);
        let first = socket.closing_until.is_none();
        // RFC 9293 §3.6.1: if data have arrived that the application has not read, they are lost,
        // so the peer gets a reset.
        if first && (socket.settings.linger == Some(0) || target.connection.readable() > 0) {
            target.connection.abort();
        } else if first && !target.write_shutdown {
            target.connection.close();
        }
        target.write_shutdown = true;
        let wait = lingers.map_or(Duration::ZERO, |seconds| Duration::from_secs(seconds as u64));
        let until = *socket.closing_until.get_or_insert(now + wait);
        self.serve(now, end, ActionCause::Call);
        let connection = &mut self.ends[end].connection;
        let closing =
            matches!(connection.state(), State::FinWait1 | State::Closing | State::LastAck)
                || connection.unacknowledged() > 0;
        if closing && now < until {
            return Return::Wait;
        }
        connection.detach();
        self.sockets.remove(&fd);
        self.serve(now, end, ActionCause::Call);
        Return::Done(0)
    }

    /// Longest time that `close` waits.
    pub fn linger_time(&self, fd: i32) -> Duration {
        let linger = self.sockets.get(&fd).and_then(|socket| socket.settings.linger);
        linger.map_or(Duration::ZERO, |seconds| Duration::from_secs(seconds.max(0) as u64))
    }

    /// Resets the connections that were never accepted.
    fn stop_listening(&mut self, now: Time, fd: i32) {
        if self.focus == Focus::Socket(fd) {
            self.focus = Focus::Nothing;
        }
        for end in 0..self.ends.len() {
            if self.ends[end].listener == Some(fd) && !self.ends[end].has_descriptor {
                self.ends[end].connection.abort();
                self.serve(now, end, ActionCause::Call);
            }
        }
    }

    /// Bits that `poll` reports for a descriptor.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn ready_events(&self, fd: i32) -> Result<u32, Fault> {
        if let Some(end) = self.end_for_fd(fd)? {
            return Ok(self.ends[end].ready_events());
        }
        let waiting = self
            .ends
            .iter()
            .any(|end| end.listener == Some(fd) && end.connected && !end.has_descriptor);
        Ok(if waiting { super::ready::add_normal_bits(super::ready::IN) } else { 0 })
    }
}

pub(super) fn bad_descriptor(fd: i32) -> Fault {
    format!("there is no descriptor {fd}")
}
