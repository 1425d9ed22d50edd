//! Parsed scripts: events with their times.

use crate::code::Statement;
use retx_units::{Duration, Time};
use retx_wire::{Ecn, Flags, SackBlocks, Timestamps};

/// Parsed script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Flags (`--name=value`) at the head of the script.
    pub flags: Vec<Flag>,
    /// Commands directly after the flags, which configure the endpoint.
    pub commands: Vec<Command>,
    /// Events in order.
    pub events: Vec<Event>,
}

/// Flag, `--name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Line in the script.
    pub line: u32,
    /// Name without the dashes.
    pub name: String,
    /// Text after the first `=`; `None` without `=`.
    pub value: Option<String>,
}

/// A command line in back quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Line in the script.
    pub line: u32,
    /// Command as written.
    pub text: String,
}

/// Event with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Line in the script.
    pub line: u32,
    /// Time of the event.
    pub when: EventTime,
    /// Action of the event.
    pub action: Action,
}

/// Time of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTime {
    /// `0.25`: time since the start.
    At(Time),
    /// `+.1`: time since the previous event.
    After(Duration),
    /// `*`: any time.
    Any,
    /// `0.2~0.3`: a range of times since the start.
    Between(Time, Time),
    /// `+.2~+.3`: a range of times since the previous event.
    AfterBetween(Duration, Duration),
}

/// Kinds of events.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A packet arrives.
    Inbound(Packet),
    /// The endpoint must send a packet.
    Outbound(Packet),
    /// The application makes a call.
    Call(Box<Call>),
    /// A command in the middle of a script.
    Command(String),
    /// A code block with assertions.
    Code(Vec<Statement>),
}

/// Packet as described in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Control bits.
    pub flags: Flags,
    /// First sequence number. It is relative to the initial one, except in a SYN.
    pub seq: u32,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Acknowledgment number; 0 if none is written.
    pub ack: u32,
    /// Window field, if written.
    pub window: Option<u16>,
    /// Options, or `<...>` for any.
    pub options: OptionList,
    /// ECN field, if written.
    pub ecn: Option<EcnMark>,
}

/// Expected ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMark {
    /// Exactly this value.
    Exactly(Ecn),
    /// `ect01`: ECT(0) or ECT(1).
    Capable,
}

/// The options of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionList {
    /// Exactly these options, in this order and with this padding.
    Exactly(Vec<TcpOption>),
    /// `<...>`.
    Any,
}

/// A TCP option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpOption {
    /// End of the list.
    Eol,
    /// Padding.
    Nop,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks.
    Sack(SackBlocks),
    /// Timestamps.
    Timestamps(Timestamps),
    /// MD5 signature (RFC 2385); no socket has a key for it.
    Md5,
}

/// Call of the application with its expected result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Name as written, for messages.
    pub name: &'static str,
    /// Operation with its arguments.
    pub operation: Operation,
    /// Latest time at which the call returns, if it may wait: `+0...0.2`. A relative time refers to
    /// the previous event, as in [`EventTime`].
    pub latest_return: Option<Duration>,
    /// Expected result.
    pub expected: Expected,
}

/// Expected result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Value; `None` for `...`.
    pub value: Option<i64>,
    /// Name of the error if the value is −1.
    pub errno: Option<String>,
}

/// System call with its arguments. Descriptors are the script's own numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// `socket`.
    Socket {
        /// True if `SOCK_NONBLOCK` is set.
        nonblocking: bool,
    },
    /// `bind` on this descriptor.
    Bind(i32),
    /// `listen` on this descriptor.
    Listen(i32),
    /// `accept` on this descriptor.
    Accept(i32),
    /// `connect` on this descriptor.
    Connect(i32),
    /// `read`, `recv`, `recvfrom`.
    Read(Transfer),
    /// `recvmsg`: the bytes, and the expected control messages.
    ReadMessage(Transfer, Vec<Ancillary>),
    /// `recvmsg(…, MSG_ERRQUEUE)`: a transmit timestamp.
    ReadErrors(i32, Vec<Ancillary>),
    /// `write`, `send`, `sendto`, `sendmsg`, `sendfile`.
    Write(Transfer),
    /// A transfer of this many bytes, whose buffer is at the invalid address 0.
    BadBuffer(i32, u64),
    /// `open`: a file that is as long as needed.
    Open,
    /// `shutdown`.
    Shutdown {
        /// Descriptor.
        fd: i32,
        /// True to end reading.
        read: bool,
        /// True to end writing.
        write: bool,
    },
    /// `close` of this descriptor.
    Close(i32),
    /// `setsockopt`.
    SetOption(i32, SocketOption),
    /// `getsockopt`: the option with its expected value.
    GetOption(i32, SocketOption),
    /// `fcntl(fd, F_GETFL)`.
    GetFlags(i32),
    /// `fcntl(fd, F_SETFL, …)`; true if `O_NONBLOCK` is among the flags.
    SetFlags(i32, bool),
    /// `ioctl(fd, SIOCINQ, [n])`: bytes to be read.
    InQueue(i32, i64),
    /// `ioctl(fd, SIOCOUTQ, [n])`: bytes not yet acknowledged.
    OutQueue(i32, i64),
    /// `poll`.
    Poll {
        /// Requested and expected events.
        fds: Vec<PollFd>,
        /// Longest time to wait; `None` if unlimited.
        timeout: Option<Duration>,
    },
    /// `epoll_create`.
    EpollCreate,
    /// `epoll_ctl`.
    EpollControl {
        /// Descriptor of the epoll instance.
        epoll: i32,
        /// Operation on the entry.
        what: EpollChange,
        /// Watched descriptor.
        fd: i32,
        /// Bits of [`crate::host::ready`], including `EDGE` and `ONE_SHOT`.
        events: u32,
    },
    /// `epoll_wait` for one event at a time.
    EpollWait {
        /// Descriptor of the epoll instance.
        epoll: i32,
        /// Expected descriptor with its bits; `None` if no event is expected.
        expected: Option<(i32, u32)>,
        /// Longest time to wait; `None` if unlimited.
        timeout: Option<Duration>,
    },
}

