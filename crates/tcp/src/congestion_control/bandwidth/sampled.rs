//! Filter of Westwood+: one sample per round trip.

use super::AckObservation;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shortest interval of a sample.
const SHORTEST: Duration = Duration::from_millis(50);

/// Smoothing of Westwood+'s samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Smoothing {
    /// B = 0.9·B + 0.1·b (Grieco & Mascolo 2004, ns-3).
    #[default]
    Single,
    /// Two filters in series, each of which computes 7/8·old + 1/8·new (Linux).
    Cascade,
}

/// Filter whose samples are the bytes credited per unit of time, over intervals longer than both
/// the RTT and 50 ms.
#[derive(Debug, Clone)]
pub(crate) struct SampledFilter {
    smoothing: Smoothing,
    began: Option<Time>,
    bytes: u64,
    /// Outputs of the first and of the last filter; `None` before the first sample.
    rates: Option<(f64, f64)>,
}

impl SampledFilter {
    pub fn new(smoothing: Smoothing) -> Self {
        Self { smoothing, began: None, bytes: 0, rates: None }
    }

    pub fn on_ack(&mut self, ack: &AckObservation) {
        let began = *self.began.get_or_insert(ack.now);
        let interval = ack.now.since(began);
        if interval > ack.rtt.map_or(SHORTEST, |rtt| rtt.max(SHORTEST)) {
            self.sample(self.bytes as f64 / interval.as_secs_f64());
            self.began = Some(ack.now);
            self.bytes = 0;
        }
        // As in `tcp_westwood_ack`, the acknowledgment that ends an interval counts for the next
        // one.
        self.bytes = self.bytes.saturating_add(ack.bytes);
    }

    fn sample(&mut self, sample: f64) {
        let Some((first, last)) = self.rates else {
            // A filter that starts at 0 would need about ten samples to reach the rate.
            self.rates = Some((sample, sample));
            return;
        };
        self.rates = Some(match self.smoothing {
            Smoothing::Single => {
                let rate = 0.9 * last + 0.1 * sample;
                (rate, rate)
            }
            Smoothing::Cascade => {
                let first = (7.0 * first + sample) / 8.0;
                (first, (7.0 * last + first) / 8.0)
            }
        });
    }

    /// Bandwidth in bytes per second.
    pub fn rate(&self) -> f64 {
        self.rates.map_or(0.0, |(_, last)| last)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::at;
    use super::*;

    fn fed(smoothing: Smoothing, rate: impl Fn(u64) -> u64, acks: u64) -> SampledFilter {
        let mut filter = SampledFilter::new(smoothing);
        for n in 0..acks {
            let rtt = Some(Duration::from_millis(100));
            filter.on_ack(&AckObservation { now: at(10 * n), bytes: rate(n), rtt, range: None });
        }
        filter
    }

    #[test]
    fn a_constant_stream_is_exact_from_the_first_sample() {
        for smoothing in [Smoothing::Single, Smoothing::Cascade] {
            assert!(fed(smoothing, |_| 1000, 11).rate().abs() < 1e-9, "not after one RTT exactly");
            for acks in [12, 50, 500] {
                let rate = fed(smoothing, |_| 1000, acks).rate();
                assert!((rate - 100_000.0).abs() < 1e-6, "{rate} after {acks}");
            }
        }
    }

    /// The rate doubles with ACK 110; samples are taken every 11 ACKs.
    #[test]
    fn steps() {
        let step = |smoothing, samples: u64| {
            fed(smoothing, |n| if n < 110 { 1000 } else { 2000 }, 111 + 11 * samples).rate()
        };
        assert!((step(Smoothing::Single, 1) - 110_000.0).abs() < 1e-6);
        assert!((step(Smoothing::Single, 2) - 119_000.0).abs() < 1e-6);
        assert!((step(Smoothing::Cascade, 1) - 101_562.5).abs() < 1e-6);
        // First filter: (7·112500 + 200000)/8 = 123437.5; last filter: (7·101562.5 + 123437.5)/8.
        assert!((step(Smoothing::Cascade, 2) - 104_296.875).abs() < 1e-6);
    }
}
