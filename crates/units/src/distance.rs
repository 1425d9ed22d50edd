//! Distances, in millimetres.

use crate::quantity::{UnitTable, quantity};

const UNITS: UnitTable = UnitTable {
    quantity: "a distance",
    example: "\"100 m\"",
    table: &[("mm", 1.0), ("m", 1e3), ("km", 1e6)],
    spellings: &[("meter", "m"), ("meters", "m"), ("metre", "m"), ("metres", "m")],
};

/// Distance in whole millimetres.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Distance(u64);

quantity!(Distance, UNITS, "Distance", r"^\s*[0-9._eE+-]+\s*(mm|m|km)\s*$");

impl Distance {
    const fn from_base(mm: u64) -> Self {
        Self(mm)
    }

    const fn base(self) -> u64 {
        self.0
    }

    /// Distance of `mm` millimetres.
    pub const fn from_mm(mm: u64) -> Self {
        Self(mm)
    }

    /// Length in millimetres.
    pub const fn as_mm(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_itself() {
        let distance: Distance = "0.25 km".parse().unwrap();
        assert_eq!(distance, Distance::from_mm(250_000));
        assert_eq!(distance.to_string(), "250 m");
        assert_eq!("0 m".parse::<Distance>().unwrap().to_string(), "0 mm");
        assert!("12".parse::<Distance>().unwrap_err().to_string().contains("\"100 m\""));
    }
}
