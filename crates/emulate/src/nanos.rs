//! Times in messages, as integer nanoseconds.

use retx_units::Time;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes a time.
pub fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_nanos())
}

/// Reads a time.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    u64::deserialize(deserializer).map(Time::from_nanos)
}

/// Optional times.
pub mod option {
    use retx_units::Time;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes an optional time.
    pub fn serialize<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(Time::as_nanos).serialize(serializer)
    }

    /// Reads an optional time.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Time>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Time::from_nanos))
    }
}
