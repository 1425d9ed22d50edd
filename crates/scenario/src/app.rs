//! What a flow sends.

use crate::error::Problem;
use crate::spread::Spread;
use crate::wording::FLOWS_OR_FILES_MAX;
use retx_units::{Choice, Duration, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The list of kinds: each word is the scenario's name of the kind, and its variant and type.
macro_rules! applications {
    ($($word:literal $kind:ident),+ $(,)?) => {
        /// What a flow sends: the `kind` of its `app`, with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum App { $($kind($kind),)+ }

        impl App {
            /// Every kind, in listing order.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The kind's name in scenarios.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$kind(_) => $word,)+ }
            }

            /// Name and JSON Schema of every kind.
            pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
                let mut generator = choice::inline_generator();
                vec![$(($word, $kind::json_schema(&mut generator))),+]
            }
        }

        impl<'de> Deserialize<'de> for App {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let choice = Choice::read(deserializer, "kind", Self::NAMES)?;
                match choice.name() {
                    $($word => choice.parameters().map(Self::$kind),)+
                    other => unreachable!("{other} has been checked against the list"),
                }
            }
        }

        impl Serialize for App {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$kind(it) => choice::write(serializer, "kind", $word, it),)+
                }
            }
        }
    };
}

applications! {
    "bulk" Bulk, "transfer" Transfer, "ftp" Ftp, "request_response" RequestResponse,
    "cbr" Cbr, "poisson" Poisson, "on_off" OnOff,
}

impl Default for Spread<Duration> {
    fn default() -> Self {
        Self::Constant(Duration::ZERO)
    }
}

impl JsonSchema for App {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "App".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        choice::schema("kind", Self::schemas())
    }
}

/// Data without end: the flow sends until the run is over. Over UDP the first link or wlan always
/// has a packet waiting, and a limit in `udp` may end the flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {}

/// A given number of bytes over one connection, which is then closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Bytes to send; 0 opens the connection and closes it.
    pub bytes: u64,
}

/// Files one after another, as FTP's data connections carry them: each file opens a connection of
/// its own, and the next file starts `pause` after that connection is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ftp {
    /// How many files of `bytes` each; or a list with the size of each file in bytes.
    pub files: Files,
    /// Size of every file, when `files` is a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// From the end of one file to the start of the next.
    #[serde(default)]
    pub pause: Duration,
}

/// A client at the receiving end asks, the other end answers, and the client thinks until it asks
/// again. Over TCP; the client opens the connections.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResponse {
    /// Bytes of a request, at least 1.
    pub request: Spread<u64>,
    /// Bytes of a response, at least 1.
    pub response: Spread<u64>,
    /// From the last byte of a response to the next request.
    #[serde(default)]
    pub think: Spread<Duration>,
    /// So many requests; without it they go on until the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub exchanges: Option<u32>,
    /// Whether one connection serves all exchanges.
    #[serde(default)]
    pub connection: Reuse,
}

/// How connections serve exchanges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// One serves all.
    #[default]
    One,
    /// Each exchange opens its own, and the next waits until that is closed.
    Each,
}

/// Packets at a constant rate; over UDP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {}

/// Packets at independent, exponential intervals; over UDP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {}

/// Packets at a constant rate while it is on, none while it is off; over UDP. It begins with an
/// on-time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// How long it is on. What is left of the interval to the next packet when an on-time ends is
    /// taken into the next one, so that the mean rate is exact.
    pub on: Spread<Duration>,
    /// How long it is off.
    pub off: Spread<Duration>,
}

/// How many files, or their sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Files {
    /// So many, each of [`Ftp::bytes`].
    Count(u32),
    /// The size of each, in bytes.
    Sizes(Vec<u64>),
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "expected a number of files, or a list of their sizes in bytes"
        )]
        enum Form {
            Count(u32),
            Sizes(Vec<u64>),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Count(count) => Self::Count(count),
            Form::Sizes(sizes) => Self::Sizes(sizes),
        })
    }
}

impl JsonSchema for Files {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Files".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": FLOWS_OR_FILES_MAX },
                { "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": 0 } }
            ]
        })
    }
}

impl Ftp {
    /// How many files there are.
    pub fn file_count(&self) -> u32 {
        match &self.files {
            Files::Count(count) => *count,
            Files::Sizes(sizes) => sizes.len() as u32,
        }
    }

    /// The size of a file, by its number from 0; `None` after the last.
    pub fn file_bytes(&self, number: u32) -> Option<u64> {
        match &self.files {
            Files::Count(count) => self.bytes.filter(|_| number < *count),
            Files::Sizes(sizes) => sizes.get(number as usize).copied(),
        }
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        match (&self.files, self.bytes) {
            (Files::Count(_), None) => {
                return Err(("files", "a number of files needs their size, `bytes`".into()));
            }
            (Files::Sizes(_), Some(_)) => {
                return Err(("bytes", "contradicts `files`, which lists the sizes already".into()));
            }
            _ => {}
        }
        let count = match &self.files {
            Files::Count(count) => *count as usize,
            Files::Sizes(sizes) => sizes.len(),
        };
        if count == 0 || count > FLOWS_OR_FILES_MAX as usize {
            return Err((
                "files",
                format!("{count} files: from 1 to {FLOWS_OR_FILES_MAX} are allowed"),
            ));
        }
        Ok(())
    }
}

impl RequestResponse {
    fn check(&self) -> Result<(), (&'static str, String)> {
        for (key, size) in [("request", self.request), ("response", self.response)] {
            if size.mean() < 1.0 {
                return Err((key, format!("{} bytes: at least 1", size.mean())));
            }
        }
        if self.exchanges == Some(0) {
            return Err(("exchanges", "0 is refused: from 1 on".into()));
        }
        Ok(())
    }
}

impl App {
    /// True for what a connection carries, false for what times packets without one; `None` for
    /// what both can do.
    pub(crate) const fn is_of_tcp(&self) -> Option<bool> {
        match self {
            Self::Bulk(_) => None,
            Self::Transfer(_) | Self::Ftp(_) | Self::RequestResponse(_) => Some(true),
            Self::Cbr(_) | Self::Poisson(_) | Self::OnOff(_) => Some(false),
        }
    }

    /// Checks what the types alone cannot.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let checked = match self {
            Self::Ftp(ftp) => ftp.check(),
            Self::RequestResponse(exchanges) => exchanges.check(),
            Self::OnOff(OnOff { on, .. }) if on.mean() <= 0.0 => {
                Err(("on", "0 s: it would never send".into()))
            }
            _ => Ok(()),
        };
        checked.map_err(|(key, message)| Problem::new(message).within(key))
    }
}
