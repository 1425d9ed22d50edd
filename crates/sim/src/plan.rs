//! A run, laid out: every name replaced by an index.

pub use crate::shared::Shared;
pub use crate::source::{Pace, Sizes as PacketSizes};
use retx_link::{pipe, relay, wlan};
use retx_units::{Duration, Law, Time};
use std::sync::Arc;

/// What is to be simulated.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Seed of all random streams.
    pub seed: u64,
    /// The run ends at the latest then.
    pub end: Time,
    /// It goes on until then, even when every finite flow is complete.
    pub to_the_end: bool,
    /// Statistics start then.
    pub warmup: Time,
    /// How often the senders are sampled.
    pub sampling: Sampling,
    /// At an interval, the run is refused or broken off with more rows than these.
    pub samples_max: u64,
    /// Both directions of each link: link i forward is pipe 2i, reverse 2i + 1.
    pub pipes: Vec<PipePlan>,
    /// What lies between nodes beside pipes.
    pub stages: Vec<StagePlan>,
    /// Ways through the network, each of one hop at least.
    pub routes: Vec<Vec<Hop>>,
    /// The TCPs.
    pub tcps: Vec<TcpPlan>,
    /// The flows over TCP. One that passes proxies is several, one for each leg, in the order of
    /// the data.
    pub flows: Vec<FlowPlan>,
    /// The flows of UDP. Their numbers in tables follow those of the flows over TCP.
    pub datagrams: Vec<DatagramPlan>,
    /// What stands at nodes and deals with the packets of the flows that pass.
    pub relays: Vec<RelayPlan>,
    /// Where two legs join; those of one chain follow each other in the order of the data.
    pub proxies: Vec<ProxyPlan>,
}

/// Something at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayPlan {
    /// Its name.
    pub name: String,
    /// The node.
    pub node: String,
    /// The name of its kind in scenarios.
    pub kind: &'static str,
}

/// Where a connection is split in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyPlan {
    /// Index of the relay.
    pub relay: u32,
    /// Indices of the flow that brings the data here and of the one that takes them on. The relay
    /// receives the first and sends the second.
    pub legs: [u32; 2],
    /// The most bytes that it holds: read from the first, and not acknowledged on the second.
    pub buffer: u64,
}

/// When the `samples` table gets rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Never.
    Off,
    /// At this interval, longer than zero.
    Every(Duration),
    /// At each acknowledgment.
    EveryAck,
}

/// One direction of a link. Names and configurations are shared: there may be many thousands.
#[derive(Debug, Clone)]
pub struct PipePlan {
    /// The link.
    pub link: Arc<str>,
    /// `forward` or `reverse`.
    pub direction: &'static str,
    /// The nodes where it starts and where it ends.
    pub ends: [Arc<str>; 2],
    /// How it works.
    pub config: Shared<pipe::Config>,
}

// Four of the one and one of the other for each flow with links of its own.
const _: () = assert!(size_of::<PipePlan>() <= 72 && size_of::<FlowPlan>() <= 88);

/// A stage that is no pipe.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there are few, and a plan is never copied")]
pub enum StagePlan {
    /// A cell of 802.11 stations.
    Wlan(WlanPlan),
    /// A relay that looks into segments. Its one place is where packets come by; the exit of a
    /// port tells whether the flow's data leave over the hop (0) or come from there (1).
    Relay(AgentPlan),
}

/// A relay that looks into segments.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// Index into [`Plan::relays`].
    pub relay: u32,
    /// Its name.
    pub name: String,
    /// The node at which it stands.
    pub node: String,
    /// What it does.
    pub config: relay::Config,
}

/// A cell of 802.11 stations; its ports lead from station to station, by their indices.
#[derive(Debug, Clone)]
pub struct WlanPlan {
    /// Its name.
    pub name: String,
    /// How it works.
    pub config: wlan::Config,
}

impl StagePlan {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Wlan(plan) => &plan.name,
            Self::Relay(plan) => &plan.name,
        }
    }

    /// Where packets enter and leave it, by the index in [`Port`].
    pub fn places(&self) -> impl Iterator<Item = &str> {
        let (stations, node): (&[String], _) = match self {
            Self::Wlan(plan) => (&plan.config.stations, None),
            Self::Relay(plan) => (&[], Some(plan.node.as_str())),
        };
        stations.iter().map(String::as_str).chain(node)
    }
}

/// What a packet passes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// A pipe, by its index.
    Pipe(u32),
    /// Another stage.
    Stage(Port),
}

