//! A scenario as the engine takes it: every name found, every preset merged, every route laid.

use crate::SampleInterval;
use crate::file::{Initiator, Stop};
use crate::relay::{Map as Ways, Passage};
use crate::routes::Network;
use crate::{App, Change, Relay, Udp, Wlan, write};
use retx_link::pipe::repair;
use retx_link::{channel, queue};
use retx_units::{Duration, Rate};
use serde_json::{Map, Value};

/// A checked scenario. It serialises to a file in which everything is explicit and which parses
/// to an equal scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What it is about; may be empty.
    pub title: String,
    /// The run ends at the latest after so long.
    pub duration: Duration,
    /// Whether it may end earlier.
    pub stop: Stop,
    /// Statistics start here.
    pub warmup: Duration,
    /// Seed of all random streams; below 2^63, as TOML's integers.
    pub seed: u64,
    /// How often the time series are sampled; `None` for not at all.
    pub sample_interval: Option<SampleInterval>,
    /// The TCPs that flows refer to by index: every `[tcp.NAME]` of the file in its order, then
    /// the presets that flows name.
    pub tcps: Vec<NamedTcp>,
    /// The links, in the order of the file.
    pub links: Vec<Link>,
    /// The cells of stations, in the order of the file.
    pub wlans: Vec<Wlan>,
    /// Routes that differ from the default.
    pub routes: Vec<Route>,
    /// What stands at nodes.
    pub relays: Vec<Relay>,
    /// The flows as written, `count` not expanded; see [`Scenario::expanded_flows`].
    pub flows: Vec<Flow>,
    /// The `[sweep]` table as written.
    pub sweep: Option<Map<String, Value>>,
}

/// A TCP and its name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTcp {
    /// The name of its `[tcp.NAME]`, or of the preset.
    pub name: String,
    /// Checked: `Config::check` has passed.
    pub config: retx_tcp::Config,
}

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Unique among links.
    pub name: String,
    /// Two different nodes.
    pub ends: [String; 2],
    /// From the first end to the second.
    pub forward: Direction,
    /// From the second end to the first.
    pub reverse: Direction,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// At least 1 bit/s; `None` for no serialisation at all.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Bytes that a frame adds to the IP packet on the wire.
    pub overhead: u32,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Who may wait for the transmitter.
    pub queue: queue::Config,
    /// What becomes of frames; the first model that loses a frame decides. May be empty.
    pub channel: Vec<channel::Config>,
    /// What the link does about frames that the channel loses.
    pub repair: Option<repair::Config>,
    /// What changes as time goes, in order of time.
    pub changes: Vec<Change>,
}

/// A way over given links and wlans. It holds for all packets from `from` to `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The node where it starts.
    pub from: String,
    /// The node where it ends.
    pub to: String,
    /// Names of the links, wlans and stations, in order.
    pub via: Vec<String>,
}

/// One flow, or `count` equal ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Unique among flows; see [`ExpandedFlow::name`].
    pub name: String,
    /// The node that sends the data.
    pub from: String,
    /// The node that receives them.
    pub to: String,
    /// What carries it.
    pub transport: Transport,
    /// What is sent.
    pub app: App,
    /// When the initiator opens the connection, or the first packet may be sent.
    pub start: Duration,
    /// How many equal flows this is, from 1.
    pub count: u32,
    /// Time between the starts of two successive ones.
    pub stagger: Duration,
    /// The way of the data, 1 to 255 hops.
    pub forward_path: Vec<Hop>,
    /// The way of the acknowledgments, 1 to 255 hops.
    pub reverse_path: Vec<Hop>,
}

/// What carries a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transport {
    /// Connections of TCP.
    Tcp {
        /// Both ends' TCP: an index into [`Scenario::tcps`].
        tcp: usize,
        /// The end that opens the connection.
        initiator: Initiator,
    },
    /// Packets of UDP.
    Udp(Udp),
}

