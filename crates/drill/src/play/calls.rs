//! Calls of the application: results and times of return.

use super::Player;
use super::times::TimeWindow;
use crate::fault::{EarlyEnd, Refusal};
use crate::host::{Return, ready};
use crate::script::{Ancillary, Call, Event, Operation, PollFd};
use crate::show;
use retx_units::Time;

/// Call that waits.
#[derive(Debug, Clone)]
pub struct Pending<'a> {
    event: &'a Event,
    call: &'a Call,
    due: TimeWindow,
    /// Bytes of a write accepted so far.
    written: u64,
    /// Time at which the call stops waiting.
    deadline: Time,
}

impl Pending<'_> {
    /// Time at which the call stops waiting; [`Time::NEVER`] if unlimited.
    pub const fn deadline(&self) -> Time {
        self.deadline
    }
}

impl<'a> Player<'a> {
    /// Makes a call and checks its result, or records that it waits.
    pub fn call(
        &mut self,
        event: &'a Event,
        call: &'a Call,
        due: &TimeWindow,
    ) -> Result<(), EarlyEnd> {
        self.note("#", call.name);
        let deadline = match &call.operation {
            Operation::Poll { timeout: Some(timeout), .. }
            | Operation::EpollWait { timeout: Some(timeout), .. } => self.now + *timeout,
            Operation::Close(fd) => self.now + self.host.linger_time(*fd),
            _ => Time::NEVER,
        };
        let mut pending = Pending { event, call, due: *due, written: 0, deadline };
        let answer = self.attempt(&mut pending)?;
        self.after_action()?;
        match answer {
            Return::Wait if call.latest_return.is_none() => {
                let message = format!(
                    "{} waits: write until when, as in +0...0.2 {0}(…), or make the socket \
                     non-blocking",
                    call.name
                );
                Err(self.differs(event, message, None))
            }
            Return::Wait => {
                self.pending = Some(pending);
                Ok(())
            }
            answer => self.returned(&pending, answer),
        }
    }

    /// Checks whether the waiting call can return.
    pub fn retry_pending(&mut self) -> Result<(), EarlyEnd> {
        let Some(mut pending) = self.pending.take() else { return Ok(()) };
        match self.attempt(&mut pending)? {
            Return::Wait => {
                self.pending = Some(pending);
                Ok(())
            }
            answer => self.returned(&pending, answer),
        }
    }

    /// Requires the waiting call to return now, or at the time that the script states.
    pub fn finish_pending(&mut self, line: u32) -> Result<(), EarlyEnd> {
        let Some(pending) = &self.pending else { return Ok(()) };
        let (event, due) = (pending.event, pending.due);
        let end = due.base_time + pending.call.latest_return.unwrap_or_default() + due.tolerance;
        while self.pending.is_some() && self.next_wake() <= end {
            self.wake()?;
        }
        if self.pending.is_none() {
            return Ok(());
        }
        let message = format!("this call has not returned when line {line} is reached");
        Err(self.differs(event, message, None))
    }

    fn attempt(&mut self, pending: &mut Pending<'a>) -> Result<Return, EarlyEnd> {
        let line = pending.event.line;
        let refuse = |message: String| EarlyEnd::Refused(Refusal::new(line, message));
        let returns = pending.call.expected.value;
        let event = pending.event;
        match &pending.call.operation {
            Operation::Poll { fds, .. } => self.poll(event, fds, pending.deadline),
            Operation::EpollWait { epoll, expected, .. } => {
                self.epoll_wait(event, *epoll, *expected, pending.deadline)
            }
            Operation::ReadMessage(transfer, ancillary) => {
                let operation = &pending.call.operation;
                let answer = self.host.call(self.now, operation, returns).map_err(refuse)?;
                if let Return::Done(_) = answer {
                    self.check_in_queue(event, transfer.fd, ancillary)?;
                }
                Ok(answer)
            }
            Operation::ReadErrors(fd, ancillary) => self.read_errors(event, *fd, ancillary),
            Operation::GetOption(fd, expected) => {
                let found = self.host.option(*fd, expected).map_err(refuse)?;
                if found != *expected {
                    let message = format!("it is {found:?}");
                    return Err(self.differs(event, message, None));
                }
                Ok(Return::Done(0))
            }
            Operation::InQueue(fd, expected) | Operation::OutQueue(fd, expected) => {
                let Some(end) = self.host.end_for_fd(*fd).map_err(refuse)? else {
                    return Ok(Return::Error("EINVAL"));
                };
                let connection = &self.host.end(end).connection;
                let found = match &pending.call.operation {
                    Operation::InQueue(..) => connection.readable(),
                    _ => connection.unacknowledged(),
                };
                if found as i64 != *expected {
                    return Err(self.differs(event, format!("it is {found}"), None));
                }
                Ok(Return::Done(0))
            }
            Operation::Write(transfer) => {
                self.host.continue_write(self.now, transfer, &mut pending.written).map_err(refuse)
            }
            operation => self.host.call(self.now, operation, returns).map_err(refuse),
        }
    }

