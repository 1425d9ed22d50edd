//! `[[relay]]`: what stands at a node and deals with the packets that pass.

mod check;
mod passing;

pub use passing::{Passage, Side};

use retx_link::relay::snoop;
use retx_tcp::Size;
use retx_units::{Choice, Duration, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use check::check;
pub(crate) use passing::Map;

/// The list of kinds: each word is the scenario's name of the kind, and its variant and type.
macro_rules! relays {
    ($($word:literal $kind:ident),+ $(,)?) => {
        /// Something at a node: the `kind` of a `[[relay]]`, with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum Relay { $($kind($kind),)+ }

        impl Relay {
            /// Every kind, in listing order.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The kind's name in scenarios.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$kind(_) => $word,)+ }
            }

            /// Unique among relays.
            pub fn name(&self) -> &str {
                match self { $(Self::$kind(it) => &it.name,)+ }
            }

            /// The node at which it stands.
            pub fn node(&self) -> &str {
                match self { $(Self::$kind(it) => &it.node,)+ }
            }

            /// The flows that it serves; `None` for all that pass.
            pub fn flows(&self) -> Option<&[String]> {
                match self { $(Self::$kind(it) => it.flows.as_deref(),)+ }
            }

            /// Name and JSON Schema of every kind.
            pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
                let mut generator = choice::inline_generator();
                vec![$(($word, $kind::json_schema(&mut generator))),+]
            }
        }

        impl<'de> Deserialize<'de> for Relay {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let choice = Choice::read(deserializer, "kind", Self::NAMES)?;
                match choice.name() {
                    $($word => choice.parameters().map(Self::$kind),)+
                    other => unreachable!("{other} has been checked against the list"),
                }
            }
        }

        impl Serialize for Relay {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$kind(it) => choice::write(serializer, "kind", $word, it),)+
                }
            }
        }
    };
}

relays! { "split" Split, "snoop" Snoop, "eln" Eln }

impl Relay {
    /// The lossy hop that it looks at: a link or a wlan.
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
        // A kind is never a bare name here: a relay has a name and a node.
        if let Some(forms) = schema.get_mut("anyOf").and_then(serde_json::Value::as_array_mut) {
            forms.remove(0);
        }
        schema
    }
}

/// A proxy that ends connections and begins others: acknowledges to the sender, keeps what has not
/// been acknowledged to it, and sends with a TCP of its own (I-TCP, RFC 3135).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Unique among relays. Results call a flow from here on FLOW@NAME.
    pub name: String,
    /// The node at which it stands.
    pub node: String,
    /// The flows that it splits; all that pass the node without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// The TCP with which it sends on, a `[tcp.NAME]` or a preset; the flow's own without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// The most that it holds of a flow: received and read, and not acknowledged by the receiver.
    /// What does not fit waits in its receive buffer, whose window closes.
    #[serde(default = "Split::buffer")]
    pub buffer: Size,
}

/// A snoop agent before a lossy hop: keeps copies of the data that pass towards it, sends them
/// again when they are lost there, and absorbs the duplicate acknowledgments. Of data that come
/// from the hop it tells the sender which were lost there, as `eln` (Balakrishnan et al.).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snoop {
    /// Unique among relays.
    pub name: String,
    /// The node at which it stands.
    pub node: String,
    /// The lossy hop: a link or wlan at the node.
    pub link: String,
    /// The flows that it serves; all that pass the node and the hop without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// Segments that it keeps per connection.
    #[serde(default = "Snoop::packets")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub packets: u32,
    /// The duplicate acknowledgment with which it sends again; those before it pass.
    #[serde(default = "Snoop::dupacks")]
    #[schemars(range(min = 1))]
    pub dupacks: u32,
    /// Most copies that it sends of a segment.
    #[serde(default = "Snoop::retransmissions")]
    pub retransmissions: u32,
    /// Its timer is never shorter.
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

    /// As it is run.
    pub const fn config(&self) -> snoop::Config {
        let Self { packets, dupacks, retransmissions, min_timeout, .. } = *self;
        snoop::Config { packets, dupacks, retransmissions, min_timeout }
    }
}

/// Explicit loss notification: marks acknowledgments that ask for a segment which was lost on a
/// lossy hop. A TCP with `loss_cause = "eln"` believes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Eln {
    /// Unique among relays.
    pub name: String,
    /// The node at which it stands.
    pub node: String,
    /// The lossy hop: a link or wlan at the node.
    pub link: String,
    /// The flows that it serves; all that pass the node and the hop without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
}

impl Split {
    /// As much as a window that is not scaled.
    fn buffer() -> Size {
        Size::Bytes(65_535)
    }
}