/// The three operations of `epoll_ctl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum EpollChange {
    Add,
    Modify,
    Delete,
}

/// Control message received by `recvmsg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ancillary {
    /// `TCP_CM_INQ`: number of bytes left to read, plus one for the end of the stream.
    InQueue(i64),
    /// `SCM_TIMESTAMPING`: time of the event.
    Time(Duration),
    /// Event of the timestamp, and the number of the last byte of the write.
    TimestampEvent(TimestampEvent, i64),
}

/// Kind of a transmit timestamp (`SCM_TSTAMP_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampEvent {
    /// The segment enters the queue of the device.
    Scheduled,
    /// The segment leaves.
    Sent,
    /// All data of the write are acknowledged.
    Acknowledged,
}

/// Transfer of bytes between the application and a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Descriptor.
    pub fd: i32,
    /// Largest number of bytes.
    pub bytes: u64,
    /// `MSG_…`.
    pub flags: MessageFlags,
}

/// Supported flags of a transfer (`MSG_…`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageFlags(pub u8);

impl MessageFlags {
    /// `MSG_DONTWAIT`.
    pub const DONT_WAIT: Self = Self(1);
    /// `MSG_PEEK`: the bytes remain to be read.
    pub const PEEK: Self = Self(2);
    /// `MSG_MORE`: more data will be written soon.
    pub const MORE: Self = Self(4);
    /// `MSG_EOR`: no later byte shares a segment with these.
    pub const END_OF_RECORD: Self = Self(8);

    /// True if every bit of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Union of both sets of bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Bits that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Socket option and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketOption {
    /// `SO_REUSEADDR`, `SO_REUSEPORT`: without effect, because there are no addresses.
    Reuse(i64),
    /// `SO_SNDBUF`.
    SendBuffer(i64),
    /// `SO_RCVBUF`.
    ReceiveBuffer(i64),
    /// `SO_LINGER`: the time, if enabled.
    Linger(Option<i64>),
    /// `SO_ERROR`.
    Error(String),
    /// `TCP_NODELAY`.
    NoDelay(i64),
    /// `TCP_MAXSEG`.
    MaxSegment(i64),
    /// `TCP_CONGESTION`.
    Congestion(String),
    /// `TCP_CORK`.
    Cork(i64),
    /// `TCP_USER_TIMEOUT`, in milliseconds.
    UserTimeout(i64),
    /// `TCP_NOTSENT_LOWAT`.
    UnsentLowWater(i64),
    /// `TCP_INQ`.
    TellInQueue(i64),
    /// `SO_RCVLOWAT`.
    ReadLowWater(i64),
    /// `SO_KEEPALIVE`.
    KeepAlive(i64),
    /// `TCP_KEEPIDLE`, in seconds.
    KeepIdle(i64),
    /// `TCP_KEEPINTVL`, in seconds.
    KeepInterval(i64),
    /// `TCP_KEEPCNT`.
    KeepCount(i64),
    /// `SO_TIMESTAMPING`; true if the transmission of the last byte of each write is reported.
    Timestamping(bool),
    /// An option without effect on what a connection sends, such as `IP_TOS`.
    Ignored,
}

/// Entry of `poll`; the masks are bits of `crate::host::ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollFd {
    /// Descriptor.
    pub fd: i32,
    /// Requested events.
    pub events: u32,
    /// Expected events.
    pub revents: u32,
}
