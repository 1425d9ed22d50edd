//! Conversion of call arguments to the expected types.

use super::value::Value;
use crate::fault::Refusal;
use crate::host::ready;
use crate::script::{Operation, PollFd, SocketOption};
use retx_units::Duration;

/// Arguments of one call.
pub struct Arguments {
    /// Name of the call.
    pub name: &'static str,
    /// Line in the script.
    pub line: u32,
    /// Arguments as written.
    pub values: Vec<Value>,
}

/// Levels of socket options.
const LEVELS: [&str; 4] = ["SOL_SOCKET", "SOL_TCP", "IPPROTO_TCP", "SOL_IP"];

/// Options that affect neither the timing of a connection nor its segmentation.
const WITHOUT_EFFECT: [&str; 6] =
    ["IP_TOS", "IP_MTU_DISCOVER", "IP_FREEBIND", "SO_ZEROCOPY", "SO_PRIORITY", "SO_MARK"];

/// Flags of `SO_TIMESTAMPING`, which are supported only together. They request all kinds of
/// transmit timestamps, each numbered by the last byte of a write.
const STAMPS: [&str; 5] = [
    "SOF_TIMESTAMPING_TX_SCHED",
    "SOF_TIMESTAMPING_TX_SOFTWARE",
    "SOF_TIMESTAMPING_TX_ACK",
    "SOF_TIMESTAMPING_SOFTWARE",
    "SOF_TIMESTAMPING_OPT_ID",
];

impl Arguments {
    /// Creates a refusal of this call.
    pub fn refusal(&self, message: &str) -> Refusal {
        Refusal::new(self.line, format!("{}: {message}", self.name))
    }

    /// Checks the number of arguments.
    pub fn require_count(&self, count: usize) -> Result<(), Refusal> {
        if self.values.len() == count {
            return Ok(());
        }
        Err(self.refusal(&format!("takes {count} arguments, not {}", self.values.len())))
    }

    fn at(&self, index: usize) -> Result<&Value, Refusal> {
        self.values.get(index).ok_or_else(|| self.refusal("lacks arguments"))
    }

    /// Argument as a number.
    pub fn integer(&self, index: usize) -> Result<i64, Refusal> {
        match self.at(index)? {
            Value::Number(number) => Ok(*number),
            _ => Err(self.refusal(&format!("argument {} is not a number", index + 1))),
        }
    }

    /// True if the argument is this number.
    pub fn is_integer(&self, index: usize, number: i64) -> bool {
        self.values.get(index) == Some(&Value::Number(number))
    }

    /// True if the argument is `...`.
    pub fn is_any(&self, index: usize) -> bool {
        self.values.get(index) == Some(&Value::Any)
    }

    /// True if the argument is `NULL`.
    pub fn is_null(&self, index: usize) -> bool {
        matches!(self.values.get(index), Some(Value::Word(word)) if word == "NULL")
    }

    /// First argument as a descriptor.
    pub fn first_fd(&self) -> Result<i32, Refusal> {
        self.descriptor(self.integer(0)?)
    }

    /// Converts a number to a descriptor; refuses a number that cannot be a descriptor.
    pub fn descriptor(&self, number: i64) -> Result<i32, Refusal> {
        descriptor(number).ok_or_else(|| self.refusal(&format!("{number} is no descriptor")))
    }

    /// Checks that the call has `count` arguments, and returns the first one as a descriptor.
    pub fn only_fd(&self, count: usize) -> Result<i32, Refusal> {
        self.require_count(count)?;
        self.first_fd()
    }

    /// Argument as names joined by `|`.
    pub fn names(&self, index: usize) -> Result<Vec<&str>, Refusal> {
        words(self.at(index)?)
            .ok_or_else(|| self.refusal(&format!("argument {} is not a name", index + 1)))
    }

    /// Argument as a number in brackets.
    pub fn bracketed_number(&self, index: usize) -> Result<i64, Refusal> {
        match self.at(index)? {
            Value::List(values) => match values[..] {
                [Value::Number(number)] => Ok(number),
                _ => Err(self.refusal("expected one number in brackets: [1]")),
            },
            _ => Err(self.refusal("expected a number in brackets: [1]")),
        }
    }

