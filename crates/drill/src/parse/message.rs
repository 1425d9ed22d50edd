//! Arguments of `sendmsg`, `recvmsg` and the epoll calls.

use super::arguments::Arguments;
use super::value::Value;
use crate::fault::Refusal;
use crate::script::{Ancillary, EpollChange, MessageFlags, Operation, TimestampEvent, Transfer};
use retx_units::Duration;

/// A message header as written: `{msg_name(...)=..., msg_iov(1)=[{..., 40}], msg_flags=0}`.
struct Message {
    bytes: u64,
    ancillary: Vec<Ancillary>,
}

const SHAPE: &str =
    "expected {msg_name(...)=..., msg_iov(1)=[{..., 40}], msg_flags=0, msg_control=[...]}";

impl Arguments {
    /// Parses `sendmsg(4, {…}, MSG_MORE)`.
    pub fn send_message(&self) -> Result<Operation, Refusal> {
        let fd = self.only_fd(3)?;
        let Message { bytes, .. } = self.message()?;
        Ok(Operation::Write(Transfer { fd, bytes, flags: self.message_flags(2)?.0 }))
    }

    /// Parses `recvmsg(4, {…}, 0)`.
    pub fn receive_message(&self) -> Result<Operation, Refusal> {
        let fd = self.only_fd(3)?;
        let Message { bytes, ancillary } = self.message()?;
        let (flags, from_errors) = self.message_flags(2)?;
        if from_errors {
            return Ok(Operation::ReadErrors(fd, ancillary));
        }
        Ok(Operation::ReadMessage(Transfer { fd, bytes, flags }, ancillary))
    }

    /// Flags of a transfer, and true if `MSG_ERRQUEUE` is among them.
    pub fn message_flags(&self, index: usize) -> Result<(MessageFlags, bool), Refusal> {
        let (mut flags, mut from_errors) = (MessageFlags::default(), false);
        if self.is_integer(index, 0) {
            return Ok((flags, from_errors));
        }
        for word in self.names(index)? {
            flags = flags.with(match word {
                "MSG_DONTWAIT" => MessageFlags::DONT_WAIT,
                "MSG_PEEK" => MessageFlags::PEEK,
                "MSG_MORE" => MessageFlags::MORE,
                "MSG_EOR" => MessageFlags::END_OF_RECORD,
                // `MSG_ZEROCOPY` does not change any segment, so it is ignored; its notifications
                // are not supported.
                "MSG_NOSIGNAL" | "MSG_ZEROCOPY" => continue,
                "MSG_ERRQUEUE" => {
                    from_errors = true;
                    continue;
                }
                _ => return Err(self.refusal(&format!("the flag {word} is not supported"))),
            });
        }
        Ok((flags, from_errors))
    }

    fn message(&self) -> Result<Message, Refusal> {
        let Some(Value::Record(fields)) = self.values.get(1) else {
            return Err(self.refusal(SHAPE));
        };
        let mut message = Message { bytes: 0, ancillary: Vec::new() };
        for (name, value) in fields {
            match (name.as_str(), value) {
                // Addresses and returned flags are ignored.
                ("msg_name" | "msg_flags", _) => {}
                ("msg_iov", Value::List(parts)) => {
                    for part in parts {
                        message.bytes += self.part(part)?;
                    }
                }
                ("msg_control", Value::List(entries)) => {
                    message.ancillary =
                        entries.iter().map(|it| self.ancillary(it)).collect::<Result<_, _>>()?;
                }
                _ => return Err(self.refusal(SHAPE)),
            }
        }
        Ok(message)
    }

    /// Length of an element of `msg_iov`, such as `{..., 40}`.
    fn part(&self, part: &Value) -> Result<u64, Refusal> {
        let Value::Record(fields) = part else { return Err(self.refusal(SHAPE)) };
        match &fields[..] {
            [(_, Value::Any), (_, Value::Number(bytes))] => {
                u64::try_from(*bytes).map_err(|_| self.refusal("a length is not negative"))
            }
            _ => Err(self.refusal(SHAPE)),
        }
    }

