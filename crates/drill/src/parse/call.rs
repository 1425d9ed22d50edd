//! System calls and their arguments.

use super::Parser;
use super::arguments::Arguments;
use crate::fault::Refusal;
use crate::script::{Call, EventTime, Expected, MessageFlags, Operation, Transfer};
use crate::token::{TokenKind, clip};
use retx_units::Duration;

type Lower = fn(&Arguments) -> Result<Operation, Refusal>;

/// All supported calls.
const CALLS: &[(&str, Lower)] = &[
    ("socket", socket),
    ("bind", |it| it.address_call(Operation::Bind)),
    ("listen", |it| Ok(Operation::Listen(it.only_fd(2)?))),
    ("accept", |it| it.address_call(Operation::Accept)),
    ("connect", |it| it.address_call(Operation::Connect)),
    ("read", |it| it.transfer(3, Operation::Read)),
    ("recv", |it| it.transfer(4, Operation::Read)),
    ("recvfrom", |it| it.transfer(6, Operation::Read)),
    ("recvmsg", Arguments::receive_message),
    ("write", |it| it.transfer(3, Operation::Write)),
    ("send", |it| it.transfer(4, Operation::Write)),
    ("sendto", |it| it.transfer(6, Operation::Write)),
    ("sendmsg", Arguments::send_message),
    ("open", |it| it.require_count(2).map(|()| Operation::Open)),
    ("sendfile", sendfile),
    ("shutdown", shutdown),
    ("close", |it| Ok(Operation::Close(it.only_fd(1)?))),
    ("setsockopt", |it| it.socket_option(false)),
    ("getsockopt", |it| it.socket_option(true)),
    ("fcntl", fcntl),
    ("ioctl", ioctl),
    ("poll", Arguments::poll),
    ("epoll_create", |it| it.require_count(1).map(|()| Operation::EpollCreate)),
    ("epoll_ctl", Arguments::epoll_control),
    ("epoll_wait", Arguments::epoll_wait),
];

impl Parser<'_> {
    /// Parses a call after its start time: the latest time of return, if any, and the call itself,
    /// such as `...0.2 connect(3, ..., ...) = 0`.
    pub fn call(&mut self, when: EventTime) -> Result<Call, Refusal> {
        let end = self.call_end(when)?;
        let line = self.line();
        let TokenKind::Word(word) = self.next_token() else {
            return Err(self.unexpected_token("a call's name"));
        };
        if self.peek() != TokenKind::Symbol('(') {
            return Err(self.unexpected_token(&format!("\"(\" after {}", clip(word))));
        }
        let Some(&(name, lower)) = CALLS.iter().find(|(name, _)| *name == word) else {
            let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
            let message =
                format!("the call {} is not supported; there are {}", clip(word), names.join(", "));
            return Err(Refusal::new(line, message));
        };
        self.require('(')?;
        let values = self.values(')', 0)?;
        let what = lower(&Arguments { name, line, values })?;
        self.require('=')?;
        let expected = self.result(name)?;
        Ok(Call { name, operation: what, latest_return: end, expected })
    }

    fn call_end(&mut self, when: EventTime) -> Result<Option<Duration>, Refusal> {
        if self.peek() != TokenKind::Ellipsis {
            return Ok(None);
        }
        self.next_token();
        let line = self.line();
        let end = self.seconds()?;
        let begin = match when {
            EventTime::At(time) => Duration::from_nanos(time.as_nanos()),
            EventTime::After(wait) => wait,
            EventTime::Any | EventTime::Between(..) | EventTime::AfterBetween(..) => {
                let message = "a call that waits begins at one time: 0...0.2 or +0...0.2";
                return Err(Refusal::new(line, message));
            }
        };
        if end < begin {
            return Err(Refusal::new(line, "this call ends before it begins"));
        }
        Ok(Some(end))
    }

    /// Expected result, such as `0`, `-1 EAGAIN (Resource temporarily unavailable)` or `...`.
    fn result(&mut self, name: &str) -> Result<Expected, Refusal> {
        let line = self.line();
        let value = if self.peek() == TokenKind::Ellipsis {
            self.next_token();
            None
        } else {
            Some(self.integer("a result", i64::MIN, i64::MAX)?)
        };
        let errno = if let TokenKind::Word(word) = self.peek() {
            self.next_token();
            Some(word.to_owned())
        } else {
            None
        };
        if errno.is_some() != value.is_some_and(|value| value < 0) {
            let message = format!(
                "{name} returns a number from 0 on, or -1 and the name of an error: -1 EAGAIN"
            );
            return Err(Refusal::new(line, message));
        }
        if self.accept('(') {
            while !self.accept(')') {
                if self.next_token() == TokenKind::End {
                    return Err(self.unexpected_token("\")\""));
                }
            }
        }
        Ok(Expected { value, errno })
    }
}

