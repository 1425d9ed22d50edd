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
    /// `write`, `send`, `sendto`.
    Write(Transfer),
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
}

/// Bytes between the application and a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Descriptor.
    pub fd: i32,
    /// How many at most.
    pub bytes: u64,
    /// `MSG_DONTWAIT`.
    pub nonblocking: bool,
    /// `MSG_PEEK`: leave them where they are.
    pub peek: bool,
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