    /// Control message, such as `{cmsg_level=…, cmsg_type=…, cmsg_data=…}`.
    fn ancillary(&self, entry: &Value) -> Result<Ancillary, Refusal> {
        let refuse = || self.refusal("of control messages TCP_CM_INQ and timestamps are played");
        let Value::Record(fields) = entry else { return Err(refuse()) };
        let kind = match field(fields, "cmsg_type") {
            Some(Value::Word(kind)) => kind.as_str(),
            _ => return Err(refuse()),
        };
        match (kind, field(fields, "cmsg_data")) {
            ("TCP_CM_INQ", Some(Value::Number(bytes))) => Ok(Ancillary::InQueue(*bytes)),
            ("SCM_TIMESTAMPING", Some(Value::Record(data))) => {
                let part = |name| match field(data, name) {
                    Some(Value::Number(number)) => u32::try_from(*number).ok().map(u64::from),
                    _ => None,
                };
                let (Some(seconds), Some(nanos)) = (part("scm_sec"), part("scm_nsec")) else {
                    return Err(refuse());
                };
                let time = Duration::from_secs(seconds) + Duration::from_nanos(nanos);
                Ok(Ancillary::Time(time))
            }
            // The test runner of Google's packetdrill defines the names that begin with `CMSG_`.
            ("IP_RECVERR" | "CMSG_TYPE_RECVERR", Some(Value::Record(data))) => {
                let stamp = match field(data, "ee_info") {
                    Some(Value::Word(word)) => match word.as_str() {
                        "SCM_TSTAMP_SCHED" => TimestampEvent::Scheduled,
                        "SCM_TSTAMP_SND" => TimestampEvent::Sent,
                        "SCM_TSTAMP_ACK" => TimestampEvent::Acknowledged,
                        _ => return Err(refuse()),
                    },
                    _ => return Err(refuse()),
                };
                match field(data, "ee_data") {
                    Some(Value::Number(key)) => Ok(Ancillary::TimestampEvent(stamp, *key)),
                    _ => Err(refuse()),
                }
            }
            _ => Err(refuse()),
        }
    }

    /// Parses `epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, fd=4})`.
    pub fn epoll_control(&self) -> Result<Operation, Refusal> {
        let epoll = self.only_fd(4)?;
        let what = match self.names(1)?[..] {
            ["EPOLL_CTL_ADD"] => EpollChange::Add,
            ["EPOLL_CTL_MOD"] => EpollChange::Modify,
            ["EPOLL_CTL_DEL"] => EpollChange::Delete,
            _ => return Err(self.refusal("expected EPOLL_CTL_ADD, EPOLL_CTL_MOD or EPOLL_CTL_DEL")),
        };
        let fd = self.descriptor(self.integer(2)?)?;
        let events = match self.values.get(3) {
            Some(Value::Record(fields)) => match field(fields, "events") {
                Some(mask) => self.event_mask(mask)?,
                None => 0,
            },
            _ => 0,
        };
        Ok(Operation::EpollControl { epoll, what, fd, events })
    }

    /// Parses `epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)`.
    pub fn epoll_wait(&self) -> Result<Operation, Refusal> {
        let epoll = self.only_fd(4)?;
        let Some(Value::Record(fields)) = self.values.get(1) else {
            return Err(self.refusal("expected {events=EPOLLIN, fd=4}"));
        };
        let events = match field(fields, "events") {
            Some(mask) => self.event_mask(mask)?,
            None => 0,
        };
        let expected = match field(fields, "fd") {
            Some(Value::Number(fd)) if events != 0 => Some((self.descriptor(*fd)?, events)),
            _ => None,
        };
        if !self.is_integer(2, 1) {
            return Err(self.refusal("one event at a time is played"));
        }
        let timeout = self.timeout_ms(3)?;
        Ok(Operation::EpollWait { epoll, expected, timeout })
    }
}

fn field<'a>(fields: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}
