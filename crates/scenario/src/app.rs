//! Applications: the data that a flow sends.

use crate::amounts::Amounts;
use crate::error::Problem;
use crate::spread::Spread;
use crate::wording::FLOWS_OR_FILES_MAX;
use retx_units::{Duration, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Declares the kinds of applications. Each entry consists of the kind's name in scenarios, its
/// variant and its type.
macro_rules! applications {
    ($($word:literal $kind:ident),+ $(,)?) => {
        /// Application of a flow: the `kind` of its `app`, with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum App { $($kind($kind),)+ }

        impl App {
            /// Name and JSON Schema of every kind.
            pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
                let mut generator = choice::inline_generator();
                vec![$(($word, $kind::json_schema(&mut generator))),+]
            }
        }

        retx_units::named_choices! { App, name, tag = "kind"; $($word => $kind),+ }
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
pub struct Bulk {
    /// Largest number of bytes that the program passes to one write; 262144 by default. It matters
    /// only when the send buffer is counted as memory, as in Linux, and is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub write: Option<u32>,
}

/// A given number of bytes over one connection, which is then closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Bytes to send; 0 opens the connection and closes it.
    pub bytes: u64,
    /// Largest number of bytes that the program passes to one write; 262144 by default. It matters
    /// only when the send buffer is counted as memory, as in Linux, and is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub write: Option<u32>,
}

/// Files one after another, as FTP's data connections carry them: each file opens a connection of
/// its own, and the next file starts `pause` after that connection is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ftp {
    /// Number of files of `bytes` each, or a list with the size of each file in bytes.
    pub files: Files,
    /// Size of every file, when `files` is a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Time from the end of one file to the start of the next.
    #[serde(default)]
    pub pause: Duration,
    /// Largest number of bytes that the program passes to one write; 262144 by default. It matters
    /// only when the send buffer is counted as memory, as in Linux, and is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub write: Option<u32>,
}

/// A client at the receiving end sends requests, the other end answers each, and the client thinks
/// before the next request. Over TCP; the client opens the connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResponse {
    /// Bytes of a request, at least 1.
    pub request: Spread<u64>,
    /// Bytes of a response, at least 1; or a list with the size of each response.
    pub response: Amounts<u64>,
    /// Time from the last byte of a request until the server writes its response; or a list with
    /// the time of each response.
    #[serde(default, skip_serializing_if = "takes_no_time")]
    pub service: Amounts<Duration>,
    /// Time from the last byte of a response to the next request.
    #[serde(default)]
    pub think: Spread<Duration>,
    /// Number of requests; without it requests continue until the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub exchanges: Option<u32>,
    /// Number of connections: one for all exchanges, or one for each.
    #[serde(default)]
    pub connection: Reuse,
    /// Largest number of bytes that the program passes to one write; 262144 by default. It matters
    /// only when the send buffer is counted as memory, as in Linux, and is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub write: Option<u32>,
}

/// Number of connections that carry the exchanges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// One connection carries all exchanges.
    #[default]
    One,
    /// Each exchange opens its own connection. The next exchange waits until the client has read
    /// the response and the server's FIN.
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

/// Packets at a constant rate during on-times, none during off-times; over UDP. The source starts
/// with an on-time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Length of an on-time. An on-time usually ends within a packet interval; the rest of this
    /// interval is carried over to the next on-time, so that the mean rate is exact.
    pub on: Spread<Duration>,
    /// Length of an off-time.
    pub off: Spread<Duration>,
}

/// Number of files, or their sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Files {
    /// Number of files, each of [`Ftp::bytes`].
    Count(u32),
    /// Size of each file, in bytes.
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
    /// Size of a file in bytes, by its number from 0; `None` after the last.
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

/// True if the server responds at once.
fn takes_no_time(service: &Amounts<Duration>) -> bool {
    *service == Amounts::default()
}

impl RequestResponse {
    fn check(&self) -> Result<(), (&'static str, String)> {
        for (key, size) in [("request", self.request.mean()), ("response", self.response.least())] {
            if size < 1.0 {
                return Err((key, format!("{size} bytes: at least 1")));
            }
        }
        if self.exchanges == Some(0) {
            return Err(("exchanges", "0 is refused: from 1 on".into()));
        }
        Ok(())
    }
}

/// Default of `write`, bytes.
const WRITE_SIZE: u32 = 256 << 10;
/// Maximum of `write`, bytes.
const WRITE_MAX: u32 = 16 << 20;

impl App {
    /// Value of `write`, if the application has one.
    pub(crate) const fn configured_write(&self) -> Option<u32> {
        match self {
            Self::Bulk(it) => it.write,
            Self::Transfer(it) => it.write,
            Self::Ftp(it) => it.write,
            Self::RequestResponse(it) => it.write,
            Self::Cbr(_) | Self::Poisson(_) | Self::OnOff(_) => None,
        }
    }

    /// Largest number of bytes that the program passes to one write.
    pub fn write_size(&self) -> u32 {
        self.configured_write().unwrap_or(WRITE_SIZE)
    }

    /// True if the application runs only over TCP, false if only over UDP; `None` if over both.
    pub(crate) const fn requires_tcp(&self) -> Option<bool> {
        match self {
            Self::Bulk(_) => None,
            Self::Transfer(_) | Self::Ftp(_) | Self::RequestResponse(_) => Some(true),
            Self::Cbr(_) | Self::Poisson(_) | Self::OnOff(_) => Some(false),
        }
    }

    /// Checks the constraints that the types do not express.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let checked = match self {
            Self::Ftp(ftp) => ftp.check(),
            Self::RequestResponse(exchanges) => exchanges.check(),
            Self::OnOff(OnOff { on, .. }) if on.mean() <= 0.0 => {
                Err(("on", "0 s: it would never send".into()))
            }
            _ => Ok(()),
        };
        let checked = checked.and_then(|()| match self.configured_write() {
            Some(bytes) if bytes == 0 || bytes > WRITE_MAX => {
                Err(("write", format!("{bytes} bytes: from 1 to {WRITE_MAX} are allowed")))
            }
            _ => Ok(()),
        });
        checked.map_err(|(key, message)| Problem::new(message).within(key))
    }
}
