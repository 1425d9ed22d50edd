//! A script, read and checked: what is to happen, and when.

use crate::code::Statement;
use retx_units::{Duration, Time};
use retx_wire::{Ecn, Flags, SackBlocks, Timestamps};

/// A whole script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// `--name=value` at its head.
    pub flags: Vec<Flag>,
    /// Commands that configure: the first thing after the flags.
    pub commands: Vec<Command>,
    /// What happens, in order.
    pub events: Vec<Event>,
}

/// `--name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Its line.
    pub line: u32,
    /// Without the dashes.
    pub name: String,
    /// What follows the first `=`.
    pub value: Option<String>,
}

/// A command line in back quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its line.
    pub line: u32,
    /// As written.
    pub text: String,
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its line.
    pub line: u32,
    /// When.
    pub when: When,
    /// What.
    pub action: Action,
}

/// When an event happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// `0.25`: so long after the beginning.
    At(Time),
    /// `+.1`: so long after the event before.
    After(Duration),
    /// `*`: whenever it does.
    Any,
    /// `0.2~0.3`.
    Between(Time, Time),
    /// `+.2~+.3`.
    AfterBetween(Duration, Duration),
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A packet arrives.
    Inbound(Packet),
    /// The endpoint must send a packet.
    Outbound(Packet),
    /// The application calls.
    Call(Box<Call>),
    /// A command in the middle of a script.
    Command(String),
    /// Assertions.
    Code(Vec<Statement>),
}

/// A packet as a script describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Control bits.
    pub flags: Flags,
    /// First sequence number, relative unless the packet is a SYN.
    pub seq: u32,
    /// Payload.
    pub payload_bytes: u32,
    /// Acknowledgment number; 0 where none is written.
    pub ack: u32,
    /// Window field, if it is written.
    pub window: Option<u16>,
    /// Options, or `<...>`: any.
    pub options: OptionList,
    /// The ECN field, if it is written.
    pub ecn: Option<EcnMark>,
}

/// What a script says of the ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMark {
    /// This one.
    Exactly(Ecn),
    /// `ect01`: either of the two.
    Capable,
}

/// The options of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionList {
    /// These, in this order and with this padding.
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
    /// An MD5 signature (RFC 2385), for which no socket here has a key.
    Md5,
}

/// A call of the application with what it must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// As written, for messages.
    pub name: &'static str,
    /// What it does.
    pub what: Operation,
    /// When it returns, if it may wait: `+0...0.2`. Relative to what `When` is relative to.
    pub end: Option<Duration>,
    /// What it returns.
    pub expected: Expected,
}

/// What a call must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The value; `None` for `...`.
    pub value: Option<i64>,
    /// The error's name, with a value of −1.
    pub errno: Option<String>,
}

/// A system call with its arguments. Descriptors are the script's own numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// `socket`.
    Socket {
        /// `SOCK_NONBLOCK` was given.
        nonblocking: bool,
    },
    /// `bind`.
    Bind(i32),
    /// `listen`.
    Listen(i32),
    /// `accept`.
    Accept(i32),
    /// `connect`.
    Connect(i32),
    /// `read`, `recv`, `recvfrom`.
    Read(Transfer),
    /// `recvmsg`: the bytes, and what must come beside them.
    ReadMessage(Transfer, Vec<Ancillary>),
    /// `recvmsg(…, MSG_ERRQUEUE)`: a transmit timestamp.
    ReadErrors(i32, Vec<Ancillary>),
    /// `write`, `send`, `sendto`, `sendmsg`, `sendfile`.
    Write(Transfer),
    /// A transfer of so many bytes with a buffer at address 0.
    BadBuffer(i32, u64),
    /// `open`: a file that is as long as it has to be.
    Open,
    /// `shutdown`.
    Shutdown {
        /// Descriptor.
        fd: i32,
        /// No more reading.
        read: bool,
        /// No more writing.
        write: bool,
    },
    /// `close`.
    Close(i32),
    /// `setsockopt`.
    SetOption(i32, SocketOption),
    /// `getsockopt`: the option with the value that it must have.
    GetOption(i32, SocketOption),
    /// `fcntl(fd, F_GETFL)`.
    GetFlags(i32),
    /// `fcntl(fd, F_SETFL, …)`: whether `O_NONBLOCK` is among them.
    SetFlags(i32, bool),
    /// `ioctl(fd, SIOCINQ, [n])`: bytes to be read.
    InQueue(i32, i64),
    /// `ioctl(fd, SIOCOUTQ, [n])`: bytes not yet acknowledged.
    OutQueue(i32, i64),
    /// `poll`.
    Poll {
        /// What is asked and must be answered.
        fds: Vec<PollFd>,
        /// How long it may wait; `None` for ever.
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
        /// The descriptor that is watched.
        fd: i32,
        /// Bits of [`crate::host::ready`], and how they are watched.
        events: u32,
    },
    /// `epoll_wait` for one event at a time.
    EpollWait {
        /// Descriptor of the epoll instance.
        epoll: i32,
        /// The descriptor that must be reported, with its bits; `None` where none must be.
        expected: Option<(i32, u32)>,
        /// How long it may wait; `None` for ever.
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

/// A control message that `recvmsg` finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ancillary {
    /// `TCP_CM_INQ`: bytes that can still be read, and one for the end of the stream.
    InQueue(i64),
    /// `SCM_TIMESTAMPING`: when it happened.
    Time(Duration),
    /// Event of the timestamp, and the number of the last byte of the write.
    Stamp(Stamp, i64),
}

/// Kind of a transmit timestamp (`SCM_TSTAMP_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// The segment enters the queue of the device.
    Scheduled,
    /// The segment leaves.
    Sent,
    /// Its data are acknowledged.
    Acknowledged,
}

/// Bytes between the application and a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Descriptor.
    pub fd: i32,
    /// How many at most.
    pub bytes: u64,
    /// `MSG_…`.
    pub flags: MessageFlags,
}

/// The flags of a transfer (`MSG_…`) that are played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageFlags(pub u8);

impl MessageFlags {
    /// `MSG_DONTWAIT`.
    pub const DONT_WAIT: Self = Self(1);
    /// `MSG_PEEK`: the bytes stay where they are.
    pub const PEEK: Self = Self(2);
    /// `MSG_MORE`: more will be written soon.
    pub const MORE: Self = Self(4);
    /// `MSG_EOR`: no later byte shares a segment with these.
    pub const END_OF_RECORD: Self = Self(8);

    /// True when every bit of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The bits that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// A socket option and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketOption {
    /// `SO_REUSEADDR`, `SO_REUSEPORT`: no effect where there are no addresses.
    Reuse(i64),
    /// `SO_SNDBUF`.
    SendBuffer(i64),
    /// `SO_RCVBUF`.
    ReceiveBuffer(i64),
    /// `SO_LINGER`: the time, when it is on.
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
    /// `SO_TIMESTAMPING`: whether transmissions of the last byte of each write are reported.
    Timestamping(bool),
    /// An option without effect on what a connection sends, such as `IP_TOS`.
    Ignored,
}

/// An entry of `poll`; the masks are `crate::host::ready` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollFd {
    /// Descriptor.
    pub fd: i32,
    /// What is asked for.
    pub events: u32,
    /// What must be found.
    pub revents: u32,
}
