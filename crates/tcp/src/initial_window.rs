//! Initial window: a fixed size, or the largest that an RFC permits.

use crate::Size;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Initial congestion window: bytes (`14600`), a multiple of the MSS (`"10 mss"`), or the bound of
/// an RFC (`"rfc5681"`, `"rfc6928"`), which depends on the MSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialWindow {
    /// Size that the user chose.
    Size(Size),
    /// RFC 5681 §3.1: two segments if the MSS is above 2190 bytes, three if it is above 1095 bytes,
    /// otherwise four.
    Rfc5681,
    /// RFC 6928 §2: ten segments, but at most the larger of 14,600 bytes and two segments.
    Rfc6928,
}

const RFC5681: &str = "rfc5681";
const RFC6928: &str = "rfc6928";

impl InitialWindow {
    /// Size of the window, given the payload of a full segment.
    pub const fn size(self, smss: u32) -> Size {
        match self {
            Self::Size(size) => size,
            Self::Rfc5681 => Size::Mss(match smss {
                2191.. => 2,
                1096.. => 3,
                _ => 4,
            }),
            Self::Rfc6928 if smss > 7_300 => Size::Mss(2),
            Self::Rfc6928 if smss > 1_460 => Size::Bytes(14_600),
            Self::Rfc6928 => Size::Mss(10),
        }
    }

    /// Size in bytes, given the payload of a full segment.
    pub const fn bytes(self, smss: u32) -> u64 {
        self.size(smss).bytes(smss)
    }
}

impl From<Size> for InitialWindow {
    fn from(size: Size) -> Self {
        Self::Size(size)
    }
}

impl Serialize for InitialWindow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Size(size) => size.serialize(serializer),
            Self::Rfc5681 => serializer.serialize_str(RFC5681),
            Self::Rfc6928 => serializer.serialize_str(RFC6928),
        }
    }
}

impl<'de> Deserialize<'de> for InitialWindow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        match value.as_str() {
            Some(RFC5681) => Ok(Self::Rfc5681),
            Some(RFC6928) => Ok(Self::Rfc6928),
            _ => Size::deserialize(value).map(Self::Size).map_err(|error| {
                D::Error::custom(format!("{error}, or \"{RFC5681}\" or \"{RFC6928}\""))
            }),
        }
    }
}

impl schemars::JsonSchema for InitialWindow {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "InitialWindow".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "bytes, a multiple of the MSS, or the bound of an RFC",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": r"^\d+\s*mss$" },
                { "enum": [RFC5681, RFC6928] }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds that the RFCs state, with an MSS on both sides of each limit.
    #[test]
    fn standards_bound_it_by_the_mss() {
        let rfc5681 = [536, 1095, 1096, 1460, 2190, 2191, 8960];
        let bytes = rfc5681.map(|smss| InitialWindow::Rfc5681.bytes(smss));
        assert_eq!(bytes, [2144, 4380, 3288, 4380, 6570, 4382, 17_920]);
        let rfc6928 = [536, 1460, 1461, 7300, 7301, 8960];
        let bytes = rfc6928.map(|smss| InitialWindow::Rfc6928.bytes(smss));
        assert_eq!(bytes, [5360, 14_600, 14_600, 14_600, 14_602, 17_920]);
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        for text in ["\"rfc5681\"", "\"rfc6928\"", "\"3 mss\"", "4380"] {
            let window: InitialWindow = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&window).unwrap(), text);
        }
        let error = serde_json::from_str::<InitialWindow>("\"rfc2581\"").unwrap_err().to_string();
        assert!(error.contains("\"rfc5681\""), "{error}");
    }
}