    /// Parses `setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4)`, or `getsockopt` if `asked`.
    pub fn socket_option(&self, asked: bool) -> Result<Operation, Refusal> {
        let fd = self.only_fd(5)?;
        let level = self.names(1)?;
        if level.len() != 1 || !LEVELS.contains(&level[0]) {
            return Err(self.refusal(&format!("the level {} is not supported", level.join("|"))));
        }
        let name = self.names(2)?;
        let option = match name[..] {
            ["SO_REUSEADDR" | "SO_REUSEPORT"] => SocketOption::Reuse(self.bracketed_number(3)?),
            ["SO_SNDBUF"] => SocketOption::SendBuffer(self.bracketed_number(3)?),
            ["SO_RCVBUF"] => SocketOption::ReceiveBuffer(self.bracketed_number(3)?),
            ["SO_LINGER"] if !asked => SocketOption::Linger(self.linger()?),
            ["SO_ERROR"] if asked => SocketOption::Error(self.errno()?),
            ["TCP_NODELAY"] => SocketOption::NoDelay(self.bracketed_number(3)?),
            ["TCP_MAXSEG"] => SocketOption::MaxSegment(self.bracketed_number(3)?),
            ["TCP_CONGESTION"] if !asked => SocketOption::Congestion(self.text()?),
            ["TCP_CORK"] => SocketOption::Cork(self.bracketed_number(3)?),
            ["TCP_USER_TIMEOUT"] => SocketOption::UserTimeout(self.bracketed_number(3)?),
            ["TCP_NOTSENT_LOWAT"] => SocketOption::UnsentLowWater(self.bracketed_number(3)?),
            ["TCP_INQ"] => SocketOption::TellInQueue(self.bracketed_number(3)?),
            ["SO_RCVLOWAT"] => SocketOption::ReadLowWater(self.bracketed_number(3)?),
            ["SO_KEEPALIVE"] => SocketOption::KeepAlive(self.bracketed_number(3)?),
            ["TCP_KEEPIDLE"] => SocketOption::KeepIdle(self.bracketed_number(3)?),
            ["TCP_KEEPINTVL"] => SocketOption::KeepInterval(self.bracketed_number(3)?),
            ["TCP_KEEPCNT"] => SocketOption::KeepCount(self.bracketed_number(3)?),
            ["SO_TIMESTAMPING"] if !asked => SocketOption::Timestamping(self.stamps()?),
            [name] if !asked && WITHOUT_EFFECT.contains(&name) => SocketOption::Ignored,
            _ => {
                let message = format!("the option {} is not supported", name.join("|"));
                return Err(self.refusal(&message));
            }
        };
        Ok(if asked { Operation::GetOption(fd, option) } else { Operation::SetOption(fd, option) })
    }

    /// Value of `SO_TIMESTAMPING`: true for `[SOF_TIMESTAMPING_TX_SCHED | …]` with all of
    /// [`STAMPS`], false for `[0]`.
    fn stamps(&self) -> Result<bool, Refusal> {
        let refuse = || self.refusal(&format!("expected [0] or [{}]", STAMPS.join(" | ")));
        let Value::List(values) = self.at(3)? else { return Err(refuse()) };
        match &values[..] {
            [Value::Number(0)] => Ok(false),
            [mask] => {
                let given = words(mask).ok_or_else(refuse)?;
                let all = STAMPS.iter().all(|stamp| given.contains(stamp));
                if all && given.len() == STAMPS.len() { Ok(true) } else { Err(refuse()) }
            }
            _ => Err(refuse()),
        }
    }

    /// Value of `SO_ERROR`, such as `[0]` or `[ECONNREFUSED]`.
    fn errno(&self) -> Result<String, Refusal> {
        match self.at(3)? {
            Value::List(values) => match &values[..] {
                [Value::Number(0)] => Ok(String::new()),
                [Value::Word(word)] => Ok(word.clone()),
                _ => Err(self.refusal("expected [0] or the name of an error: [ECONNREFUSED]")),
            },
            _ => Err(self.refusal("expected [0] or the name of an error: [ECONNREFUSED]")),
        }
    }

