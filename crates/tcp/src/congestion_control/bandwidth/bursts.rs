//! Bandwidth from bursts of acknowledgments, in the manner that Prairie's abstract describes.

use super::AckObservation;
use retx_units::{Duration, Time};

/// Assumed resolution of the clock: shorter gaps do not end a burst.
const CLOCK: Duration = Duration::from_millis(1);
/// A gap ends a burst if it exceeds this multiple of the mean gap within bursts.
const GAP: u64 = 4;

/// Upper bound of a gap between ACKs; a longer one counts as this long.
const LONGEST: Duration = Duration::from_secs(100_000_000);

/// Current burst of ACKs, and the bandwidth estimated from bursts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bursts {
    burst: Option<Burst>,
    /// Mean gap between ACKs within bursts.
    spacing: Option<Duration>,
    rate: Option<f64>,
}

/// Current burst.
#[derive(Debug, Clone, Copy)]
struct Burst {
    first: Time,
    last: Time,
    bytes: u64,
    /// True if the burst has more than one ACK.
    several: bool,
}

impl Bursts {
    pub fn on_ack(&mut self, ack: &AckObservation) {
        let AckObservation { now, bytes, .. } = *ack;
        let Some(burst) = &mut self.burst else {
            self.burst = Some(Burst { first: now, last: now, bytes, several: false });
            return;
        };
        let gap = now.since(burst.last).min(LONGEST);
        let spacing = self.spacing.get_or_insert(gap);
        let ends = gap > (*spacing * GAP).max(CLOCK);
        if !ends || !burst.several {
            // A gap that ends a burst is a pause, not a spacing. But if the burst was a single ACK,
            // the known spacing is out of date.
            *spacing = (*spacing * 7 + gap) / 8;
        }
        let round_trip = ack.rtt.is_some_and(|rtt| now.since(burst.first) >= rtt);
        if (ends || round_trip) && self.take_sample(gap, ack) {
            self.burst = Some(Burst { first: now, last: now, bytes, several: false });
        } else if let Some(burst) = &mut self.burst {
            burst.last = now;
            burst.bytes = burst.bytes.saturating_add(bytes);
            burst.several = true;
        }
    }

    /// Evaluates a burst that ended `gap` before this ACK. Returns false if the burst lasted no
    /// time; it then continues.
    fn take_sample(&mut self, gap: Duration, ack: &AckObservation) -> bool {
        let Some(burst) = self.burst else { return false };
        // The last ACK of a burst takes one spacing as well; the rest of the gap is the pause
        // between the bursts.
        let own = self.spacing.unwrap_or(gap).min(gap);
        let on = burst.last.since(burst.first).min(LONGEST) + own;
        let congestion = match (ack.range, ack.rtt) {
            (Some(range), Some(rtt)) => range.position(rtt).clamp(0.0, 1.0),
            _ => 0.0,
        };
        let time = on.as_secs_f64() + congestion * (gap - own).as_secs_f64();
        if time <= 0.0 {
            return false;
        }
        let sample = burst.bytes as f64 / time;
        self.rate = Some(self.rate.map_or(sample, |rate| 0.9 * rate + 0.1 * sample));
        true
    }

    /// Bandwidth in bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::at;
    use super::super::RttRange;
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn smooth(every: u64) -> f64 {
        let mut bursts = Bursts::default();
        for n in 0..2000 {
            let range = Some(RttRange { least: ms(50), largest: ms(100) });
            bursts.on_ack(&AckObservation {
                now: at(every * n),
                bytes: 1000,
                rtt: Some(ms(75)),
                range,
            });
        }
        bursts.rate()
    }

    #[test]
    fn a_constant_stream_converges_to_its_rate() {
        for every in [1, 4, 40] {
            let (rate, expected) = (smooth(every), 1e6 / every as f64);
            assert!((rate / expected - 1.0).abs() < 1e-6, "{rate}, not {expected}");
        }
    }

    #[test]
    fn the_spacing_follows_a_slower_path() {
        let mut bursts = Bursts::default();
        let range = Some(RttRange { least: ms(50), largest: ms(150) });
        let mut now = 0;
        for n in 0..1000 {
            now += if n < 500 { 1 } else { 20 };
            bursts.on_ack(&AckObservation { now: at(now), bytes: 1000, rtt: Some(ms(50)), range });
        }
        assert!((bursts.rate() - 50_000.0).abs() < 1.0, "{}", bursts.rate());
    }

    /// Ten ACKs at 1 ms, then a pause: without congestion the estimate is the rate within the
    /// burst, with full congestion that of the whole period, otherwise a value in between.
    #[test]
    fn the_off_period_counts_by_congestion() {
        let rate = |rtt| {
            let mut bursts = Bursts::default();
            let range = Some(RttRange { least: ms(50), largest: ms(150) });
            for burst in 0..300 {
                for n in 0..10 {
                    let now = at(100 * burst + n);
                    bursts.on_ack(&AckObservation { now, bytes: 1000, rtt: Some(ms(rtt)), range });
                }
            }
            bursts.rate()
        };
        assert!((rate(50) - 1e6).abs() < 1.0, "{}", rate(50));
        assert!((rate(150) - 1e5).abs() < 1.0, "{}", rate(150));
        // With half of the full congestion, a sample covers the burst of 10 ms and half of the
        // pause of 90 ms.
        assert!((rate(100) - 10_000.0 / 0.055).abs() < 1.0, "{}", rate(100));
    }
}
