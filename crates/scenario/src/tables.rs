//! Tables of links, routes and flows, as users write them.

use crate::{App, Udp};
use retx_link::pipe::repair::{arq, fec};
use retx_link::{channel, queue};
use retx_units::{Duration, Rate, choice};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Condition that ends a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The run ends when all finite flows are complete, at the latest after `duration`.
    #[default]
    Complete,
    /// The run ends after `duration`.
    Duration,
}

/// End of a flow that opens its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Initiator {
    /// Sender of the data: an upload.
    From,
    /// Receiver of the data: a download.
    #[default]
    To,
}

/// A link. Keys in the table itself apply to both directions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// Name, unique among links.
    pub name: String,
    /// The two nodes that the link joins; forward is from the first to the second.
    pub ends: [String; 2],
    /// Rate of both directions; without it transmissions take no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of both directions; 0 s by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Bytes that a frame adds to the IP packet; 38 by default, as in Ethernet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<u32>,
    /// Largest IP packet, in bytes; 1500 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Queue of each direction; by default drop-tail without a limit. Without a rate it never holds
    /// a packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<queue::Config>,
    /// Channel model or list of models; by default no frame is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
    /// Link-layer retransmission of frames that the channel loses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<arq::Config>,
    /// Parity frames, from which lost packets are reconstructed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fec: Option<fec::Config>,
    /// Scheduled changes, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ChangeTable>,
    /// Keys of the direction from the first of `ends` to the second.
    #[serde(default, skip_serializing_if = "DirectionTable::is_empty")]
    pub forward: DirectionTable,
    /// Keys of the direction from the second of `ends` to the first.
    #[serde(default, skip_serializing_if = "DirectionTable::is_empty")]
    pub reverse: DirectionTable,
}

/// Keys of one direction of a link.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionTable {
    /// Rate of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Bytes that a frame adds to the IP packet in this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<u32>,
    /// Largest IP packet in this direction, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Queue of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<queue::Config>,
    /// Channel model or list of models, in place of the link's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
    /// Link-layer retransmission, in place of the link's `arq` or `fec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<arq::Config>,
    /// Parity frames, in place of the link's `arq` or `fec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fec: Option<fec::Config>,
}

impl DirectionTable {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Changes at an instant. Keys in the table itself apply to both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeTable {
    /// Time of the change; later than that of the change before.
    pub at: Duration,
    /// Rate of both directions, which must have one from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Channel of both directions. A model that replaces another of the same kind takes over its
    /// state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
    /// Changes of the direction from the first of `ends` to the second.
    #[serde(default, skip_serializing_if = "ChangeValues::is_empty")]
    pub forward: ChangeValues,
    /// Changes of the direction from the second of `ends` to the first.
    #[serde(default, skip_serializing_if = "ChangeValues::is_empty")]
    pub reverse: ChangeValues,
}

/// New values of one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeValues {
    /// Rate of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Channel of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channels>,
}

impl ChangeValues {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Channel model, or list of models.
#[derive(Debug, Clone, PartialEq)]
pub struct Channels(pub Vec<channel::Config>);

impl<'de> Deserialize<'de> for Channels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let one =
            |value: Value| channel::Config::deserialize(value).map_err(|error| error.to_string());
        match Value::deserialize(deserializer)? {
            Value::Array(values) => {
                let at =
                    |index: usize| move |text: String| choice::error_at(&index.to_string(), &text);
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

/// Route over given links and wlans, for all packets from one node to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteTable {
    /// Node at which the route starts.
    pub from: String,
    /// Node at which the route ends.
    pub to: String,
    /// Hops in order: a link by its name; a wlan by its name, by that of the station to which it
    /// leads, or by both.
    #[schemars(length(min = 1, max = 255))]
    pub via: Vec<String>,
}

/// A flow of data from one node to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowTable {
    /// Name, unique among flows.
    pub name: String,
    /// Node that sends the data.
    pub from: String,
    /// Node that receives the data.
    pub to: String,
    /// TCP of both ends: a `[tcp.NAME]`, or a preset. A flow has either `tcp` or `udp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// UDP parameters, for a flow over UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Udp>,
    /// Application.
    pub app: App,
    /// Time at which the connection is opened, or the first packet may be sent.
    #[serde(default)]
    pub start: Duration,
    /// Number of equal flows NAME.0, NAME.1, …; a single flow is called NAME.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// Time between the starts of successive flows.
    #[serde(default)]
    pub stagger: Duration,
    /// End that opens the connection; `"to"` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Initiator>,
    /// Rate at which the receiving program takes data from its socket. The program reads up to 16
    /// KiB, then waits as long as these bytes take at this rate. Without a rate it reads all data
    /// as they arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_rate: Option<Rate>,
}

fn default_count() -> u32 {
    1
}

/// Removes and returns a value that is equal in both directions.
pub fn take_equal<T: PartialEq>(forward: &mut Option<T>, reverse: &mut Option<T>) -> Option<T> {
    if forward == reverse {
        *forward = None;
        reverse.take()
    } else {
        None
    }
}
