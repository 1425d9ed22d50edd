//! What the emulator and its worker say to each other, over a Unix socket: length and JSON.
//!
//! The worker is a process of its own: it alone lives in namespaces, and all that lives there goes
//! when it goes. It hands the devices' descriptors to the emulator, which moves the packets.

mod passing;

pub use crate::orders::{Draws, ExchangeOrder, SourceOrder};
pub use passing::{
    receive, receive_descriptor, receive_sender, send, send_descriptor, send_sender,
};

use crate::clock::Clock;
use retx_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// How packets come from the hosts and go to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// A TUN device in each host.
    #[default]
    Tun,
    /// A veth pair for each host, whose outer end is read with the kernel's timestamps.
    Precise,
}

impl Backend {
    /// All of them.
    pub const NAMES: &'static [&'static str] = &["tun", "precise"];

    /// The one of that name.
    pub fn find(name: &str) -> Option<Self> {
        [Self::Tun, Self::Precise].into_iter().find(|backend| backend.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tun => "tun",
            Self::Precise => "precise",
        }
    }
}

/// What the worker is to set up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// How packets come and go.
    pub backend: Backend,
    /// The hosts.
    pub hosts: Vec<HostOrder>,
    /// The flows over TCP between them.
    pub flows: Vec<FlowOrder>,
    /// Where two of them are joined.
    pub proxies: Vec<ProxyOrder>,
    /// The flows of UDP.
    pub datagrams: Vec<DatagramOrder>,
    /// Programs to run.
    pub programs: Vec<Program>,
    /// The emulator's standard input follows, for the programs, after the way for senders' sockets.
    pub has_input: bool,
}

/// A host: a network namespace with one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostOrder {
    /// The node's name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Largest IP packet.
    pub mtu: u32,
    /// Values below `/proc/sys/net`.
    pub sysctls: BTreeMap<String, String>,
    /// Attributes of the route to the others, as `ip route` takes them.
    pub route: BTreeMap<String, String>,
    /// What a socket has that asks for none.
    pub congestion_control: Option<DefaultOrder>,
}

/// The congestion control of sockets that ask for none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultOrder {
    /// The kernel's name of it.
    pub name: String,
    /// All flows of the host have the same.
    pub is_of_all: bool,
    /// Programs of the user's run there, which are to have it.
    pub is_needed: bool,
}

/// A flow over TCP: what one program sends to another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowOrder {
    /// Indices of the hosts that send and receive the data.
    pub hosts: [usize; 2],
    /// The sender opens the connections.
    pub sender_opens: bool,
    /// The port at which the other end listens.
    pub port: u16,
    /// When the first connection is opened.
    #[serde(with = "crate::nanos")]
    pub start: Time,
    /// What is sent.
    pub files: FileOrder,
    /// What is set on the sockets that send and receive the data.
    pub sockets: [SocketOptions; 2],
}

/// A proxy between two flows, which are the legs of one way: it receives the first and sends the
/// second.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProxyOrder {
    /// Indices of the flows.
    pub legs: [usize; 2],
    /// The most bytes that it holds.
    pub buffer: u64,
}

/// A flow of UDP.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DatagramOrder {
    /// Indices of the hosts that send and receive.
    pub hosts: [usize; 2],
    /// The port at both ends.
    pub port: u16,
    /// What is sent.
    pub source: SourceOrder,
}

/// Files that a flow sends, each over a connection of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FileOrder {
    /// One without end.
    Endless,
    /// So many of the same size.
    Equal {
        /// How many.
        count: u32,
        /// Bytes of each.
        bytes: u64,
        /// From the end of one connection to the next, in nanoseconds.
        pause: u64,
    },
    /// One by one.
    Each {
        /// Bytes.
        bytes: Vec<u64>,
        /// From the end of one connection to the next, in nanoseconds.
        pause: u64,
    },
    /// Responses to requests.
    Exchanges(ExchangeOrder),
}

impl FileOrder {
    /// The size of a file by its number; `None` after the last.
    pub fn bytes(&self, number: u32) -> Option<u64> {
        match self {
            Self::Endless => (number == 0).then_some(u64::MAX),
            Self::Equal { count, bytes, .. } => (number < *count).then_some(*bytes),
            Self::Each { bytes, .. } => bytes.get(number as usize).copied(),
            // What a connection carries is not known before.
            Self::Exchanges(exchanges) if exchanges.each => {
                exchanges.count.is_none_or(|count| number < count).then_some(0)
            }
            Self::Exchanges(_) => (number == 0).then_some(0),
        }
    }

