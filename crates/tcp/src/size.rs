//! Sizes of windows and buffers: bytes, or multiples of the maximum segment size.

use serde::de::Error;
use std::fmt;

/// Size of a window or a buffer: `8760`, or `"6 mss"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Multiples of the connection's MSS.
    Mss(u64),
}

impl Size {
    /// Size in bytes, given the MSS.
    pub const fn bytes(self, mss: u32) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Mss(count) => count.saturating_mul(mss as u64),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Mss(count) => write!(f, "{count} mss"),
        }
    }
}

impl serde::Serialize for Size {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => serializer.serialize_u64(*bytes),
            Self::Mss(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Size {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes like 8760, or segments like \"6 mss\"")
            }
            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size::Bytes(bytes))
            }
            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes)
                    .map(Size::Bytes)
                    .map_err(|_| E::custom(format!("{bytes} is negative: a size cannot be")))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                text.strip_suffix("mss")
                    .and_then(|count| count.trim().parse().ok())
                    .map(Size::Mss)
                    .ok_or_else(|| {
                        E::custom(format!(
                            "\"{text}\" is not a size: write bytes like 8760, \
                             or segments like \"6 mss\""
                        ))
                    })
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "bytes, or a multiple of the MSS",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": r"^\d+\s*mss$" }
            ]
        })
    }
}
