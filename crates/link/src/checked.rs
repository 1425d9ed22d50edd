//! Configurations whose values are checked when they are read.

/// Implements `Deserialize` for a configuration that is derived with `remote = "Self"`. After the
/// values are read, its `check(&self) -> Result<(), String>` is called; the error message may
/// contain a path ([`retx_units::choice::error_at`]).
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
