//! The tables of a scenario file, as users write them.

use crate::schedule::ChangeTable;
use crate::topology::Topology;
use crate::wlan::WlanTable;
use crate::{App, Relay, SampleInterval, Udp, schema};
use retx_link::pipe::repair::{arq, fec};
use retx_link::{channel, queue};
use retx_units::{Duration, Rate, choice};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// One experiment: nodes, links, flows, and the TCPs that they run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "retx scenario")]
pub struct File {
    /// What it is about.
    #[serde(default)]
    pub title: String,
    /// The run ends at the latest after so long.
    pub duration: Duration,
    /// Whether the run may end earlier.
    #[serde(default)]
    pub stop: Stop,
    /// Statistics start here.
    #[serde(default)]
    pub warmup: Duration,
    /// Seed of all random streams.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// How often the time series are sampled: an interval, or `"every_ack"`; without it never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_interval: Option<SampleInterval>,
    /// TCPs by name. Each says with `like` which preset, or which other of these, it starts from.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "schema::tcp_tables")]
    pub tcp: Map<String, Value>,
    /// A shape that stands for links and flows, to which the file may add others. A resolved
    /// scenario has these in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// The links between nodes; a node exists by being an end of a link or a station.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkTable>,
    /// Cells of 802.11 stations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wlan: Vec<WlanTable>,
    /// Routes that differ from the default, which is fewest hops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<RouteTable>,
    /// What stands at nodes and deals with the packets that pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relay: Vec<Relay>,
    /// The flows.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub flow: Vec<FlowTable>,
    /// What `retx sweep` varies; a single run ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::sweep")]
    pub sweep: Option<Map<String, Value>>,
}

fn default_seed() -> u64 {
    1
}

/// When a run ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// When every finite flow is complete and there is no other, at the latest after `duration`.
    #[default]
    Complete,
    /// After `duration`.
    Duration,
}

/// Which end of a flow opens its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Initiator {
    /// The sender of the data: an upload.
    From,
    /// The receiver of the data: a download.
    #[default]
    To,
}

/// A link. What stands directly in it holds for both directions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// Unique among links.
    pub name: String,
    /// The two nodes that it joins; forward is from the first to the second.
    pub ends: [String; 2],
    /// Rate of both directions; without it frames take no time to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of both directions; 0 s without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Bytes that a frame adds to the IP packet on the wire; 38 without it, as Ethernet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<u32>,
    /// Largest IP packet, in bytes; 1500 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Queue of both directions, each its own; drop-tail without a limit when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<queue::Config>,
    /// One channel model or a list of them; without it no frame is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
    /// Frames that the channel loses are sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<arq::Config>,
    /// Packets go out with parity frames, from which lost ones are worked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fec: Option<fec::Config>,
    /// What changes as time goes, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ChangeTable>,
    /// What differs from the first of `ends` to the second.
    #[serde(default, skip_serializing_if = "DirectionTable::is_empty")]
    pub forward: DirectionTable,
    /// What differs from the second of `ends` to the first.
    #[serde(default, skip_serializing_if = "DirectionTable::is_empty")]
    pub reverse: DirectionTable,
}

/// What differs in one direction of a link.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionTable {
    /// Rate of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Bytes that a frame adds in this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<u32>,
    /// Largest IP packet in this direction, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Queue of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<queue::Config>,
    /// One channel model or a list of them, instead of the link's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
    /// Frames that the channel loses are sent again; instead of the link's `arq` or `fec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<arq::Config>,
    /// Packets go out with parity frames; instead of the link's `arq` or `fec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fec: Option<fec::Config>,
}

impl DirectionTable {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One channel model, or a list of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Channels(pub Vec<channel::Config>);

impl<'de> Deserialize<'de> for Channels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let one =
            |value: Value| channel::Config::deserialize(value).map_err(|error| error.to_string());
        match Value::deserialize(deserializer)? {
            Value::Array(values) => {
                let at = |index: usize| move |text: String| choice::at(&index.to_string(), &text);
                let models =
                    values.into_iter().enumerate().map(|(i, value)| one(value).map_err(at(i)));
                models.collect()
            }
            value => one(value).map(|model| vec![model]),
        }
        .map(Self)
        .map_err(D::Error::custom)
    }
}

impl Serialize for Channels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [model] => model.serialize(serializer),
            models => models.serialize(serializer),
        }
    }
}

impl JsonSchema for Channels {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Channels".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<channel::Config>();
        let list = generator.subschema_for::<Vec<channel::Config>>();
        schemars::json_schema!({ "anyOf": [one, list] })
    }
}

/// A way over given links and wlans, for all packets from one node to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteTable {
    /// The node where it starts.
    pub from: String,
    /// The node where it ends.
    pub to: String,
    /// What it passes, in order: a link by its name; a wlan by its name, or by that of the station
    /// to which it leads, or by both.
    #[schemars(length(min = 1, max = 255))]
    pub via: Vec<String>,
}

/// A flow of data from one node to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowTable {
    /// Unique among flows.
    pub name: String,
    /// The node that sends the data.
    pub from: String,
    /// The node that receives them.
    pub to: String,
    /// A `[tcp.NAME]`, or a preset; for both ends. Either this or `udp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// The flow's packets go by UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Udp>,
    /// What is sent.
    pub app: App,
    /// When the connection is opened, or the first packet may be sent.
    #[serde(default)]
    pub start: Duration,
    /// So many equal flows: NAME.0, NAME.1, …; a single one keeps the plain name.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// Time between the starts of two successive ones of them.
    #[serde(default)]
    pub stagger: Duration,
    /// Which end opens the connection; `"to"` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Initiator>,
}

fn default_count() -> u32 {
    1
}
