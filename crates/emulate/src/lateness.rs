//! Lateness of packets: time from the departure that the models compute to the actual departure.

use hdrhistogram::Histogram;
use retx_units::Duration;
use serde::Serialize;

/// Largest lateness that the histogram can hold, in nanoseconds.
const MOST: u64 = 60_000_000_000;

/// Distribution of lateness.
#[derive(Debug, Clone)]
pub struct Lateness {
    /// Histogram in nanoseconds, with three significant digits.
    histogram: Histogram<u32>,
}

/// Statistics of lateness.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LatenessSummary {
    pub packets: u64,
    /// Mean, seconds; `None` if there was no packet.
    pub mean_s: Option<f64>,
    pub p50_s: Option<f64>,
    pub p90_s: Option<f64>,
    pub p99_s: Option<f64>,
    pub p999_s: Option<f64>,
    pub max_s: Option<f64>,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, MOST, 3).expect("sound bounds");
        Self { histogram }
    }
}

impl Lateness {
    /// Adds a packet.
    pub fn record(&mut self, late: Duration) {
        // The histogram cannot hold 0, so 0 is recorded as 1 ns.
        self.histogram.saturating_record(late.as_nanos().max(1));
    }

    /// Lateness that `share` percent of the packets do not exceed.
    pub fn percentile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.histogram.value_at_percentile(share))
    }

    /// Computes the statistics.
    pub fn summary(&self) -> LatenessSummary {
        let histogram = &self.histogram;
        let some = |seconds: f64| (!histogram.is_empty()).then_some(seconds);
        let at = |share: f64| some(self.percentile(share).as_secs_f64());
        LatenessSummary {
            packets: histogram.len(),
            mean_s: some(histogram.mean() / 1e9),
            p50_s: at(50.0),
            p90_s: at(90.0),
            p99_s: at(99.0),
            p999_s: at(99.9),
            max_s: some(histogram.max() as f64 / 1e9),
        }
    }
}

/// Formats a measured duration for messages, with three digits and the micro sign in its unit.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let step = 10_u64.pow(nanos.checked_ilog10().unwrap_or(0).saturating_sub(2));
    let rounded = Duration::from_nanos((nanos + step / 2) / step * step);
    rounded.to_string().replace(" us", " µs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_messages_have_three_digits() {
        let of = |nanos| format_duration(Duration::from_nanos(nanos));
        assert_eq!(of(73_023), "73 µs");
        assert_eq!(of(7_664), "7.66 µs");
        assert_eq!(of(999_960), "1 ms");
        assert_eq!(of(1_234_567_890), "1.23 s");
        assert_eq!([of(0), of(7)], ["0 s", "7 ns"]);
    }

    #[test]
    fn quantiles_of_known_samples() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.summary().p99_s, None);
        for micros in 1..=1000 {
            lateness.record(Duration::from_micros(micros));
        }
        let summary = lateness.summary();
        assert_eq!(summary.packets, 1000);
        // The histogram keeps three significant digits.
        let near = |value: Option<f64>, expected: f64| {
            assert!((value.expect("there are samples") / expected - 1.0).abs() < 2e-3, "{value:?}");
        };
        near(summary.mean_s, 500.5e-6);
        near(summary.p50_s, 500e-6);
        near(summary.p99_s, 990e-6);
        near(summary.max_s, 1000e-6);
    }
}
