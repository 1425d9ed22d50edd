//! `[[relay]]`: what stands at a node and deals with the packets that pass.

mod check;
mod passing;

pub use passing::Passage;

use retx_tcp::Size;
use retx_units::{Choice, choice};
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

relays! { "split" Split }

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

impl Split {
    /// As much as a window that is not scaled.
    fn buffer() -> Size {
        Size::Bytes(65_535)
    }
}
