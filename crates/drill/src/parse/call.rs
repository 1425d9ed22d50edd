//! System calls and their arguments.

use super::Parser;
use super::arguments::Arguments;
use crate::fault::Refusal;
use crate::script::{Call, Expected, MessageFlags, Operation, Transfer, When};
use crate::token::{Kind, clipped};
use retx_units::Duration;

type Lower = fn(&Arguments) -> Result<Operation, Refusal>;

/// All supported calls.
const CALLS: &[(&str, Lower)] = &[
    ("socket", socket),
    ("bind", |it| it.address_call(Operation::Bind)),
    ("listen", |it| Ok(Operation::Listen(it.fd_of(2)?))),
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
    ("open", |it| it.count(2).map(|()| Operation::Open)),
    ("sendfile", sendfile),
    ("shutdown", shutdown),
    ("close", |it| Ok(Operation::Close(it.fd_of(1)?))),
    ("setsockopt", |it| it.socket_option(false)),
    ("getsockopt", |it| it.socket_option(true)),
    ("fcntl", fcntl),
    ("ioctl", ioctl),
    ("poll", Arguments::poll),
    ("epoll_create", |it| it.count(1).map(|()| Operation::EpollCreate)),
    ("epoll_ctl", Arguments::epoll_control),
    ("epoll_wait", Arguments::epoll_wait),
];

impl Parser<'_> {
    /// Parses a call after its time, such as `...0.2 connect(3, ..., ...) = 0`.
    pub fn call(&mut self, when: When) -> Result<Call, Refusal> {
        let end = self.call_end(when)?;
        let line = self.line();
        let Kind::Word(word) = self.take() else { return Err(self.unexpected("a call's name")) };
        if self.peek() != Kind::Symbol('(') {
            return Err(self.unexpected(&format!("\"(\" after {}", clipped(word))));
        }
        let Some(&(name, lower)) = CALLS.iter().find(|(name, _)| *name == word) else {
            let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "the call {} is not supported; there are {}",
                clipped(word),
                names.join(", ")
            );
            return Err(Refusal::new(line, message));
        };
        self.expect('(')?;
        let values = self.values(')', 0)?;
        let what = lower(&Arguments { name, line, values })?;
        self.expect('=')?;
        let expected = self.result(name)?;
        Ok(Call { name, what, end, expected })
    }

    fn call_end(&mut self, when: When) -> Result<Option<Duration>, Refusal> {
        if self.peek() != Kind::Ellipsis {
            return Ok(None);
        }
        self.take();
        let line = self.line();
        let end = self.seconds()?;
        let begin = match when {
            When::At(time) => Duration::from_nanos(time.as_nanos()),
            When::After(wait) => wait,
            When::Any | When::Between(..) | When::AfterBetween(..) => {
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
        let value = if self.peek() == Kind::Ellipsis {
            self.take();
            None
        } else {
            Some(self.integer("a result", i64::MIN, i64::MAX)?)
        };
        let errno = if let Kind::Word(word) = self.peek() {
            self.take();
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
                if self.take() == Kind::End {
                    return Err(self.unexpected("\")\""));
                }
            }
        }
        Ok(Expected { value, errno })
    }
}

fn socket(arguments: &Arguments) -> Result<Operation, Refusal> {
    arguments.count(3)?;
    let kind = arguments.words(1)?;
    let nonblocking = kind.contains(&"SOCK_NONBLOCK");
    if !kind.iter().all(|word| ["SOCK_STREAM", "SOCK_NONBLOCK", "SOCK_CLOEXEC"].contains(word))
        || !kind.contains(&"SOCK_STREAM")
    {
        return Err(arguments.refuse("only SOCK_STREAM sockets are played"));
    }
    if !arguments.is_number(2, 0) && arguments.words(2)? != ["IPPROTO_TCP"] {
        return Err(arguments.refuse("only IPPROTO_TCP sockets are played"));
    }
    Ok(Operation::Socket { nonblocking })
}

fn shutdown(arguments: &Arguments) -> Result<Operation, Refusal> {
    let fd = arguments.fd_of(2)?;
    let (read, write) = match arguments.words(1)?[..] {
        ["SHUT_RD"] => (true, false),
        ["SHUT_WR"] => (false, true),
        ["SHUT_RDWR"] => (true, true),
        _ => return Err(arguments.refuse("expected SHUT_RD, SHUT_WR or SHUT_RDWR")),
    };
    Ok(Operation::Shutdown { fd, read, write })
}

fn fcntl(arguments: &Arguments) -> Result<Operation, Refusal> {
    let fd = arguments.fd()?;
    match arguments.words(1)?[..] {
        ["F_GETFL"] => Ok(Operation::GetFlags(fd)),
        ["F_SETFL"] => {
            arguments.count(3)?;
            let flags = arguments.words(2)?;
            if let Some(other) = flags.iter().find(|it| !["O_RDWR", "O_NONBLOCK"].contains(it)) {
                return Err(arguments.refuse(&format!("the flag {other} is not supported")));
            }
            Ok(Operation::SetFlags(fd, flags.contains(&"O_NONBLOCK")))
        }
        _ => Err(arguments.refuse("expected F_GETFL or F_SETFL")),
    }
}

fn ioctl(arguments: &Arguments) -> Result<Operation, Refusal> {
    let fd = arguments.fd_of(3)?;
    let bytes = arguments.bracketed_number(2)?;
    match arguments.words(1)?[..] {
        ["SIOCINQ" | "FIONREAD"] => Ok(Operation::InQueue(fd, bytes)),
        ["SIOCOUTQ" | "TIOCOUTQ"] => Ok(Operation::OutQueue(fd, bytes)),
        _ => Err(arguments.refuse("expected SIOCINQ or SIOCOUTQ")),
    }
}

impl Arguments {
    /// Arguments of `bind`, `accept` and `connect`: a descriptor and an address, which is ignored.
    fn address_call(&self, operation: fn(i32) -> Operation) -> Result<Operation, Refusal> {
        self.fd_of(3).map(operation)
    }

    /// Parses a transfer: a descriptor, a buffer, a length and, for some calls, flags.
    fn transfer(
        &self,
        count: usize,
        operation: fn(Transfer) -> Operation,
    ) -> Result<Operation, Refusal> {
        let fd = self.fd_of(count)?;
        let bytes = self.number(2)?;
        let bytes = u64::try_from(bytes)
            .map_err(|_| self.refuse(&format!("{bytes} bytes: a length is not negative")))?;
        if self.is_null(1) {
            return Ok(Operation::BadBuffer(fd, bytes));
        }
        if !self.is_any(1) {
            return Err(self.refuse("the contents of buffers are not looked at: write ..."));
        }
        let flags = if count > 3 { self.message_flags(3)?.0 } else { MessageFlags::default() };
        Ok(operation(Transfer { fd, bytes, flags }))
    }
}

/// `sendfile(4, 5, [0], 5)`: a write of a file's contents.
fn sendfile(arguments: &Arguments) -> Result<Operation, Refusal> {
    let fd = arguments.fd_of(4)?;
    let bytes = u64::try_from(arguments.number(3)?)
        .map_err(|_| arguments.refuse("a length is not negative"))?;
    Ok(Operation::Write(Transfer { fd, bytes, flags: MessageFlags::default() }))
}
