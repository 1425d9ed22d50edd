//! Messages between the emulator and its worker. Each consists of its length and JSON, and is sent
//! over a Unix socket.
//!
//! The worker is a separate process. Only the worker is in the namespaces, and everything in them
//! ends with it. The worker passes the devices' descriptors to the emulator, which moves the
//! packets.

mod socket_messages;

pub use crate::setups::{ExchangeSetup, FlowStreamKey, SourceSetup};
pub use socket_messages::{
    receive, receive_descriptor, receive_sender_socket, send, send_descriptor, send_sender_socket,
};

use crate::clock::Clock;
use retx_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Hardware address of the hosts' devices. They can share it, because each is alone on its link.
pub const HARDWARE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Method of exchanging packets with the hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// TUN device in each host.
    #[default]
    Tun,
    /// A veth pair for each host. Packets are read from its outer end, with the kernel's
    /// timestamps.
    Precise,
}

impl Backend {
    /// Names of all backends.
    pub const NAMES: &'static [&'static str] = &["tun", "precise"];

    /// Backend of the given name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Tun, Self::Precise].into_iter().find(|backend| backend.name() == name)
    }

    /// Name of the backend.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tun => "tun",
            Self::Precise => "precise",
        }
    }
}

/// Everything that the worker sets up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerSetup {
    /// Method of exchanging packets with the hosts.
    pub backend: Backend,
    /// Hosts to create.
    pub hosts: Vec<HostSetup>,
    /// TCP flows between the hosts.
    pub flows: Vec<FlowSetup>,
    /// Proxies between two flows.
    pub proxies: Vec<ProxySetup>,
    /// UDP flows.
    pub datagrams: Vec<DatagramSetup>,
    /// Programs to run.
    pub programs: Vec<Program>,
    /// True if the emulator also passes its standard input, for the programs. This descriptor
    /// follows that of the channel for senders' sockets.
    pub passes_stdin: bool,
}

/// Host: a network namespace with one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSetup {
    /// Name of the node.
    pub name: String,
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// Values below `/proc/sys/net`.
    pub sysctls: BTreeMap<String, String>,
    /// Attributes of the route to the other hosts, as in `ip route`.
    pub route: BTreeMap<String, String>,
    /// Default congestion control; `None` if no flow ends in the host.
    pub congestion_control: Option<DefaultCongestionControl>,
}

/// Default congestion control of a host, for sockets that set none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultCongestionControl {
    /// Name of the congestion control in the kernel.
    pub name: String,
    /// True if all flows of the host use this congestion control.
    pub used_by_all_flows: bool,
    /// True if user programs run in the host: they need the default.
    pub needed_by_programs: bool,
}

/// TCP flow between two programs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowSetup {
    /// Indices of the hosts that send and receive the data.
    pub hosts: [usize; 2],
    /// True if the data sender opens the connections.
    pub sender_opens: bool,
    /// Port of the listening end.
    pub port: u16,
    /// Time at which the first connection is opened.
    #[serde(with = "crate::nanos")]
    pub start: Time,
    /// Data to send.
    pub workload: Workload,
    /// Rate at which the receiving program reads, bit/s; `None` without a limit.
    pub read_rate: Option<u64>,
    /// Maximum number of bytes that a program writes at once.
    pub write_size: u64,
    /// Options of the sockets that send and receive the data.
    pub sockets: [SocketOptions; 2],
}

/// Proxy between two flows, the legs of a split flow. It is the receiver of the first leg and the
/// sender of the second.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProxySetup {
    /// Indices of the flows.
    pub legs: [usize; 2],
    /// Maximum number of bytes that the proxy holds.
    pub buffer: u64,
}

/// UDP flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DatagramSetup {
    /// Indices of the hosts that send and receive.
    pub hosts: [usize; 2],
    /// Port at both ends.
    pub port: u16,
    /// Source of the flow's packets.
    pub source: SourceSetup,
}

/// Files that a flow sends, each over a separate connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Workload {
    /// Endless file.
    Endless,
    /// Files of one size.
    Equal {
        /// Number of files.
        count: u32,
        /// Size of each file, bytes.
        bytes: u64,
        /// Time from the end of one connection to the start of the next, in nanoseconds.
        pause: u64,
    },
    /// Individual sizes.
    Each {
        /// Sizes in bytes.
        bytes: Vec<u64>,
        /// Time from the end of one connection to the start of the next, in nanoseconds.
        pause: u64,
    },
    /// Responses to requests.
    Exchanges(ExchangeSetup),
}

impl Workload {
    /// Size of the file of this number; `None` after the last file.
    pub fn file_bytes(&self, number: u32) -> Option<u64> {
        match self {
            Self::Endless => (number == 0).then_some(u64::MAX),
            Self::Equal { count, bytes, .. } => (number < *count).then_some(*bytes),
            Self::Each { bytes, .. } => bytes.get(number as usize).copied(),
            // The number of bytes on a connection is not known in advance; 0 means unknown.
            Self::Exchanges(exchanges) if exchanges.connection_per_exchange => {
                exchanges.count.is_none_or(|count| number < count).then_some(0)
            }
            // All exchanges use one connection.
            Self::Exchanges(_) => (number == 0).then_some(0),
        }
    }

    /// True unless the number of bytes, or of exchanges, is unlimited.
    pub const fn is_finite(&self) -> bool {
        match self {
            Self::Endless => false,
            Self::Equal { .. } | Self::Each { .. } => true,
            Self::Exchanges(exchanges) => exchanges.count.is_some(),
        }
    }

