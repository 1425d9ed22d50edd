//! Instants and durations, in whole nanoseconds.

use crate::quantity::{UnitTable, quantity};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

const UNITS: UnitTable = UnitTable {
    quantity: "a duration",
    example: "\"20 ms\" or \"2.5 s\"",
    table: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("h", 3600e9),
    ],
    spellings: &[
        ("msec", "ms"),
        ("millisecond", "ms"),
        ("milliseconds", "ms"),
        ("usec", "us"),
        ("microseconds", "us"),
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("m", "min"),
        ("mins", "min"),
        ("minute", "min"),
        ("minutes", "min"),
        ("hour", "h"),
        ("hours", "h"),
    ],
};

/// Length of time in whole nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

quantity!(Duration, UNITS, "Duration", r"^\s*[0-9._eE+-]+\s*(ns|us|[µμ]s|ms|s|min|h)\s*$");

impl Duration {
    /// Zero length.
    pub const ZERO: Self = Self(0);
    /// Largest duration, longer than any run.
    pub const MAX: Self = Self(u64::MAX / 4);

    const fn from_base(nanos: u64) -> Self {
        Self(nanos)
    }

    const fn base(self) -> u64 {
        self.0
    }

    /// Duration of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Duration of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// Duration of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Duration of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// Duration of `secs` seconds, rounded to whole nanoseconds; negative values and NaN become
    /// zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(libm::round(secs * 1e9) as u64).min(Self::MAX)
    }

    /// Length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Length in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// True if the length is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Difference of two durations, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Absolute difference of two durations.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Product, saturating at [`Duration::MAX`].
    pub fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor)).min(Self::MAX)
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

/// Instant, in nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// Start of a run.
    pub const ZERO: Self = Self(0);
    /// Instant later than any event.
    pub const NEVER: Self = Self(u64::MAX);

    /// Instant `nanos` nanoseconds after the start of the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time elapsed since `earlier`; zero if `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// First multiple of `step` at or after this instant; the instant itself if `step` is zero.
    pub const fn align_up(self, step: Duration) -> Self {
        if step.0 == 0 { self } else { Self(self.0.div_ceil(step.0) * step.0) }
    }

    /// Last multiple of `step` at or before this instant; the instant itself if `step` is zero.
    pub const fn align_down(self, step: Duration) -> Self {
        if step.0 == 0 { self } else { Self(self.0 - self.0 % step.0) }
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration.0)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["20 ms", "2.5 s", "0 s", "90 min", "1 ns", "1.25 us", "2700 s", "200 ms"] {
            let duration: Duration = text.parse().unwrap();
            assert_eq!(duration.to_string().parse::<Duration>().unwrap(), duration, "{text}");
        }
        assert_eq!("20ms".parse::<Duration>().unwrap(), Duration::from_millis(20));
        assert_eq!("1e-3 s".parse::<Duration>().unwrap(), Duration::from_millis(1));
        assert_eq!(Duration::from_millis(20).to_string(), "20 ms");
        assert_eq!(Duration::ZERO.to_string(), "0 s");
        assert_eq!(Duration::from_secs(64).to_string(), "64 s");
        assert_eq!(Duration::from_secs(5400).to_string(), "90 min");
        assert_eq!(Duration::from_micros(1_250).to_string(), "1.25 ms");
    }

    proptest::proptest! {
        #[test]
        fn text_is_exact(nanos in 0..=Duration::MAX.as_nanos() / 2) {
            let duration = Duration::from_nanos(nanos);
            proptest::prop_assert_eq!(duration.to_string().parse::<Duration>().unwrap(), duration);
        }
    }

    #[test]
    fn both_letters_for_micro_are_read() {
        for text in ["20 \u{b5}s", "20 \u{3bc}s"] {
            assert_eq!(text.parse::<Duration>().unwrap(), Duration::from_nanos(20_000));
        }
    }

    #[test]
    fn refusals_say_what_instead() {
        let error = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
        assert!(error("20").contains("lacks a unit"));
        assert!(error("20 parsec").contains("takes ns, us"));
        assert!(error("-3 s").contains("negative"));
        assert!(error("soon").contains("is not a duration"));
        assert!(error("1e300 h").contains("too large"));
        let small = "\"0.4 ns\" is too small for a duration, whose least is 1 ns";
        assert_eq!(error("0.4 ns"), small);
        assert!(error("1e-30 s").contains("too small"));
        assert_eq!("0.5 ns".parse(), Ok(Duration::from_nanos(1)));
        assert_eq!("0e3 s".parse(), Ok(Duration::ZERO));
    }

    #[test]
    fn grid() {
        let half = Duration::from_millis(500);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!(at(1001).align_up(half), at(1500));
        assert_eq!(at(1000).align_up(half), at(1000));
        assert_eq!(at(999).align_down(half), at(500));
        assert_eq!(at(999).align_up(Duration::ZERO), at(999));
    }
}