    /// Result of `poll`: the number of ready descriptors, whose events must be the expected ones.
    /// Waits until `deadline` while none is ready.
    fn poll(&self, event: &Event, fds: &[PollFd], deadline: Time) -> Result<Return, EarlyEnd> {
        let refuse = |message: String| EarlyEnd::Refused(Refusal::new(event.line, message));
        let mut ready = Vec::new();
        for fd in fds {
            let found = self.host.ready_events(fd.fd).map_err(refuse)?;
            ready.push(found & (fd.events | ready::ERR | ready::HUP));
        }
        let count = ready.iter().filter(|bits| **bits != 0).count();
        if count == 0 && self.now < deadline {
            return Ok(Return::Wait);
        }
        for (fd, found) in fds.iter().zip(ready) {
            if fd.revents != found {
                let message = format!("poll finds {}", ready::describe(found));
                return Err(self.differs(event, message, None));
            }
        }
        Ok(Return::Done(count as i64))
    }

    /// `epoll_wait`: requires the expected descriptor with its bits, or no event.
    fn epoll_wait(
        &mut self,
        event: &Event,
        epoll: i32,
        expected: Option<(i32, u32)>,
        deadline: Time,
    ) -> Result<Return, EarlyEnd> {
        let refuse = |message: String| EarlyEnd::Refused(Refusal::new(event.line, message));
        let found = self.host.epoll_ready(epoll).map_err(refuse)?;
        if found.is_none() && self.now < deadline {
            return Ok(Return::Wait);
        }
        if found != expected {
            let actual = found.map_or("nothing".to_owned(), |(fd, bits)| {
                format!("descriptor {fd}: {}", ready::describe(bits))
            });
            return Err(self.differs(event, format!("epoll_wait finds {actual}"), None));
        }
        Ok(Return::Done(found.is_some().into()))
    }

    /// Checks `TCP_INQ` after a read: the number of bytes left to read, or 1 if only the end of the
    /// stream is left.
    fn check_in_queue(
        &self,
        event: &Event,
        fd: i32,
        ancillary: &[Ancillary],
    ) -> Result<(), EarlyEnd> {
        let refuse = |message: String| EarlyEnd::Refused(Refusal::new(event.line, message));
        let Some(end) = self.host.end_for_fd(fd).map_err(refuse)? else { return Ok(()) };
        let target = self.host.end(end);
        let found = match target.connection.readable() {
            0 => i64::from(target.peer_closed),
            bytes => bytes as i64,
        };
        for expected in ancillary {
            if !matches!(expected, Ancillary::InQueue(bytes) if *bytes == found) {
                let message = format!("the control message says that {found} bytes are left");
                return Err(self.differs(event, message, None));
            }
        }
        Ok(())
    }

    /// Reads the next timestamp of a socket's error queue.
    fn read_errors(
        &mut self,
        event: &Event,
        fd: i32,
        ancillary: &[Ancillary],
    ) -> Result<Return, EarlyEnd> {
        let refuse = |message: String| EarlyEnd::Refused(Refusal::new(event.line, message));
        let Some(found) = self.host.next_timestamp(fd).map_err(refuse)? else {
            return Ok(Return::Error("EAGAIN"));
        };
        let tolerance = self.setup.tolerance;
        let holds = |expected: &Ancillary| match expected {
            Ancillary::Time(time) => {
                let expected = Time::ZERO + *time;
                expected.since(found.at).max(found.at.since(expected)) <= tolerance
            }
            Ancillary::TimestampEvent(what, key) => {
                (*what, *key) == (found.event, found.key as i64)
            }
            Ancillary::InQueue(_) => false,
        };
        if !ancillary.iter().all(holds) {
            let message = format!("it is {:?} of byte {}", found.event, found.key);
            let actual = Some(show::format_time(found.at));
            return Err(self.differs(event, message, actual));
        }
        Ok(Return::Done(0))
    }

    fn returned(&self, pending: &Pending<'a>, answer: Return) -> Result<(), EarlyEnd> {
        let Pending { event, call, due, .. } = pending;
        let expected = &call.expected;
        let holds = match answer {
            Return::Done(value) => expected.value.is_none_or(|wanted| wanted == value),
            Return::Error(errno) => expected.errno.as_deref().is_some_and(|wanted| {
                wanted == errno || (wanted == "EWOULDBLOCK" && errno == "EAGAIN")
            }),
            Return::Wait => unreachable!("a call that waits has not returned"),
        };
        let actual = match answer {
            Return::Error(errno) => format!("-1 {errno}"),
            Return::Done(value) => value.to_string(),
            Return::Wait => String::new(),
        };
        if !holds {
            let message = format!("{} returned {actual}", call.name);
            return Err(self.differs(event, message, None));
        }
        let Some(end) = call.latest_return else { return Ok(()) };
        let end = TimeWindow { begin: due.base_time + end, end: due.base_time + end, ..*due };
        if end.contains(self.now) {
            return Ok(());
        }
        let message = format!("{} returned {actual} at {}", call.name, show::format_time(self.now));
        Err(self.differs(event, message, None))
    }
}