    /// Time from the end of one connection to the start of the next.
    pub const fn pause(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(match self {
            Self::Endless | Self::Exchanges(_) => 0,
            Self::Equal { pause, .. } | Self::Each { pause, .. } => *pause,
        })
    }
}

/// Options of a socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketOptions {
    /// Value of `TCP_CONGESTION`.
    pub congestion_control: String,
    /// Value of `TCP_NODELAY`.
    pub no_delay: bool,
    /// True to enable TCP's internal pacing, by `SO_MAX_PACING_RATE`.
    pub pacing: bool,
    /// Value of `SO_SNDBUF`, which the kernel doubles for its own needs; `None` to keep the
    /// default.
    pub send_buffer: Option<usize>,
    /// Value of `SO_RCVBUF`, which the kernel doubles for its own needs; `None` to keep the
    /// default.
    pub receive_buffer: Option<usize>,
}

/// User program to be run in a host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    /// Index of the host.
    pub host: usize,
    /// Shell command; `None` for an interactive shell.
    pub command: Option<String>,
    /// True if the run does not wait until the program ends.
    pub background: bool,
}

/// Commands that the emulator sends to a worker after the setup.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Command {
    /// Starts the run.
    Start {
        /// Clock of the run.
        clock: Clock,
        /// Start of statistics.
        #[serde(with = "crate::nanos")]
        warmup: Time,
    },
    /// Ends the run and requests the report.
    Stop,
}

/// Messages of the worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum WorkerMessage {
    /// Everything is set up. Descriptors follow: a device for each host, then a socket for each UDP
    /// flow that keeps its first hop full.
    Ready {
        /// For each host, the settings as read back from the kernel.
        sysctls: BTreeMap<String, BTreeMap<String, String>>,
        /// Names of the device features that were disabled.
        offloads_off: Vec<String>,
    },
    /// The worker cannot start, because the machine lacks something or does not allow it; a
    /// sentence for the user.
    Refused(String),
    /// A finite TCP flow is complete or has failed.
    FlowDone,
    /// An end of a TCP flow has failed before all data arrived: the kernel gave up, or reset the
    /// connection.
    FlowFailed {
        /// Index of the flow.
        flow: u32,
        /// Time at which its program was told.
        #[serde(with = "crate::nanos")]
        at: Time,
    },
    /// A UDP flow has sent its last packet.
    AllSent {
        /// Index among the UDP flows.
        flow: usize,
        /// Number of packets sent.
        packets: u64,
    },
    /// A program has ended; its index in the setup, and its exit code.
    ProgramDone(usize, i32),
    /// A program for whose end the emulation waits has ended: one that does not run in the
    /// background.
    Awaited,
    /// Results of all flows, in their order.
    Report {
        /// TCP flows.
        flows: Vec<FlowReport>,
        /// Proxies.
        proxies: Vec<ProxyReport>,
        /// UDP flows.
        datagrams: Vec<DatagramReport>,
        /// For each host, the number of packets that its device dropped.
        device_drops: Vec<u64>,
    },
}

/// Results of a TCP flow, as known to its two ends.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FlowReport {
    /// Time at which the flow's first connection was opened; `None` if none was.
    #[serde(with = "crate::nanos::option")]
    pub start: Option<Time>,
    /// Time at which the last byte of the flow's last file was read; `None` if the flow is not
    /// complete.
    #[serde(with = "crate::nanos::option")]
    pub finish: Option<Time>,
    /// Bytes read by the receiving program.
    pub bytes_delivered: u64,
    /// Bytes read before the end of the warm-up.
    pub bytes_in_warmup: u64,
    /// Exchanges, in the order of their responses.
    pub exchanges: Vec<ExchangeReport>,
    /// The sender's `TCP_INFO`, combined over all connections.
    pub kernel: crate::tcp_info::TcpInfo,
    /// Error, if any.
    pub fault: Option<String>,
}

/// Request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeReport {
    /// Time of the request.
    #[serde(with = "crate::nanos")]
    pub start: Time,
    /// Time at which the client had read the whole response.
    #[serde(with = "crate::nanos")]
    pub finish: Time,
    /// Size of the request.
    pub request_bytes: u64,
    /// Size of the response.
    pub response_bytes: u64,
}

/// Results of a proxy after the warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ProxyReport {
    /// Number of bytes that were read from one connection and written to the other.
    pub bytes_relayed: u64,
    /// Time average of the number of bytes in the proxy.
    pub buffer_mean_bytes: f64,
    /// Maximum number of bytes in the proxy.
    pub buffer_max_bytes: u64,
    /// Number of bytes in the proxy at the end of the run.
    pub buffer_end_bytes: u64,
}

/// Results of a UDP flow, as known to its two ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramReport {
    /// Start of the flow; `None` if the flow has not started.
    #[serde(with = "crate::nanos::option")]
    pub start: Option<Time>,
    /// Packets read by the receiving program.
    pub received: u64,
    /// Error, if any.
    pub fault: Option<String>,
}

/// Fates of a packet in the first hop; each is sent as a byte to a source that keeps that hop full.
pub mod first_hop {
    /// The packet has passed the first hop.
    pub const PASSED: u8 = 0;
    /// The channel has lost the packet.
    pub const LOST: u8 = 1;
    /// The queue has dropped the packet.
    pub const REFUSED: u8 = 2;
}