/// A way through a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    /// Index of the stage.
    pub stage: u32,
    /// Where packets enter: a station's index in a cell.
    pub entry: u16,
    /// Where they leave.
    pub exit: u16,
}

/// A TCP.
#[derive(Debug, Clone)]
pub struct TcpPlan {
    /// Its name in the scenario.
    pub name: String,
    /// Both ends' configuration.
    pub config: retx_tcp::Config,
}

/// One flow.
#[derive(Debug, Clone)]
pub struct FlowPlan {
    /// Its name.
    pub name: String,
    /// Index of its TCP: that of the data sender.
    pub tcp: u32,
    /// Index of the TCP of the data receiver.
    pub receiver_tcp: u32,
    /// What it sends.
    pub work: Shared<Work>,
    /// When its connection is opened.
    pub start: Time,
    /// The end that opens it.
    pub initiator: Side,
    /// The way of the data and the way of the acknowledgments: indices into [`Plan::routes`].
    pub routes: [u32; 2],
    /// The nodes of the data sender and the data receiver.
    pub nodes: [u32; 2],
}

/// One flow of UDP.
#[derive(Debug, Clone)]
pub struct DatagramPlan {
    /// Its name.
    pub name: String,
    /// What times its packets.
    pub pace: Pace,
    /// How large its packets are.
    pub sizes: PacketSizes,
    /// When it ends.
    pub limits: Limits,
    /// When it begins.
    pub start: Time,
    /// Its way: an index into [`Plan::routes`].
    pub route: u32,
    /// The nodes of the sender and the receiver.
    pub nodes: [u32; 2],
    /// How many of [`Plan::flows`] the scenario has before it.
    pub after: u32,
}

/// What ends a flow of UDP; the first that is reached does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// So many packets.
    pub packets: Option<u64>,
    /// So many bytes of payload.
    pub bytes: Option<u64>,
    /// It sends before this; [`Time::NEVER`] without a limit.
    pub end: Time,
}

impl Limits {
    /// True when the flow comes to an end by itself.
    pub fn are_any(&self) -> bool {
        self.packets.is_some() || self.bytes.is_some() || self.end < Time::NEVER
    }
}

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The end that sends the data.
    Sender = 0,
    /// The end that receives them.
    Receiver = 1,
}

impl Side {
    /// The opposite end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// What a flow sends.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Data without end.
    Bulk,
    /// Files one after another, each over a connection of its own.
    Files {
        /// How large they are.
        sizes: Sizes,
        /// From the close of one connection to the opening of the next.
        pause: Duration,
    },
    /// Responses to a client's requests.
    Exchanges(ExchangePlan),
}

/// Requests and responses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExchangePlan {
    /// Bytes of requests.
    pub request: Law,
    /// Bytes of responses.
    pub response: Law,
    /// From a response to the next request, in seconds.
    pub think: Law,
    /// How many; without it, without end.
    pub count: Option<u32>,
    /// Each has a connection of its own.
    pub each: bool,
}

/// The sizes of files, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// So many of the same size.
    Equal {
        /// How many.
        count: u32,
        /// The size.
        bytes: u64,
    },
    /// One by one.
    Each(Arc<[u64]>),
}

impl Work {
    /// One file.
    pub const fn transfer(bytes: u64) -> Self {
        Self::Files { sizes: Sizes::Equal { count: 1, bytes }, pause: Duration::ZERO }
    }

    /// The size of a file by its number from 0; endless for bulk, `None` after the last file. What
    /// a connection for exchanges carries is not known before.
    pub fn file_bytes(&self, number: u32) -> Option<u64> {
        match self {
            Self::Bulk => (number == 0).then_some(u64::MAX),
            Self::Files { sizes: Sizes::Equal { count, bytes }, .. } => {
                (number < *count).then_some(*bytes)
            }
            Self::Files { sizes: Sizes::Each(sizes), .. } => sizes.get(number as usize).copied(),
            Self::Exchanges(ExchangePlan { each: false, .. }) => (number == 0).then_some(0),
            Self::Exchanges(exchanges) => {
                exchanges.count.is_none_or(|count| number < count).then_some(0)
            }
        }
    }

    /// False for data without end.
    pub const fn is_finite(&self) -> bool {
        match self {
            Self::Bulk => false,
            Self::Files { .. } => true,
            Self::Exchanges(exchanges) => exchanges.count.is_some(),
        }
    }

    /// True for requests and responses.
    pub const fn asks(&self) -> bool {
        matches!(self, Self::Exchanges(_))
    }
}
