//! Plans: descriptions of runs in which names are replaced by indices.

pub use crate::copy_on_write::CopyOnWrite;
pub use crate::source::{Pace, PacketSizes};
use retx_link::{pipe, relay, wlan};
use retx_units::{Duration, Law, RandomStream, Rate, Time};
use std::sync::Arc;

/// Plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Seed of all random streams.
    pub seed: u64,
    /// Latest end of the run.
    pub end: Time,
    /// True to run until `end` even if every finite flow is complete.
    pub runs_to_end: bool,
    /// Start of the statistics.
    pub warmup: Time,
    /// Sampling of senders and queues.
    pub sampling: Sampling,
    /// Maximum number of sample rows. A run that samples at an interval is refused if it is certain
    /// to exceed this number; otherwise it is stopped as soon as it exceeds the number.
    pub samples_max: u64,
    /// Both directions of each link: link i forward is pipe 2i, reverse 2i + 1.
    pub pipes: Vec<PipePlan>,
    /// Stages other than pipes: cells of stations, and relays.
    pub stages: Vec<StagePlan>,
    /// Routes through the network, each of at least one hop.
    pub routes: Vec<Vec<Hop>>,
    /// TCP configurations.
    pub tcps: Vec<TcpPlan>,
    /// TCP flows. A flow through proxies has one entry per leg, from the sender to the receiver.
    pub flows: Vec<FlowPlan>,
    /// UDP flows. Their indices in tables follow those of the TCP flows.
    pub datagrams: Vec<DatagramPlan>,
    /// Relays at nodes.
    pub relays: Vec<RelayPlan>,
    /// Proxies between two legs. Proxies of one chain are adjacent, from the sender to the
    /// receiver.
    pub proxies: Vec<ProxyPlan>,
}

/// Relay at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayPlan {
    /// Name of the relay.
    pub name: String,
    /// Node of the relay.
    pub node: String,
    /// Kind of the relay, as named in scenarios.
    pub kind: &'static str,
}

/// Proxy that splits a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyPlan {
    /// Index of the relay.
    pub relay: u32,
    /// Indices of two flows: the first ends at the proxy, and the second carries its data from the
    /// proxy on.
    pub legs: [u32; 2],
    /// Maximum number of bytes held: bytes read from the first leg and not yet acknowledged on the
    /// second.
    pub buffer_bytes: u64,
}

/// Times at which the `samples` table gets rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Never.
    Off,
    /// At this interval, which is above zero.
    Every(Duration),
    /// At each acknowledgment.
    EveryAck,
}

/// One direction of a link. Pipes share names and configurations, because there may be many
/// thousands of pipes.
#[derive(Debug, Clone)]
pub struct PipePlan {
    /// Name of the link.
    pub link: Arc<str>,
    /// `forward` or `reverse`.
    pub direction: &'static str,
    /// Nodes at the start and the end of the pipe.
    pub ends: [Arc<str>; 2],
    /// Configuration.
    pub config: CopyOnWrite<pipe::Config>,
}

// With many flows the plan's size matters: a flow with two links of its own has four pipes and one
// flow plan.
const _: () = assert!(size_of::<PipePlan>() <= 72 && size_of::<FlowPlan>() <= 88);

/// Stage other than a pipe.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there are few, and a plan is never copied")]
pub enum StagePlan {
    /// Cell of 802.11 stations.
    Wlan(WlanPlan),
    /// Relay that inspects segments. It has a single place. The `exit` of its port is 0 if the data
    /// go from the relay over the lossy hop, and 1 if they come over the lossy hop to the relay.
    Relay(AgentPlan),
}

/// Relay that inspects segments.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// Index into [`Plan::relays`].
    pub relay: u32,
    /// Name of the relay.
    pub name: String,
    /// Node of the relay.
    pub node: String,
    /// Configuration.
    pub config: relay::Config,
}

/// Cell of 802.11 stations; its ports lead from one station to another, given by their indices.
#[derive(Debug, Clone)]
pub struct WlanPlan {
    /// Name of the cell.
    pub name: String,
    /// Configuration.
    pub config: wlan::Config,
}

impl StagePlan {
    /// Name of the stage.
    pub fn name(&self) -> &str {
        match self {
            Self::Wlan(plan) => &plan.name,
            Self::Relay(plan) => &plan.name,
        }
    }

    /// Names of the places where packets enter and leave the stage, indexed as in [`Port`].
    pub fn places(&self) -> impl Iterator<Item = &str> {
        let (stations, node): (&[String], _) = match self {
            Self::Wlan(plan) => (&plan.config.stations, None),
            Self::Relay(plan) => (&[], Some(plan.node.as_str())),
        };
        stations.iter().map(String::as_str).chain(node)
    }
}

/// Next stage on a packet's route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// Index of a pipe.
    Pipe(u32),
    /// Port of another stage.
    Stage(Port),
}

/// Path through a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    /// Index of the stage.
    pub stage: u32,
    /// Place where packets enter: in a cell, the index of a station.
    pub entry: u16,
    /// Place where packets leave: in a cell, the index of a station.
    pub exit: u16,
}

/// TCP configuration.
#[derive(Debug, Clone)]
pub struct TcpPlan {
    /// Name in the scenario.
    pub name: String,
    /// Configuration of an endpoint.
    pub config: retx_tcp::Config,
}

