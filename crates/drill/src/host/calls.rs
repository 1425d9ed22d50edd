//! System calls.

use super::{Answer, Cause, Errno, Focus, Host, Kind, Settings, Socket};
use crate::script::{Operation, SocketOption, Transfer};
use retx_tcp::{Connection, State};
use retx_units::Time;

/// A call that cannot be made sense of: the script's fault, not an error of the machine.
pub type Fault = String;

impl Host {
    /// Makes a call. `returns` is what the script wants: the number of a new descriptor is the
    /// script's to choose.
    ///
    /// # Errors
    /// What no machine would do, or this one cannot.
    pub fn call(
        &mut self,
        now: Time,
        operation: &Operation,
        returns: Option<i64>,
    ) -> Result<Answer, Fault> {
        let answer = match operation {
            Operation::Socket { nonblocking } => self.socket(returns, *nonblocking),
            Operation::Bind(fd) => self.socket_at(*fd).map(|_| Answer::Done(0)),
            Operation::Listen(fd) => self.listen(*fd),
            Operation::Accept(fd) => self.accept(*fd, returns),
            Operation::Connect(fd) => self.connect(now, *fd),
            Operation::Read(transfer) => self.read(now, transfer),
            Operation::Write(transfer) => self.write(now, transfer),
            Operation::Shutdown { fd, read, write } => self.shutdown(now, *fd, *read, *write),
            Operation::Close(fd) => self.close(now, *fd),
            Operation::SetOption(fd, option) => self.set_option(now, *fd, option),
            Operation::GetFlags(fd) => {
                // O_RDWR, and O_NONBLOCK as Linux numbers it.
                let socket = self.socket_at(*fd)?;
                Ok(Answer::Done(if socket.nonblocking { 0x802 } else { 2 }))
            }
            Operation::SetFlags(fd, nonblocking) => {
                self.socket_at(*fd)?.nonblocking = *nonblocking;
                Ok(Answer::Done(0))
            }
            Operation::GetOption(..)
            | Operation::InQueue(..)
            | Operation::OutQueue(..)
            | Operation::Poll { .. } => unreachable!("these are answered by what they look at"),
        }?;
        Ok(if answer == Answer::Wait && self.is_nonblocking(operation) {
            Answer::Error(if matches!(operation, Operation::Connect(_)) {
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
            Operation::Read(it) | Operation::Write(it) => (&it.fd, it.nonblocking),
            _ => return false,
        };
        asked || self.sockets.get(fd).is_some_and(|socket| socket.nonblocking)
    }

    /// True when a transfer takes what it can and returns.
    fn never_waits(&self, transfer: &Transfer) -> bool {
        self.is_nonblocking(&Operation::Write(*transfer))
    }

    fn socket_at(&mut self, fd: i32) -> Result<&mut Socket, Fault> {
        self.sockets.get_mut(&fd).ok_or_else(|| no_descriptor(fd))
    }

    /// The connection behind a descriptor.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn end_of(&self, fd: i32) -> Result<Option<usize>, Fault> {
        match self.sockets.get(&fd) {
            None => Err(no_descriptor(fd)),
            Some(Socket { kind: Kind::End(end), .. }) => Ok(Some(*end)),
            Some(_) => Ok(None),
        }
    }

    /// The descriptor that a call returns, as the script wants it.
    fn new_descriptor(&self, returns: Option<i64>) -> Result<i32, Fault> {
        let fd = returns
            .and_then(|fd| i32::try_from(fd).ok())
            .filter(|fd| *fd >= 0)
            .ok_or("write which descriptor it returns: a number from 0 on")?;
        if self.sockets.contains_key(&fd) {
            return Err(format!("descriptor {fd} is in use"));
        }
        Ok(fd)
    }

    fn socket(&mut self, returns: Option<i64>, nonblocking: bool) -> Result<Answer, Fault> {
        let fd = self.new_descriptor(returns)?;
        let socket = Socket { kind: Kind::Fresh, settings: Settings::default(), nonblocking };
        self.sockets.insert(fd, socket);
        self.focus = Focus::Socket(fd);
        Ok(Answer::Done(fd.into()))
    }

    fn listen(&mut self, fd: i32) -> Result<Answer, Fault> {
        let socket = self.socket_at(fd)?;
        if matches!(socket.kind, Kind::End(_)) {
            return Ok(Answer::Error("EINVAL"));
        }
        socket.kind = Kind::Listener;
        self.focus = Focus::Socket(fd);
        Ok(Answer::Done(0))
    }

    fn accept(&mut self, fd: i32, returns: Option<i64>) -> Result<Answer, Fault> {
        if self.socket_at(fd)?.kind != Kind::Listener {
            return Ok(Answer::Error("EINVAL"));
        }
        let waiting = self
            .ends
            .iter()
            .position(|end| end.listener == Some(fd) && end.connected && !end.taken);
        let Some(end) = waiting else { return Ok(Answer::Wait) };
        let new = self.new_descriptor(returns)?;
        let settings = self.sockets[&fd].settings.clone();
        self.ends[end].taken = true;
        let socket = Socket { kind: Kind::End(end), settings, nonblocking: false };
        self.sockets.insert(new, socket);
        Ok(Answer::Done(new.into()))
    }

    fn connect(&mut self, now: Time, fd: i32) -> Result<Answer, Fault> {
        let socket = self.socket_at(fd)?;
        match socket.kind {
            Kind::Listener => return Ok(Answer::Error("EISCONN")),
            Kind::End(end) => return Ok(self.connected(end)),
            Kind::Fresh => {}
        }
        let settings = socket.settings.clone();
        let end = self.open(&settings, Connection::connect)?;
        self.ends[end].taken = true;
        self.socket_at(fd)?.kind = Kind::End(end);
        self.serve(now, end, Cause::Call);
        Ok(Answer::Wait)
    }

    /// How far the handshake is.
    pub fn connected(&mut self, end: usize) -> Answer {
        let end = &mut self.ends[end];
        if let Some(errno) = end.error.take() {
            return Answer::Error(errno);
        }
        if end.connected { Answer::Done(0) } else { Answer::Wait }
    }

    fn read(&mut self, now: Time, transfer: &Transfer) -> Result<Answer, Fault> {
        let Some(end) = self.end_of(transfer.fd)? else { return Ok(Answer::Error("ENOTCONN")) };
        let target = &mut self.ends[end];
        let readable = match target.readable() {
            Ok(readable) => readable,
            Err(answer) => {
                target.error = target.error.filter(|_| transfer.peek);
                return Ok(answer);
            }
        };
        let bytes = readable.min(transfer.bytes);
        if !transfer.peek && bytes > 0 {
            let taken = target.connection.read(bytes);
            assert_eq!(taken, bytes, "a connection gives what it says it has");
            self.serve(now, end, Cause::Call);
        }
        Ok(Answer::Done(bytes as i64))
    }

    fn write(&mut self, now: Time, transfer: &Transfer) -> Result<Answer, Fault> {
        let Some(end) = self.end_of(transfer.fd)? else { return Ok(Answer::Error("EPIPE")) };
        let target = &mut self.ends[end];
        let room = match target.writable() {
            Ok(room) => room,
            Err(answer) => {
                if target.error.take().is_some() {
                    target.write_shut = true;
                }
                return Ok(answer);
            }
        };
        let taken = target.connection.write(room.min(transfer.bytes));
        self.serve(now, end, Cause::Call);
        Ok(Answer::Done(taken as i64))
    }

    /// Goes on with a write of which `written` bytes have been taken: to a blocking socket it
    /// returns when all have been.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn write_on(
        &mut self,
        now: Time,
        transfer: &Transfer,
        written: &mut u64,
    ) -> Result<Answer, Fault> {
        let left = Transfer { bytes: transfer.bytes - *written, ..*transfer };
        match self.call(now, &Operation::Write(left), None)? {
            Answer::Done(taken) => *written += taken as u64,
            // What has been taken is told before an error is.
            Answer::Error(_) if *written > 0 => return Ok(Answer::Done(*written as i64)),
            answer => return Ok(answer),
        }
        let waits = *written < transfer.bytes && !self.never_waits(transfer);
        Ok(if waits { Answer::Wait } else { Answer::Done(*written as i64) })
    }

    fn shutdown(&mut self, now: Time, fd: i32, read: bool, write: bool) -> Result<Answer, Fault> {
        let Some(end) = self.end_of(fd)? else { return Ok(Answer::Error("ENOTCONN")) };
        let target = &mut self.ends[end];
        if target.connection.state() == State::Closed {
            return Ok(Answer::Error("ENOTCONN"));
        }
        target.read_shut |= read;
        if write && !target.write_shut {
            target.write_shut = true;
            target.connection.close();
        }
        self.serve(now, end, Cause::Call);
        Ok(Answer::Done(0))
    }

    fn close(&mut self, now: Time, fd: i32) -> Result<Answer, Fault> {
        let socket = self.sockets.remove(&fd).ok_or_else(|| no_descriptor(fd))?;
        match socket.kind {
            Kind::Fresh => {}
            Kind::Listener => self.stop_listening(now, fd),
            Kind::End(end) => {
                let target = &mut self.ends[end];
                // RFC 9293 §3.6.1: what arrived and was not read is lost, and the peer is told.
                if socket.settings.linger == Some(0) || target.connection.readable() > 0 {
                    target.connection.abort();
                } else {
                    if !target.write_shut {
                        target.connection.close();
                    }
                    target.connection.detach();
                }
                target.write_shut = true;
                self.serve(now, end, Cause::Call);
            }
        }
        Ok(Answer::Done(0))
    }

    /// Connections that nobody will accept are reset.
    fn stop_listening(&mut self, now: Time, fd: i32) {
        if self.focus == Focus::Socket(fd) {
            self.focus = Focus::Nothing;
        }
        for end in 0..self.ends.len() {
            if self.ends[end].listener == Some(fd) && !self.ends[end].taken {
                self.ends[end].connection.abort();
                self.serve(now, end, Cause::Call);
            }
        }
    }

    fn set_option(&mut self, now: Time, fd: i32, option: &SocketOption) -> Result<Answer, Fault> {
        let socket = self.socket_at(fd)?;
        let settings = &mut socket.settings;
        let running = match socket.kind {
            Kind::End(end) => Some(end),
            _ => None,
        };
        match option {
            SocketOption::Reuse(_) => {}
            SocketOption::Linger(linger) => settings.linger = *linger,
            SocketOption::SendBuffer(bytes) => {
                // Linux doubles the number, and has a smallest one.
                let bytes = 2 * within(*bytes, 2_304, 1 << 29)?;
                settings.send_buffer = Some(bytes);
                if let Some(end) = running {
                    self.ends[end].send_buffer = bytes;
                }
            }
            SocketOption::NoDelay(on) => {
                settings.no_delay = Some(*on != 0);
                if let Some(end) = running {
                    self.ends[end].connection.set_nagle(*on == 0);
                    self.serve(now, end, Cause::Call);
                }
            }
            _ if running.is_some() => {
                return Err("this option can be set only before there is a connection".into());
            }
            SocketOption::ReceiveBuffer(bytes) => {
                settings.receive_buffer = Some(within(*bytes, 1, 1 << 30)?);
            }
            SocketOption::MaxSegment(bytes) => {
                settings.mss = Some(within(*bytes, 1, 65_495)? as u32);
            }
            SocketOption::Congestion(name) => settings.congestion_control = Some(name.clone()),
            SocketOption::Error(_) => return Ok(Answer::Error("ENOPROTOOPT")),
        }
        // What cannot be configured is refused here, not when a packet comes.
        self.sockets[&fd].settings.configure(&self.config)?;
        Ok(Answer::Done(0))
    }

    /// The value of a socket option.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn option(&mut self, fd: i32, option: &SocketOption) -> Result<SocketOption, Fault> {
        let running = self.end_of(fd)?;
        let (config, send_buffer) = self.sockets[&fd].settings.configure(&self.config)?;
        let end = running.map(|end| &mut self.ends[end]);
        Ok(match option {
            SocketOption::Error(_) => {
                let error: Option<Errno> = end.and_then(|end| end.error.take());
                SocketOption::Error(error.unwrap_or_default().to_owned())
            }
            SocketOption::SendBuffer(_) => {
                let bytes = end.map_or(send_buffer, |end| end.send_buffer);
                SocketOption::SendBuffer(bytes as i64)
            }
            SocketOption::ReceiveBuffer(_) => {
                // Linux tells twice what was set.
                let set = self.sockets[&fd].settings.receive_buffer.map(|bytes| 2 * bytes);
                let bytes = set.unwrap_or(config.receive_buffer.bytes(config.mss));
                SocketOption::ReceiveBuffer(bytes as i64)
            }
            SocketOption::NoDelay(_) => SocketOption::NoDelay((!config.nagle).into()),
            SocketOption::MaxSegment(_) => {
                let connected = end.filter(|end| end.connected);
                // RFC 9293 §3.7.1: 536 while nothing is known of the peer.
                let default = self.sockets[&fd].settings.mss.unwrap_or(536);
                let mss = connected.map_or(default, |end| end.connection.window().smss);
                SocketOption::MaxSegment(mss.into())
            }
            SocketOption::Reuse(_) | SocketOption::Linger(_) | SocketOption::Congestion(_) => {
                return Err("the value of this option is not kept".into());
            }
        })
    }

    /// What `poll` finds of a descriptor.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn ready(&self, fd: i32) -> Result<u32, Fault> {
        if let Some(end) = self.end_of(fd)? {
            return Ok(self.ends[end].ready());
        }
        let waiting =
            self.ends.iter().any(|end| end.listener == Some(fd) && end.connected && !end.taken);
        Ok(if waiting { super::ready::widened(super::ready::IN) } else { 0 })
    }
}

fn no_descriptor(fd: i32) -> Fault {
    format!("there is no descriptor {fd}")
}

fn within(number: i64, low: i64, high: i64) -> Result<u64, Fault> {
    if number > high || number < 1 {
        return Err(format!("{number} lies outside 1 … {high}"));
    }
    Ok(number.max(low) as u64)
}
