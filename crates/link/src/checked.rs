//! Configurations that check their values when they are read.

/// Implements reading for a configuration derived with `remote = "Self"`: after reading, its
/// `check(&self) -> Result<(), String>` is called, whose message may carry a path
/// ([`retx_units::choice::at`]).
macro_rules! checked {
    ($config:ty) => {
        impl<'de> serde::Deserialize<'de> for $config {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let config = <$config>::deserialize(from)?;
                config.check().map_err(serde::de::Error::custom)?;
                Ok(config)
            }
        }

        impl serde::Serialize for $config {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                <$config>::serialize(self, to)
            }
        }
    };
}
pub(crate) use checked;
