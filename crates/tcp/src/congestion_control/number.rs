//! Numeric parameters, checked when they are read.

use retx_units::Duration;
use serde::Deserialize as _;
use serde::de::Error;

/// Reads a duration longer than 0 s.
pub(crate) fn positive_duration<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Duration, D::Error> {
    let duration = Duration::deserialize(from)?;
    if duration.is_zero() {
        return Err(D::Error::custom("0 s is refused: write a duration above 0 s"));
    }
    Ok(duration)
}

macro_rules! number {
    ($(#[$meta:meta])* $name:ident, $holds:expr, $what:literal, $schema:tt) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// Creates a number; `None` if it lies outside its range.
            pub fn new(value: f64) -> Option<Self> {
                $holds(value).then_some(Self(value))
            }

            /// Creates a default, which must be in range.
            pub(crate) const fn constant(value: f64) -> Self {
                Self(value)
            }

            /// Value of the number.
            pub const fn value(self) -> f64 {
                self.0
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64(self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = f64::deserialize(deserializer)?;
                Self::new(value)
                    .ok_or_else(|| D::Error::custom(format!("{value} is refused: {}", $what)))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

number!(
    /// A finite number above 0.
    Positive,
    |value: f64| value > 0.0 && value.is_finite(),
    "write a number above 0",
    { "type": "number", "exclusiveMinimum": 0 }
);

number!(
    /// A finite number, 0 or above.
    NotNegative,
    |value: f64| value >= 0.0 && value.is_finite(),
    "write 0 or a number above it",
    { "type": "number", "minimum": 0 }
);

number!(
    /// A number above 0 and below 1.
    Fraction,
    |value: f64| value > 0.0 && value < 1.0,
    "write a number above 0 and below 1",
    { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for refused in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Positive::new(refused).is_none(), "{refused}");
        }
        assert!(Positive::new(1e-9).is_some());
        assert!(NotNegative::new(0.0).is_some() && NotNegative::new(-1e-9).is_none());
        assert!(Fraction::new(0.7).is_some());
        assert!(Fraction::new(0.0).is_none() && Fraction::new(1.0).is_none());
        let error = serde_json::from_str::<Fraction>("1.5").unwrap_err().to_string();
        assert!(error.contains("1.5 is refused: write a number above 0 and below 1"), "{error}");
    }
}