impl Flow {
    /// Each of the flows that it stands for.
    pub fn expanded(&self) -> impl Iterator<Item = ExpandedFlow<'_>> {
        (0..self.count).map(|number| ExpandedFlow {
            flow: self,
            number,
            start: self.start + self.stagger * u64::from(number),
        })
    }

    /// Both ends' TCP, as an index into [`Scenario::tcps`], and who opens; `None` over UDP.
    pub const fn tcp(&self) -> Option<(usize, Initiator)> {
        match self.transport {
            Transport::Tcp { tcp, initiator } => Some((tcp, initiator)),
            Transport::Udp(_) => None,
        }
    }

    /// How it goes by UDP; `None` over TCP.
    pub const fn udp(&self) -> Option<&Udp> {
        match &self.transport {
            Transport::Tcp { .. } => None,
            Transport::Udp(udp) => Some(udp),
        }
    }
}

/// What is passed from one node to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hop {
    /// A link in one direction.
    Link {
        /// Index into [`Scenario::links`].
        link: u32,
        /// In which direction.
        way: Way,
    },
    /// A wlan, from one of its stations to another.
    Wlan {
        /// Index into [`Scenario::wlans`].
        wlan: u32,
        /// Index of the station that sends.
        from: u16,
        /// Index of the station that receives.
        to: u16,
    },
}

impl Hop {
    /// The same in the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Link { link, way } => Self::Link { link, way: way.opposite() },
            Self::Wlan { wlan, from, to } => Self::Wlan { wlan, from: to, to: from },
        }
    }
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the first of its `ends` to the second.
    Forward,
    /// From the second to the first.
    Reverse,
}

impl Way {
    /// The other direction.
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

impl Link {
    /// One of the two directions.
    pub const fn direction(&self, way: Way) -> &Direction {
        match way {
            Way::Forward => &self.forward,
            Way::Reverse => &self.reverse,
        }
    }
}

/// One of the flows that a [`Flow`] stands for.
#[derive(Debug, Clone, Copy)]
pub struct ExpandedFlow<'a> {
    /// What it has in common with its siblings.
    pub flow: &'a Flow,
    /// Its number among them, from 0.
    pub number: u32,
    /// When it starts.
    pub start: Duration,
}

impl ExpandedFlow<'_> {
    /// The flow's name; of several equal flows `NAME.0`, `NAME.1`, …
    pub fn name(&self) -> String {
        if self.flow.count == 1 {
            self.flow.name.clone()
        } else {
            format!("{}.{}", self.flow.name, self.number)
        }
    }
}

impl Scenario {
    /// Every flow, `count` expanded, in the order of the file.
    pub fn expanded_flows(&self) -> impl Iterator<Item = ExpandedFlow<'_>> {
        self.flows.iter().flat_map(Flow::expanded)
    }

    /// How many flows there are, `count` expanded.
    pub fn flow_count(&self) -> u32 {
        self.flows.iter().map(|flow| flow.count).sum()
    }

    /// The relays that serve a flow, in the order of its data.
    pub fn passages(&self, flow: &Flow) -> Vec<Passage> {
        Ways { links: &self.links, wlans: &self.wlans }.passages(&self.relays, flow)
    }

    /// The nodes, in the order in which links, then wlans, name them first.
    pub fn nodes(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let ends = self.links.iter().flat_map(|link| &link.ends);
        let stations = self.wlans.iter().flat_map(|wlan| &wlan.config.stations);
        ends.chain(stations).map(String::as_str).filter(|node| seen.insert(*node)).collect()
    }

    /// The way that packets take from one node to another where no flow says otherwise; `None` when
    /// no way leads there, or the two are no different nodes.
    pub fn way(&self, from: &str, to: &str) -> Option<Vec<Hop>> {
        let network = Network::new(&self.links, &self.wlans, &self.routes);
        network.expect("the routes have been laid before").way(from, to)
    }

    /// The resolved scenario as a TOML file.
    pub fn to_toml(&self) -> String {
        let Value::Object(table) = self.to_json() else {
            unreachable!("a scenario serialises to an object");
        };
        write::toml(&table).expect("what was read from TOML can be written as TOML")
    }

    /// The resolved scenario as a JSON object, with the keys of the file.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a scenario holds strings, numbers and lists only")
    }
}
