//! Resolved scenarios for the engine: names resolved, presets merged, routes computed.

use crate::SampleInterval;
use crate::tables::{Initiator, Stop};
use crate::{App, Relay, Udp, Wlan, write};
use retx_link::channel::Model as _;
use retx_link::pipe::repair;
use retx_link::{channel, queue};
use retx_units::{Duration, Rate};
use serde_json::{Map, Value};

/// Checked scenario. Its serialised form is a file in which every value is explicit, and which
/// parses to an equal scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Title; may be empty.
    pub title: String,
    /// Longest duration of the run.
    pub duration: Duration,
    /// Condition that ends the run.
    pub stop: Stop,
    /// Time at which statistics start.
    pub warmup: Duration,
    /// Seed of all random streams; below 2^63, because TOML integers are signed.
    pub seed: u64,
    /// Sampling of time series; `None` if no time series are recorded.
    pub sample_interval: Option<SampleInterval>,
    /// TCPs, to which flows refer by index: every `[tcp.NAME]` in the order of the file, then the
    /// presets that flows name.
    pub tcps: Vec<NamedTcp>,
    /// Links in the order of the file.
    pub links: Vec<Link>,
    /// Cells of stations in the order of the file.
    pub wlans: Vec<Wlan>,
    /// Routes that differ from the default.
    pub routes: Vec<Route>,
    /// Relays at nodes.
    pub relays: Vec<Relay>,
    /// Flows as written, before `count` is expanded; see [`Flow::expanded`].
    pub flows: Vec<Flow>,
    /// The `[sweep]` table as written, if any.
    pub sweep: Option<Map<String, Value>>,
}

/// TCP with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTcp {
    /// Name of the `[tcp.NAME]` table, or of the preset.
    pub name: String,
    /// Configuration, accepted by `Config::check`.
    pub config: retx_tcp::Config,
}

/// Link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name, unique among links.
    pub name: String,
    /// Two different nodes.
    pub ends: [String; 2],
    /// Direction from the first end to the second.
    pub forward: Direction,
    /// Direction from the second end to the first.
    pub reverse: Direction,
}

/// Direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// Rate of at least 1 bit/s; `None` if transmissions take no time.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Bytes that a frame adds to the IP packet.
    pub overhead: u32,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Queue discipline.
    pub queue: queue::Config,
    /// Channel models, which a frame passes in this order; may be empty. The first model that loses
    /// a frame determines the reason of the loss.
    pub channel: Vec<channel::Config>,
    /// Link-layer repair, if any.
    pub repair: Option<repair::Config>,
    /// Scheduled changes, in order of time.
    pub changes: Vec<Change>,
}

impl Direction {
    /// True if the queue can hold packets: without a rate, transmissions take no time.
    fn has_rate(&self) -> bool {
        let is_trace = self.channel.iter().any(|model| model.rates().is_some());
        self.rate.is_some() || is_trace || self.repair.is_some()
    }

    /// False if packets sent at or after `start` arrive without any delay.
    pub(crate) fn has_delay(&self, start: Duration) -> bool {
        self.rate.is_some()
            || !self.delay.is_zero()
            || self.repair.is_some()
            || self.channel.iter().any(|model| !model.only_loses() || model.rates().is_some())
            // A change at or before `start` may add a delay.
            || self.changes.iter().any(|change| change.at <= start)
    }
}

/// Route over given links and wlans for all packets from `from` to `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Node at which the route starts.
    pub from: String,
    /// Node at which the route ends.
    pub to: String,
    /// Names of the links, wlans and stations, in order.
    pub via: Vec<String>,
}

/// A flow, or `count` equal flows.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Name, unique among flows; see [`ExpandedFlow::name`].
    pub name: String,
    /// Node that sends the data.
    pub from: String,
    /// Node that receives the data.
    pub to: String,
    /// Transport protocol with its parameters.
    pub transport: Transport,
    /// Application.
    pub app: App,
    /// Time at which the initiator opens the connection, or the first packet may be sent.
    pub start: Duration,
    /// Number of equal flows, at least 1.
    pub count: u32,
    /// Time between the starts of two successive flows.
    pub stagger: Duration,
    /// Path of the data, 1 to 255 hops.
    pub forward_path: Vec<Hop>,
    /// Path of the acknowledgments, 1 to 255 hops.
    pub reverse_path: Vec<Hop>,
}

/// Transport protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transport {
    /// TCP connections.
    Tcp {
        /// TCP of both ends: an index into [`Scenario::tcps`].
        tcp: usize,
        /// End that opens the connection.
        initiator: Initiator,
        /// Rate at which the receiving program reads, above zero; `None` without a limit.
        read_rate: Option<Rate>,
    },
    /// UDP packets.
    Udp(Udp),
}