/// TCP flow, or a leg of one.
#[derive(Debug, Clone)]
pub struct FlowPlan {
    /// Name of the flow.
    pub name: String,
    /// Index of the data sender's TCP configuration.
    pub tcp: u32,
    /// Index of the data receiver's TCP configuration.
    pub receiver_tcp: u32,
    /// Data sent by the flow.
    pub app: CopyOnWrite<AppPlan>,
    /// Time at which the flow's first connection is opened.
    pub start: Time,
    /// Endpoint that opens the connection.
    pub initiator: Side,
    /// Routes of the data and of the acknowledgments: indices into [`Plan::routes`].
    pub routes: [u32; 2],
    /// Nodes of the data sender and the data receiver.
    pub nodes: [u32; 2],
    /// Rate at which the receiving program reads; `None` without a limit.
    pub read_rate: Option<Rate>,
    /// Maximum number of bytes that a program passes to one `write`.
    pub write_size: u32,
}

/// Maximum number of bytes that a program with a [`FlowPlan::read_rate`] reads at once; a common
/// block size of copy loops.
pub const READ_BLOCK: u64 = 16 << 10;

/// Maximum number of bytes that a proxy passes to one `write`.
pub const PROXY_BLOCK: u32 = 64 << 10;

/// UDP flow.
#[derive(Debug, Clone)]
pub struct DatagramPlan {
    /// Name of the flow.
    pub name: String,
    /// Pace of the flow's packets.
    pub pace: Pace,
    /// Sizes of the flow's IP packets.
    pub sizes: PacketSizes,
    /// Limits that end the flow.
    pub limits: Limits,
    /// Earliest time at which the flow sends.
    pub start: Time,
    /// Route: an index into [`Plan::routes`].
    pub route: u32,
    /// Nodes of the sender and the receiver.
    pub nodes: [u32; 2],
    /// Number of [`Plan::flows`] that precede this flow in the scenario.
    pub flows_before: u32,
}

/// Limits of a UDP flow; the first one reached ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of packets; `None` if unlimited.
    pub packets: Option<u64>,
    /// Maximum number of payload bytes; `None` if unlimited.
    pub bytes: Option<u64>,
    /// No packet is sent at or after this time; [`Time::NEVER`] without a limit.
    pub end: Time,
}

impl Limits {
    /// True if the flow ends by itself.
    pub fn has_limit(&self) -> bool {
        self.packets.is_some() || self.bytes.is_some() || self.end < Time::NEVER
    }
}

/// Endpoint of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Sender of the data.
    Sender = 0,
    /// Receiver of the data.
    Receiver = 1,
}

impl Side {
    /// The other endpoint.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// Data that the application of a flow sends.
#[derive(Debug, Clone, PartialEq)]
pub enum AppPlan {
    /// Unlimited data.
    Bulk,
    /// Files one after another, each over a connection of its own.
    Files {
        /// Sizes of the files.
        sizes: FileSizes,
        /// Time from the close of one connection to the opening of the next.
        pause: Duration,
    },
    /// Responses to a client's requests.
    Exchanges(ExchangePlan),
}

/// Sizes (in bytes) or times (in seconds) of successive exchanges.
#[derive(Debug, Clone, PartialEq)]
pub enum Amounts {
    /// A value is drawn for each exchange.
    Drawn(Law),
    /// Value for each exchange; after the last value, the list is used from its start again.
    Listed(Arc<[f64]>),
}

impl Amounts {
    /// Value for an exchange, given by its number from 0.
    pub fn draw(&self, number: u32, stream: &mut RandomStream) -> f64 {
        match self {
            Self::Drawn(law) => law.draw(stream),
            Self::Listed(amounts) => amounts[number as usize % amounts.len()],
        }
    }
}

/// Requests and responses.
#[derive(Debug, Clone, PartialEq)]
pub struct ExchangePlan {
    /// Distribution of request sizes, bytes.
    pub request_bytes: Law,
    /// Response sizes, bytes.
    pub response_bytes: Amounts,
    /// Times from a complete request to its response, seconds.
    pub service_time: Amounts,
    /// Distribution of think times, seconds.
    pub think_time: Law,
    /// Number of exchanges; `None`: unlimited.
    pub count: Option<u32>,
    /// True if each exchange has a connection of its own.
    pub connection_per_exchange: bool,
}

/// Sizes of files, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSizes {
    /// Files of one size.
    Equal {
        /// Number of files.
        count: u32,
        /// Size of each file.
        bytes: u64,
    },
    /// Individual sizes.
    Each(Arc<[u64]>),
}

impl AppPlan {
    /// A single file.
    pub const fn transfer(bytes: u64) -> Self {
        Self::Files { sizes: FileSizes::Equal { count: 1, bytes }, pause: Duration::ZERO }
    }

    /// Size of the file with this number, counted from 0; `None` after the last file. Bulk data are
    /// one file of unlimited size ([`u64::MAX`]). For exchanges a file is a connection; its size is
    /// not known in advance, so 0 is returned.
    pub fn file_bytes(&self, number: u32) -> Option<u64> {
        match self {
            Self::Bulk => (number == 0).then_some(u64::MAX),
            Self::Files { sizes: FileSizes::Equal { count, bytes }, .. } => {
                (number < *count).then_some(*bytes)
            }
            Self::Files { sizes: FileSizes::Each(sizes), .. } => {
                sizes.get(number as usize).copied()
            }
            Self::Exchanges(ExchangePlan { connection_per_exchange: false, .. }) => {
                (number == 0).then_some(0)
            }
            Self::Exchanges(exchanges) => {
                exchanges.count.is_none_or(|count| number < count).then_some(0)
            }
        }
    }

    /// True unless the data are unlimited.
    pub const fn is_finite(&self) -> bool {
        match self {
            Self::Bulk => false,
            Self::Files { .. } => true,
            Self::Exchanges(exchanges) => exchanges.count.is_some(),
        }
    }

    /// True for requests and responses.
    pub const fn sends_requests(&self) -> bool {
        matches!(self, Self::Exchanges(_))
    }
}