    /// False for data without end.
    pub const fn is_finite(&self) -> bool {
        match self {
            Self::Endless => false,
            Self::Equal { .. } | Self::Each { .. } => true,
            Self::Exchanges(exchanges) => exchanges.count.is_some(),
        }
    }

    /// From the end of one connection to the next.
    pub const fn pause(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(match self {
            Self::Endless | Self::Exchanges(_) => 0,
            Self::Equal { pause, .. } | Self::Each { pause, .. } => *pause,
        })
    }
}

/// What is set on a socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketOptions {
    /// `TCP_CONGESTION`.
    pub congestion_control: String,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// TCP paces by itself.
    pub pacing: bool,
    /// `SO_SNDBUF`, which the kernel doubles for its own needs.
    pub send_buffer: Option<usize>,
    /// `SO_RCVBUF`, likewise.
    pub receive_buffer: Option<usize>,
}

/// A program that the user wants to run in a host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    /// Index of the host.
    pub host: usize,
    /// What a shell is given; a shell for the user when there is nothing.
    pub command: Option<String>,
    /// The run does not wait for its end.
    pub background: bool,
}

/// What the emulator says after the order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Command {
    /// The run begins.
    Start {
        /// Its time.
        clock: Clock,
        /// Statistics start then.
        #[serde(with = "crate::nanos")]
        warmup: Time,
    },
    /// The run is over: report.
    Stop,
}

/// What the worker says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Told {
    /// All is set up; the devices follow, one for each host, and then a socket for each flow of
    /// UDP that keeps its first hop full.
    Ready {
        /// Of each host, what has been set and read back.
        sysctls: BTreeMap<String, BTreeMap<String, String>>,
        /// Names of features of the devices that have been switched off.
        offloads_off: Vec<String>,
    },
    /// This machine does not allow it, or lacks something: a sentence for the user.
    Refused(String),
    /// A finite flow over TCP is complete, or will never be.
    FlowDone,
    /// A flow of UDP, by its number among those, has sent its last packet.
    AllSent {
        /// The flow.
        flow: usize,
        /// How many it has sent.
        packets: u64,
    },
    /// A program has ended: its number in the order, and its exit code.
    ProgramDone(usize, i32),
    /// A program has ended that the run waits for.
    Awaited,
    /// What all flows came to, in their order.
    Report {
        /// The flows over TCP.
        flows: Vec<FlowReport>,
        /// What the proxies have passed on.
        proxies: Vec<ProxyReport>,
        /// The flows of UDP.
        datagrams: Vec<DatagramReport>,
        /// Of each host, packets that its device dropped.
        device_drops: Vec<u64>,
    },
}

/// What the ends of a flow know of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FlowReport {
    /// When its first connection was opened.
    #[serde(with = "crate::nanos::option")]
    pub start: Option<Time>,
    /// When the last byte of its last file was read.
    #[serde(with = "crate::nanos::option")]
    pub finish: Option<Time>,
    /// Bytes read.
    pub bytes_delivered: u64,
    /// Bytes read before the end of the warm-up.
    pub bytes_in_warmup: u64,
    /// What was asked and answered, in the order of the answers.
    pub exchanges: Vec<ExchangeReport>,
    /// The sender's `TCP_INFO`, all connections together where that makes sense.
    pub kernel: crate::tcp_info::TcpInfo,
    /// What went wrong, if anything.
    pub fault: Option<String>,
}

/// A request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeReport {
    /// When the client asked.
    #[serde(with = "crate::nanos")]
    pub start: Time,
    /// When it had read all of the response.
    #[serde(with = "crate::nanos")]
    pub finish: Time,
    /// Bytes asked with.
    pub request_bytes: u64,
    /// Bytes answered with.
    pub response_bytes: u64,
}

/// What a proxy has passed on, from the end of the warm-up on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ProxyReport {
    /// Bytes read from one connection and written to the other.
    pub bytes_relayed: u64,
    /// Bytes that it held, in the mean.
    pub buffer_mean_bytes: f64,
    /// At most.
    pub buffer_max_bytes: u64,
    /// At the end.
    pub buffer_end_bytes: u64,
}

/// What the ends of a flow of UDP know of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramReport {
    /// When it began.
    #[serde(with = "crate::nanos::option")]
    pub start: Option<Time>,
    /// Packets that the receiving program has read.
    pub received: u64,
    /// What went wrong, if anything.
    pub fault: Option<String>,
}

/// What becomes of a packet in the first hop: a byte for a source that keeps that hop full.
pub mod first_hop {
    /// It has passed.
    pub const PASSED: u8 = 0;
    /// It was lost there.
    pub const LOST: u8 = 1;
    /// The hop has turned it away.
    pub const TURNED_AWAY: u8 = 2;
}
