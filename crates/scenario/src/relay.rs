//! `[[relay]]`: agents at nodes that handle passing packets.

use retx_link::relay::snoop;
use retx_tcp::Size;
use retx_units::{Duration, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares the kinds of relays. Each entry consists of the kind's name in scenarios, its variant
/// and its type.
macro_rules! relays {
    ($($word:literal $kind:ident),+ $(,)?) => {
        /// Relay at a node: the `kind` of a `[[relay]]`, with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum Relay { $($kind($kind),)+ }

        impl Relay {
            /// Name, unique among relays.
            pub fn name(&self) -> &str {
                match self { $(Self::$kind(it) => &it.name,)+ }
            }

            /// Node of the relay.
            pub fn node(&self) -> &str {
                match self { $(Self::$kind(it) => &it.node,)+ }
            }

            /// Names of the flows that the relay serves; `None` for all flows that pass the relay.
            pub fn flows(&self) -> Option<&[String]> {
                match self { $(Self::$kind(it) => it.flows.as_deref(),)+ }
            }

            /// Name and JSON Schema of every kind.
            pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
                let mut generator = choice::inline_generator();
                vec![$(($word, $kind::json_schema(&mut generator))),+]
            }
        }

        retx_units::named_choices! { Relay, kind, tag = "kind"; $($word => $kind),+ }
    };
}

relays! { "split" Split, "snoop" Snoop, "eln" Eln }

impl Relay {
    /// Lossy hop observed by the relay: a link or a wlan; `None` for `split`.
    pub fn link(&self) -> Option<&str> {
        match self {
            Self::Split(_) => None,
            Self::Snoop(Snoop { link, .. }) | Self::Eln(Eln { link, .. }) => Some(link),
        }
    }
}

impl JsonSchema for Relay {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Relay".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = choice::schema("kind", Self::schemas());
        // A choice may be written as a bare name. The schema of this notation is removed, because a
        // relay also needs a name and a node.
        if let Some(forms) = schema.get_mut("anyOf").and_then(serde_json::Value::as_array_mut) {
            forms.remove(0);
        }
        schema
    }
}

/// A proxy that terminates connections and opens new ones (I-TCP, RFC 3135). It acknowledges the
/// sender's data, stores them until the receiver acknowledges them, and sends them with a TCP of
/// its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Name, unique among relays. In results, the part of a flow after this relay is called
    /// FLOW@NAME.
    pub name: String,
    /// Node of the relay.
    pub node: String,
    /// Flows that it splits; by default all that pass the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// TCP with which it sends, a `[tcp.NAME]` or a preset; by default the flow's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// Limit of the data stored per flow: those that the relay has read and the receiver has not
    /// acknowledged. Further data wait in the receive buffer, whose window closes.
    #[serde(default = "Split::buffer")]
    pub buffer: Size,
}

/// A snoop agent before a lossy hop. It caches the data that pass towards the hop, retransmits them
/// when they are lost there, and absorbs the duplicate ACKs. For data that arrive over the hop, it
/// notifies the sender of losses there, as `eln` does (Balakrishnan et al.).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snoop {
    /// Name, unique among relays.
    pub name: String,
    /// Node of the relay.
    pub node: String,
    /// Lossy hop: a link or wlan at the node.
    pub link: String,
    /// Flows that it serves; by default all that pass the node and the hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// Largest number of segments cached per connection.
    #[serde(default = "Snoop::packets")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub packets: u32,
    /// Number of consecutive duplicate ACKs at which the agent retransmits. The agent forwards the
    /// earlier ones to the sender.
    #[serde(default = "Snoop::dupacks")]
    #[schemars(range(min = 1))]
    pub dupacks: u32,
    /// Largest number of retransmissions of a segment.
    #[serde(default = "Snoop::retransmissions")]
    pub retransmissions: u32,
    /// Lower bound of the agent's retransmission timeout.
    #[serde(default = "Snoop::min_timeout")]
    pub min_timeout: Duration,
}

impl Snoop {
    fn packets() -> u32 {
        snoop::Config::default().packets
    }
    fn dupacks() -> u32 {
        snoop::Config::default().dupacks
    }
    fn retransmissions() -> u32 {
        snoop::Config::default().retransmissions
    }
    fn min_timeout() -> Duration {
        snoop::Config::default().min_timeout
    }

    /// Parameters for the engine.
    pub const fn config(&self) -> snoop::Config {
        let Self { packets, dupacks, retransmissions, min_timeout, .. } = *self;
        snoop::Config { packets, dupacks, retransmissions, min_timeout }
    }
}

/// Explicit loss notification: marks acknowledgments that request a segment lost on a lossy hop. A
/// TCP with `loss_cause = "eln"` evaluates the mark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Eln {
    /// Name, unique among relays.
    pub name: String,
    /// Node of the relay.
    pub node: String,
    /// Lossy hop: a link or wlan at the node.
    pub link: String,
    /// Flows that it serves; by default all that pass the node and the hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
}

impl Split {
    /// Default buffer: the largest receive window without window scaling.
    fn buffer() -> Size {
        Size::Bytes(65_535)
    }
}
