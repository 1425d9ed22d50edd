//! Amounts of successive exchanges: a constant, a distribution, or a list.

use crate::spread::{Amount, Spread};
use retx_units::Duration;
use retx_units::choice::inline_generator;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Durations or sizes of successive exchanges.
#[derive(Debug, Clone, PartialEq)]
pub enum Amounts<T> {
    /// Same constant or distribution for all exchanges.
    Same(Spread<T>),
    /// Amount of each exchange. After the last, the list is used from its start again.
    Listed(Vec<T>),
}

impl Default for Amounts<Duration> {
    fn default() -> Self {
        Self::Same(Spread::default())
    }
}

impl<T: Amount> Amounts<T> {
    /// Smallest amount in a list, or mean of a distribution; in seconds or bytes.
    pub fn least(&self) -> f64 {
        match self {
            Self::Same(spread) => spread.mean(),
            Self::Listed(amounts) => {
                amounts.iter().map(|it| it.value()).fold(f64::INFINITY, f64::min)
            }
        }
    }
}

impl<'de, T: Amount> Deserialize<'de> for Amounts<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if !value.is_array() {
            return Spread::deserialize(value).map(Self::Same).map_err(D::Error::custom);
        }
        let amounts = Vec::<T>::deserialize(value).map_err(D::Error::custom)?;
        if amounts.is_empty() {
            return Err(D::Error::custom("the list is empty: write at least one value"));
        }
        Ok(Self::Listed(amounts))
    }
}

impl<T: Amount> Serialize for Amounts<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same(spread) => spread.serialize(serializer),
            Self::Listed(amounts) => amounts.serialize(serializer),
        }
    }
}

impl<T: Amount> JsonSchema for Amounts<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Amounts_of_{}", T::schema_name()).into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut generator = inline_generator();
        let same = Spread::<T>::json_schema(&mut generator);
        let each = T::json_schema(&mut generator);
        let listed = schemars::json_schema!({ "type": "array", "minItems": 1, "items": each });
        schemars::json_schema!({ "anyOf": [same, listed] })
    }
}
