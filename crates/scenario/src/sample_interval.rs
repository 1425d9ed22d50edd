//! Sampling of time series.

use retx_units::Duration;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Times at which the state of flows is sampled for time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleInterval {
    /// Fixed interval above zero.
    Every(Duration),
    /// At every acknowledgment.
    EveryAck,
}

/// Notation of [`SampleInterval::EveryAck`] in scenarios.
const EVERY_ACK: &str = "every_ack";

impl<'de> Deserialize<'de> for SampleInterval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value == EVERY_ACK {
            return Ok(Self::EveryAck);
        }
        Duration::deserialize(value)
            .map(Self::Every)
            .map_err(|error| D::Error::custom(format!("{error}; or write \"{EVERY_ACK}\"")))
    }
}

impl Serialize for SampleInterval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Every(interval) => interval.serialize(serializer),
            Self::EveryAck => serializer.serialize_str(EVERY_ACK),
        }
    }
}

impl JsonSchema for SampleInterval {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SampleInterval".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let interval = generator.subschema_for::<Duration>();
        schemars::json_schema!({ "anyOf": [interval, { "const": EVERY_ACK }] })
    }
}
