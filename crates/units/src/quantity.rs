//! Quantities as text, a number with a unit: `"20 ms"`, `"1.5 Mbit/s"`.

use std::fmt;

/// Error for a text that is not a quantity; its message states what was found and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError {
    message: String,
}

impl QuantityError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for QuantityError {}

/// Name of a quantity, and its units, each with the number of base units in it.
pub(crate) struct UnitTable {
    pub quantity: &'static str,
    pub example: &'static str,
    pub table: &'static [(&'static str, f64)],
    /// Other spellings, in lower case, each with the unit that is meant.
    pub spellings: &'static [(&'static str, &'static str)],
}

impl UnitTable {
    /// Reads a non-negative number and its unit; the result is rounded to whole base units.
    pub fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-' | 'e' | 'E')))
            .unwrap_or(trimmed.len());
        let (mut number, mut unit) = trimmed.split_at(split);
        number = number.trim();
        // The Greek letter mu, which keyboards and NFKC produce, stands for the micro sign, too.
        let micro = unit.trim().replace('\u{3bc}', "\u{b5}");
        unit = &micro;
        let value: f64 = number.replace('_', "").parse().map_err(|_| {
            QuantityError::new(format!(
                "\"{text}\" is not {}: write it like {}",
                self.quantity, self.example
            ))
        })?;
        if unit.is_empty() {
            return Err(QuantityError::new(format!(
                "\"{text}\" lacks a unit: write {} like {}",
                self.quantity, self.example
            )));
        }
        let Some((_, scale)) = self.table.iter().find(|(name, _)| *name == unit) else {
            let names: Vec<&str> = self.table.iter().map(|(name, _)| *name).collect();
            let (known, unknown) =
                (names.join(", "), format!("unknown unit \"{unit}\" in \"{text}\""));
            let spelled = || self.spelling(unit).map(|meant| format!("{number} {meant}"));
            return Err(QuantityError::new(match self.in_bits(value, unit).or_else(spelled) {
                Some(meant) => {
                    format!(
                        "{unknown}, did you mean \"{meant}\"? ({} takes {known})",
                        self.quantity
                    )
                }
                None => format!("{unknown}: {} takes {known}", self.quantity),
            }));
        };
        if value < 0.0 {
            return Err(QuantityError::new(format!(
                "\"{text}\" is negative: {} cannot be",
                self.quantity
            )));
        }
        let base = libm::round(value * scale);
        if !base.is_finite() || base >= u64::MAX as f64 / 4.0 {
            return Err(QuantityError::new(format!(
                "\"{text}\" is too large for {}",
                self.quantity
            )));
        }
        let whole = exact(number, *scale as u128).unwrap_or(base as u64);
        if whole == 0 && value > 0.0 {
            let least =
                self.table.iter().find(|(_, scale)| *scale as u64 == 1).map_or(unit, |it| it.0);
            return Err(QuantityError::new(format!(
                "\"{text}\" is too small for {}, whose least is 1 {least}",
                self.quantity
            )));
        }
        Ok(whole)
    }

    /// Text of a rate in bits for one given in bytes (with an upper-case B): `400 Mbit/s` for `50
    /// MB/s`.
    fn in_bits(&self, value: f64, unit: &str) -> Option<String> {
        let prefix = unit.strip_suffix("B/s").or_else(|| unit.strip_suffix("Bps"))?;
        let meant = format!("{}bit/s", prefix.replace('K', "k"));
        let is_rate = self.table.iter().any(|(name, _)| *name == meant);
        is_rate.then(|| format!("{} {meant}", 8.0 * value))
    }

    /// Unit that is meant by another spelling.
    fn spelling(&self, unit: &str) -> Option<&'static str> {
        let lower = unit.to_lowercase();
        let meant = self.spellings.iter().find(|(spelling, _)| *spelling == lower);
        // A unit may differ only in case, such as Ms for ms.
        meant.map(|(_, unit)| *unit).or_else(|| {
            self.table.iter().map(|(name, _)| *name).find(|name| name.to_lowercase() == lower)
        })
    }

    /// Writes the shortest exact text, in the largest unit that allows one; minutes and hours are
    /// used only if they are whole.
    pub fn format(&self, base: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut best = self.table[0];
        for (name, scale) in self.table {
            let whole = *scale as u64;
            let fits = base >= whole && (is_power_of_ten(whole) || base.is_multiple_of(whole));
            if (fits && *scale > best.1) || (base == 0 && (*scale - 1e9).abs() < 0.5) {
                best = (*name, *scale);
            }
        }
        let scale = best.1 as u64;
        write!(f, "{}", base / scale)?;
        if !base.is_multiple_of(scale) {
            let digits = scale.ilog10() as usize;
            let fraction = format!("{:0digits$}", base % scale);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        write!(f, " {}", best.0)
    }

    /// Error for a bare number where a unit is required.
    pub fn missing_unit(&self, value: impl fmt::Display) -> QuantityError {
        QuantityError::new(format!(
            "{value} lacks a unit: write {} like {}",
            self.quantity, self.example
        ))
    }
}

/// Multiplies a decimal number by `scale` and rounds to the nearest integer without floating point;
/// `None` for numbers with an exponent or too many digits.
fn exact(number: &str, scale: u128) -> Option<u64> {
    const DIGITS_MAX: usize = 20;
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let plain = |digits: &str| {
        digits.len() <= DIGITS_MAX && digits.bytes().all(|digit| digit.is_ascii_digit())
    };
    if !plain(whole) || !plain(fraction) {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let ten = 10_u128.pow(fraction.len() as u32);
    let base = digits(whole)? * scale + (digits(fraction)? * scale + ten / 2) / ten;
    u64::try_from(base).ok()
}

fn is_power_of_ten(number: u64) -> bool {
    10_u64.pow(number.ilog10()) == number
}

/// Implements text in and out, serde and JSON Schema for a newtype over `u64` base units.
macro_rules! quantity {
    ($type:ident, $units:expr, $schema_name:literal, $pattern:literal) => {
        impl std::str::FromStr for $type {
            type Err = crate::QuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $units.parse(text).map($type::from_base)
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $units.format(self.base(), f)
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "{} like {}", $units.quantity, $units.example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<$type, E> {
                        Err(E::custom($units.missing_unit(value)))
                    }
                    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<$type, E> {
                        Err(E::custom($units.missing_unit(value)))
                    }
                    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<$type, E> {
                        Err(E::custom($units.missing_unit(value)))
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $schema_name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": $pattern,
                    "description": "a number with its unit"
                })
            }
        }
    };
}
pub(crate) use quantity;