    fn text(&self) -> Result<String, Refusal> {
        let inner = match self.at(3)? {
            Value::List(values) if values.len() == 1 => &values[0],
            other => other,
        };
        match inner {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(self.refusal("expected a text: [\"reno\"]")),
        }
    }

    /// Value of `SO_LINGER`, such as `{onoff=1, linger=0}`; `None` if `onoff` is 0.
    fn linger(&self) -> Result<Option<i64>, Refusal> {
        let refuse = || self.refusal("expected {onoff=1, linger=0}");
        let Value::Record(fields) = self.at(3)? else { return Err(refuse()) };
        match &fields[..] {
            [(on, Value::Number(is_on)), (linger, Value::Number(seconds))]
                if on == "onoff" && linger == "linger" =>
            {
                Ok((*is_on != 0).then_some(*seconds).map(|it| it.clamp(0, i64::from(i32::MAX))))
            }
            _ => Err(refuse()),
        }
    }

    /// Parses `poll([{fd=3, events=POLLIN, revents=POLLIN}], 1, 0)`.
    pub fn poll(&self) -> Result<Operation, Refusal> {
        self.require_count(3)?;
        let Value::List(entries) = self.at(0)? else {
            return Err(self.refusal("expected a list of {fd=…, events=…, revents=…}"));
        };
        let fds: Vec<PollFd> =
            entries.iter().map(|it| self.poll_fd(it)).collect::<Result<_, _>>()?;
        if self.integer(1)? != fds.len() as i64 {
            return Err(self.refusal(&format!("the second argument is not {}", fds.len())));
        }
        let timeout = self.timeout_ms(2)?;
        Ok(Operation::Poll { fds, timeout })
    }

    /// Timeout in milliseconds; `None` for a negative one, which means no limit.
    pub fn timeout_ms(&self, index: usize) -> Result<Option<Duration>, Refusal> {
        let milliseconds = self.integer(index)?;
        if milliseconds > i64::from(i32::MAX) {
            return Err(self.refusal("the timeout is too long"));
        }
        Ok(u64::try_from(milliseconds).ok().map(Duration::from_millis))
    }

    fn poll_fd(&self, entry: &Value) -> Result<PollFd, Refusal> {
        let refuse = || self.refusal("expected {fd=3, events=POLLIN, revents=POLLIN}");
        let Value::Record(fields) = entry else { return Err(refuse()) };
        let mut poll = PollFd { fd: -1, events: 0, revents: 0 };
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("fd", Value::Number(number)) => {
                    poll.fd = descriptor(*number).ok_or_else(refuse)?;
                }
                ("events", mask) => poll.events = self.event_mask(mask)?,
                ("revents", mask) => poll.revents = self.event_mask(mask)?,
                _ => return Err(refuse()),
            }
        }
        if poll.fd < 0 { Err(refuse()) } else { Ok(poll) }
    }

    /// Mask of events, such as `POLLIN|POLLOUT` or `EPOLLIN|EPOLLET`.
    pub fn event_mask(&self, value: &Value) -> Result<u32, Refusal> {
        if *value == Value::Number(0) {
            return Ok(0);
        }
        let words = words(value).ok_or_else(|| self.refusal("expected names such as POLLIN"))?;
        words.iter().try_fold(0, |mask, word| {
            ready::bit_by_name(word)
                .map(|bit| mask | bit)
                .ok_or_else(|| self.refusal(&format!("{word} is not supported")))
        })
    }
}

fn descriptor(number: i64) -> Option<i32> {
    i32::try_from(number).ok().filter(|number| *number >= 0)
}

fn words(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::Word(word) => Some(vec![word]),
        Value::Or(values) => values
            .iter()
            .map(|value| match value {
                Value::Word(word) => Some(word.as_str()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}
