//! Transmission rates, in bits per second.

use crate::Duration;
use crate::quantity::{UnitTable, quantity};

const UNITS: UnitTable = UnitTable {
    quantity: "a rate",
    example: "\"10 Mbit/s\"",
    table: &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("Tbit/s", 1e12)],
    spellings: &[
        ("b/s", "bit/s"),
        ("bps", "bit/s"),
        ("k", "kbit/s"),
        ("kb/s", "kbit/s"),
        ("kbit", "kbit/s"),
        ("kbps", "kbit/s"),
        ("m", "Mbit/s"),
        ("mb/s", "Mbit/s"),
        ("mbit", "Mbit/s"),
        ("mbps", "Mbit/s"),
        ("g", "Gbit/s"),
        ("gb/s", "Gbit/s"),
        ("gbit", "Gbit/s"),
        ("gbps", "Gbit/s"),
    ],
};

/// Rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

quantity!(Rate, UNITS, "Rate", r"^\s*[0-9._eE+-]+\s*(|k|M|G|T)bit/s\s*$");

impl Rate {
    const fn from_base(bit_s: u64) -> Self {
        Self(bit_s)
    }

    const fn base(self) -> u64 {
        self.0
    }

    /// Rate of `bit_s` bits per second.
    pub const fn from_bit_s(bit_s: u64) -> Self {
        Self(bit_s)
    }

    /// Rate in bits per second.
    pub const fn as_bit_s(self) -> u64 {
        self.0
    }

    /// Time to transmit `bytes` at this rate, rounded to the nearest nanosecond.
    ///
    /// # Panics
    /// If the rate is zero; scenarios refuse a constant rate of zero.
    pub const fn transmission_time(self, bytes: u32) -> Duration {
        let bit_nanos = bytes as u64 * 8_000_000_000;
        Duration::from_nanos((bit_nanos + self.0 / 2) / self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_time() {
        let ten: Rate = "10 Mbit/s".parse().unwrap();
        assert_eq!(ten.transmission_time(1538), Duration::from_nanos(1_230_400));
        assert_eq!(Rate::from_bit_s(3).transmission_time(1), Duration::from_nanos(2_666_666_667));
        assert_eq!(ten.to_string(), "10 Mbit/s");
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        // Largest packet and largest overhead of a link, at the lowest rate and at the highest.
        let bytes = 2 * u32::from(u16::MAX);
        let longest = Duration::from_secs(8 * u64::from(bytes));
        assert_eq!(Rate::from_bit_s(1).transmission_time(bytes), longest);
        let highest = "4611686 Tbit/s".parse::<Rate>().unwrap();
        assert_eq!(highest.transmission_time(bytes), Duration::ZERO);
        for text in ["4611687 Tbit/s", "99999999999999999999.99999999999999999999 Tbit/s"] {
            assert!(text.parse::<Rate>().unwrap_err().to_string().contains("too large"), "{text}");
        }
    }

    #[test]
    fn refusals() {
        assert!("10".parse::<Rate>().unwrap_err().to_string().contains("\"10 Mbit/s\""));
        let error_of = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        for text in ["10 Mbps", "10Mbit", "10 mbit/s", "10 Mb/s", "10M"] {
            assert!(error_of(text).contains("did you mean \"10 Mbit/s\"?"), "{}", error_of(text));
        }
        for (text, meant) in [("50 MB/s", "400 Mbit/s"), ("1.5 KB/s", "12 kbit/s")] {
            let error = error_of(text);
            assert!(error.contains(&format!("did you mean \"{meant}\"?")), "{error}");
        }
        assert!(!error_of("10 parsec").contains("did you mean"));
        assert!("-1 bit/s".parse::<Rate>().unwrap_err().to_string().contains("negative"));
    }
}
