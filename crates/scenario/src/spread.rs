//! Durations and sizes that are constant or drawn from a distribution.

use retx_units::choice::inline_generator;
use retx_units::{Duration, Law};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An amount: `"1 s"` or `1500` for a constant one, or a table with a `law`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread<T> {
    /// Constant amount.
    Constant(T),
    /// Drawn anew for each use.
    Drawn(Distribution<T>),
}

/// Distribution and its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "law", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution<T> {
    /// Exponential.
    Exponential {
        /// Mean.
        mean: T,
    },
    /// Uniform.
    Uniform {
        /// Minimum.
        min: T,
        /// Maximum.
        max: T,
    },
    /// Pareto: P(X > t) = (min/t)^`shape`, where min = mean · (shape − 1)/shape.
    Pareto {
        /// Mean.
        mean: T,
        /// Exponent, above 1; up to 2 the variance is infinite.
        shape: f64,
    },
}

/// Types of amounts: durations and sizes.
pub trait Amount: Copy + Serialize + DeserializeOwned + JsonSchema {
    /// Value in seconds or bytes.
    fn value(self) -> f64;
}

impl Amount for Duration {
    fn value(self) -> f64 {
        self.as_secs_f64()
    }
}

impl Amount for u64 {
    fn value(self) -> f64 {
        self as f64
    }
}

impl<T: Amount> Spread<T> {
    /// Distribution of the amount, in seconds or bytes.
    pub fn law(&self) -> Law {
        match *self {
            Self::Constant(amount) => Law::Constant(amount.value()),
            Self::Drawn(Distribution::Exponential { mean }) => Law::Exponential(mean.value()),
            Self::Drawn(Distribution::Uniform { min, max }) => {
                Law::Uniform(min.value(), max.value())
            }
            Self::Drawn(Distribution::Pareto { mean, shape }) => {
                Law::Pareto(mean.value() * (shape - 1.0) / shape, shape)
            }
        }
    }

    /// Mean, in seconds or bytes.
    pub fn mean(&self) -> f64 {
        self.law().mean()
    }

    fn check(&self) -> Result<(), String> {
        match *self {
            Self::Drawn(Distribution::Uniform { min, max }) if min.value() > max.value() => {
                Err("min lies above max: write the smaller one as min".into())
            }
            Self::Drawn(Distribution::Pareto { shape, .. })
                if !(shape > 1.0 && shape.is_finite()) =>
            {
                Err(format!("a shape of {shape} has no mean: write a number above 1"))
            }
            _ => Ok(()),
        }
    }
}

impl<'de, T: Amount> Deserialize<'de> for Spread<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let read = if value.is_object() {
            Distribution::deserialize(value).map(Self::Drawn)
        } else {
            T::deserialize(value).map(Self::Constant)
        };
        let spread = read.map_err(D::Error::custom)?;
        spread.check().map_err(D::Error::custom)?;
        Ok(spread)
    }
}

impl<T: Amount> Serialize for Spread<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(amount) => amount.serialize(serializer),
            Self::Drawn(drawn) => drawn.serialize(serializer),
        }
    }
}

impl<T: Amount> JsonSchema for Spread<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Spread_of_{}", T::schema_name()).into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut generator = inline_generator();
        let constant = T::json_schema(&mut generator);
        let drawn = Distribution::<T>::json_schema(&mut generator);
        schemars::json_schema!({ "anyOf": [constant, drawn] })
    }
}
