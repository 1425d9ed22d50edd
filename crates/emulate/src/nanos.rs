//! Times in messages: as whole nanoseconds.

use retx_units::Time;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes a time.
pub fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_nanos())
}

/// Reads one.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    u64::deserialize(deserializer).map(Time::from_nanos)
}

/// The same for a time that may be absent.
pub mod option {
    use retx_units::Time;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a time, or that there is none.
    pub fn serialize<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(Time::as_nanos).serialize(serializer)
    }

    /// Reads one.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Time>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Time::from_nanos))
    }
}