fn socket(arguments: &Arguments) -> Result<Operation, Refusal> {
    arguments.require_count(3)?;
    let kind = arguments.names(1)?;
    let nonblocking = kind.contains(&"SOCK_NONBLOCK");
    if !kind.iter().all(|word| ["SOCK_STREAM", "SOCK_NONBLOCK", "SOCK_CLOEXEC"].contains(word))
        || !kind.contains(&"SOCK_STREAM")
    {
        return Err(arguments.refusal("only SOCK_STREAM sockets are played"));
    }
    if !arguments.is_integer(2, 0) && arguments.names(2)? != ["IPPROTO_TCP"] {
        return Err(arguments.refusal("only IPPROTO_TCP sockets are played"));
    }
    Ok(Operation::Socket { nonblocking })
}

fn shutdown(arguments: &Arguments) -> Result<Operation, Refusal> {
    let fd = arguments.only_fd(2)?;
    let (read, write) = match arguments.names(1)?[..] {
        ["SHUT_RD"] => (true, false),
        ["SHUT_WR"] => (false, true),
        ["SHUT_RDWR"] => (true, true),
        _ => return Err(arguments.refusal("expected SHUT_RD, SHUT_WR or SHUT_RDWR")),
    };
    Ok(Operation::Shutdown { fd, read, write })
}

fn fcntl(arguments: &Arguments) -> Result<Operation, Refusal> {
    let fd = arguments.first_fd()?;
    match arguments.names(1)?[..] {
        ["F_GETFL"] => Ok(Operation::GetFlags(fd)),
        ["F_SETFL"] => {
            arguments.require_count(3)?;
            let flags = arguments.names(2)?;
            if let Some(other) = flags.iter().find(|it| !["O_RDWR", "O_NONBLOCK"].contains(it)) {
                return Err(arguments.refusal(&format!("the flag {other} is not supported")));
            }
            Ok(Operation::SetFlags(fd, flags.contains(&"O_NONBLOCK")))
        }
        _ => Err(arguments.refusal("expected F_GETFL or F_SETFL")),
    }
}

fn ioctl(arguments: &Arguments) -> Result<Operation, Refusal> {
    let fd = arguments.only_fd(3)?;
    let bytes = arguments.bracketed_number(2)?;
    match arguments.names(1)?[..] {
        ["SIOCINQ" | "FIONREAD"] => Ok(Operation::InQueue(fd, bytes)),
        ["SIOCOUTQ" | "TIOCOUTQ"] => Ok(Operation::OutQueue(fd, bytes)),
        _ => Err(arguments.refusal("expected SIOCINQ or SIOCOUTQ")),
    }
}

impl Arguments {
    /// Arguments of `bind`, `accept` and `connect`: a descriptor and an address, which is ignored.
    fn address_call(&self, operation: fn(i32) -> Operation) -> Result<Operation, Refusal> {
        self.only_fd(3).map(operation)
    }

    /// Parses a transfer: a descriptor, a buffer, a length and, for some calls, flags.
    fn transfer(
        &self,
        count: usize,
        operation: fn(Transfer) -> Operation,
    ) -> Result<Operation, Refusal> {
        let fd = self.only_fd(count)?;
        let bytes = self.integer(2)?;
        let bytes = u64::try_from(bytes)
            .map_err(|_| self.refusal(&format!("{bytes} bytes: a length is not negative")))?;
        if self.is_null(1) {
            return Ok(Operation::BadBuffer(fd, bytes));
        }
        if !self.is_any(1) {
            return Err(self.refusal("the contents of buffers are not looked at: write ..."));
        }
        let flags = if count > 3 { self.message_flags(3)?.0 } else { MessageFlags::default() };
        Ok(operation(Transfer { fd, bytes, flags }))
    }
}

/// `sendfile(4, 5, [0], 5)`: a write of a file's contents.
fn sendfile(arguments: &Arguments) -> Result<Operation, Refusal> {
    let fd = arguments.only_fd(4)?;
    let bytes = u64::try_from(arguments.integer(3)?)
        .map_err(|_| arguments.refusal("a length is not negative"))?;
    Ok(Operation::Write(Transfer { fd, bytes, flags: MessageFlags::default() }))
}
