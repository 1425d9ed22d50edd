//! Spacing of segments at the receiver, as observed through the spacing of ACKs.
//!
//! An ACK of several segments counts as that many, evenly spaced, so that delayed ACKs do not
//! matter. The first ACK that reports out-of-order data reveals a gap. The duration of the gap is
//! the time since the previous ACK, minus the spacing of the other segments that this first ACK
//! reports. Without SACK the gap stays hidden if its first ACK also acknowledges a segment whose
//! ACK was delayed; the next duplicate then looks as if nothing had been lost. Spacings are not
//! taken from ACKs during recovery, which concern retransmissions, nor from simultaneous ACKs.

use crate::congestion_control::Ack;
use retx_units::Time;

/// Gain of the mean spacing.
const GAIN: f64 = 0.125;

/// Spacings, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Spacing {
    last_ack: Option<Time>,
    min: Option<f64>,
    mean: f64,
    /// True while data are missing at the receiver.
    in_gap: bool,
    /// Time between the arrivals of the segments before and after the gap.
    gap: Option<f64>,
}

impl Spacing {
    /// Handles an ACK; `smss` is the payload of a segment.
    pub fn on_ack(&mut self, ack: &Ack, smss: u32) {
        let passed = self.last_ack.replace(ack.now).map(|last| ack.now.since(last));
        let passed = passed.map(|passed| passed.as_nanos() as f64);
        let segments = (ack.delivered as f64 / f64::from(smss)).max(1.0);
        if ack.delivered > ack.bytes_acked {
            if !std::mem::replace(&mut self.in_gap, true) {
                let others = (segments - 1.0) * self.min.unwrap_or(0.0);
                self.gap = passed.map(|passed| passed - others);
            }
            return;
        }
        if ack.bytes_acked == 0 {
            return;
        }
        self.in_gap = false;
        if let Some(passed) = passed.filter(|passed| *passed > 0.0)
            && !ack.in_recovery
        {
            let spacing = passed / segments;
            self.mean = match self.min {
                Some(_) => self.mean + GAIN * (spacing - self.mean),
                None => spacing,
            };
            self.min = Some(self.min.map_or(spacing, |min| min.min(spacing)));
        }
    }

    /// Smallest spacing so far.
    pub fn min(&self) -> Option<f64> {
        self.min
    }

    /// Mean spacing divided by the smallest, at least 1.
    pub fn normalised_mean(&self) -> Option<f64> {
        self.min.map(|min| self.mean / min)
    }

    /// Time between the arrivals around the current gap.
    pub fn gap(&self) -> Option<f64> {
        self.gap.filter(|_| self.in_gap)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{duplicate, unsampled};
    use super::*;

    fn after(acks: &[Ack]) -> Spacing {
        let mut spacing = Spacing::default();
        acks.iter().for_each(|ack| spacing.on_ack(ack, 1_000));
        spacing
    }

    fn of_bytes(micros: u64, bytes: u64) -> Ack {
        Ack { bytes_acked: bytes, delivered: bytes, ..unsampled(micros) }
    }

    /// 2 ms for one segment, 3 ms for two, 1.2 ms for less than one: 2, 1.5, 1.2 ms each; the mean
    /// goes 2 → 1.9375 → 1.8453125.
    #[test]
    fn spacings_are_per_segment() {
        let spacing =
            after(&[unsampled(0), unsampled(2_000), of_bytes(5_000, 2_000), of_bytes(6_200, 100)]);
        assert_eq!(spacing.min(), Some(1.2e6));
        assert_eq!(spacing.normalised_mean(), Some(1.845_312_5 / 1.2));
    }

    #[test]
    fn acks_at_one_instant_and_of_retransmissions_do_not_count() {
        let recovering = Ack { in_recovery: true, ..of_bytes(2_001, 9_000) };
        let spacing = after(&[unsampled(0), unsampled(2_000), unsampled(2_000), recovering]);
        assert_eq!(spacing.min(), Some(2e6));
    }

    /// The gap is the time between the last ACK of new data and the first duplicate ACK after it.
    /// The gap is reported until the next ACK of new data.
    #[test]
    fn the_first_duplicate_tells_of_the_gap() {
        let mut acks = vec![unsampled(0), unsampled(1_000), duplicate(3_100), duplicate(9_000)];
        assert_eq!(after(&acks).gap(), Some(2.1e6));
        acks.push(Ack { bytes_acked: 0, delivered: 0, ..unsampled(9_500) });
        assert_eq!(after(&acks).gap(), Some(2.1e6));
        acks.push(unsampled(9_900));
        assert_eq!(after(&acks).gap(), None);
        acks.push(duplicate(10_500));
        assert_eq!(after(&acks).gap(), Some(0.6e6));
        assert_eq!(after(&[duplicate(5)]).gap(), None, "nothing before it");
    }

    /// With SACK the ACK reports both the last segment before the gap and the first after it.
    #[test]
    fn a_delayed_ack_before_the_gap() {
        let both = Ack { bytes_acked: 1_000, delivered: 2_000, ..unsampled(4_000) };
        let spacing = after(&[unsampled(0), unsampled(1_000), both]);
        assert_eq!(spacing.gap(), Some(2e6));
    }
}