impl Flow {
    /// The `count` flows of this entry.
    pub fn expanded(&self) -> impl Iterator<Item = ExpandedFlow<'_>> {
        (0..self.count).map(|number| ExpandedFlow {
            flow: self,
            number,
            start: self.start + self.stagger * u64::from(number),
        })
    }

    /// TCP of both ends, as an index into [`Scenario::tcps`], and the initiator; `None` over UDP.
    pub const fn tcp(&self) -> Option<(usize, Initiator)> {
        match self.transport {
            Transport::Tcp { tcp, initiator, .. } => Some((tcp, initiator)),
            Transport::Udp(_) => None,
        }
    }

    /// Rate at which the receiving program reads; `None` without a limit.
    pub const fn read_rate(&self) -> Option<Rate> {
        match self.transport {
            Transport::Tcp { read_rate, .. } => read_rate,
            Transport::Udp(_) => None,
        }
    }

    /// UDP parameters; `None` over TCP.
    pub const fn udp(&self) -> Option<&Udp> {
        match &self.transport {
            Transport::Tcp { .. } => None,
            Transport::Udp(udp) => Some(udp),
        }
    }
}

/// Step of a path from one node to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hop {
    /// Link in one direction.
    Link {
        /// Index into [`Scenario::links`].
        link: u32,
        /// Direction of the link.
        direction: LinkDirection,
    },
    /// Wlan, from one of its stations to another.
    Wlan {
        /// Index into [`Scenario::wlans`].
        wlan: u32,
        /// Index of the sending station.
        from: u16,
        /// Index of the receiving station.
        to: u16,
    },
}

impl Hop {
    /// The hop in the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Link { link, direction: way } => Self::Link { link, direction: way.opposite() },
            Self::Wlan { wlan, from, to } => Self::Wlan { wlan, from: to, to: from },
        }
    }
}

/// Direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkDirection {
    /// From the first of the link's `ends` to the second.
    Forward,
    /// From the second of the link's `ends` to the first.
    Reverse,
}

impl LinkDirection {
    /// Opposite direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    /// `forward` or `reverse`, as in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

/// Changes of one direction of a link at an instant; `None` leaves a value unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Time of the change.
    pub at: Duration,
    /// Rate of at least 1 bit/s.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Option<Duration>,
    /// Channel models; may be empty.
    pub channel: Option<Vec<channel::Config>>,
}

impl Link {
    /// The given direction of the link.
    pub const fn direction(&self, way: LinkDirection) -> &Direction {
        match way {
            LinkDirection::Forward => &self.forward,
            LinkDirection::Reverse => &self.reverse,
        }
    }
}

/// One of the `count` equal flows of a [`Flow`].
#[derive(Debug, Clone, Copy)]
pub struct ExpandedFlow<'a> {
    /// Properties common to all `count` flows.
    pub flow: &'a Flow,
    /// Number among the `count` flows, from 0.
    pub number: u32,
    /// Start time of this flow: `start` of the [`Flow`], plus `number` times its `stagger`.
    pub start: Duration,
}

impl ExpandedFlow<'_> {
    /// Name of the flow; `NAME.0`, `NAME.1`, … for several equal flows.
    pub fn name(&self) -> String {
        if self.flow.count == 1 {
            self.flow.name.clone()
        } else {
            format!("{}.{}", self.flow.name, self.number)
        }
    }
}

impl Scenario {
    /// Number of flows after expanding `count`.
    pub fn flow_count(&self) -> u32 {
        self.flows.iter().map(|flow| flow.count).sum()
    }

    /// Names of the links whose queue never holds a packet, since they have no rate.
    pub fn links_with_idle_queue(&self) -> Vec<&str> {
        let default = queue::Config::droptail(Default::default());
        let is_idle = |link: &&Link| {
            let chosen = [&link.forward, &link.reverse].map(|way| (way.queue != default, way));
            let mut chosen = chosen.iter().filter(|(is_chosen, _)| *is_chosen).peekable();
            // A queue of both directions may be meant for the one that has a rate.
            chosen.peek().is_some() && chosen.all(|(_, way)| !way.has_rate())
        };
        self.links.iter().filter(is_idle).map(|link| link.name.as_str()).collect()
    }

    /// Nodes in the order of their first mention: first those of links, then those of wlans.
    pub fn nodes(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let ends = self.links.iter().flat_map(|link| &link.ends);
        let stations = self.wlans.iter().flat_map(|wlan| &wlan.config.stations);
        ends.chain(stations).map(String::as_str).filter(|node| seen.insert(*node)).collect()
    }

    /// The resolved scenario as a TOML file.
    pub fn to_toml(&self) -> String {
        let Value::Object(table) = self.to_json() else {
            unreachable!("a scenario serialises to an object");
        };
        write::write_toml(&table).expect("what was read from TOML can be written as TOML")
    }

    /// The resolved scenario as a JSON object, with the keys of the file.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a scenario holds strings, numbers and lists only")
    }
}
