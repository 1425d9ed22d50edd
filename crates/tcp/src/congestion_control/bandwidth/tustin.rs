//! Westwood's original filter: one sample per ACK, smoothed by a low-pass filter in the bilinear
//! (Tustin) approximation.

use super::AckObservation;
use retx_units::{Duration, Time};
use std::num::NonZeroU32;

/// Filter: B_k = a·B_{k−1} + w·(b_k + b_{k−1}), a = (2τ/Δ − 1)/(2τ/Δ + 1), w = 1/(2τ/Δ + 1).
#[derive(Debug, Clone)]
pub(crate) struct Tustin {
    /// Time constant τ in seconds.
    tau: f64,
    /// Time τ/m without an ACK, in seconds, after which a sample b = 0 is taken.
    ack_timeout: f64,
    rate: f64,
    sample: f64,
    last: Option<Time>,
    /// Bytes credited after the last sample, at the same instant.
    pending: u64,
}

/// Coefficients a and w for an interval of `delta` seconds.
pub(crate) fn coefficients(tau: f64, delta: f64) -> (f64, f64) {
    // Numerators and denominators are multiplied by Δ, so that τ = 0 is possible. It gives a = −1
    // and w = 1: the rate is the newest sample.
    let sum = 2.0 * tau + delta;
    ((2.0 * tau - delta) / sum, delta / sum)
}

impl Tustin {
    pub fn new(tau: Duration, m: NonZeroU32) -> Self {
        let tau = tau.as_secs_f64();
        Self {
            tau,
            ack_timeout: tau / f64::from(m.get()),
            rate: 0.0,
            sample: 0.0,
            last: None,
            pending: 0,
        }
    }

    pub fn on_ack(&mut self, ack: &AckObservation) {
        let Some(last) = self.last else {
            self.last = Some(ack.now);
            // There is no earlier acknowledgment from which an interval could be measured.
            return;
        };
        self.pending = self.pending.saturating_add(ack.bytes);
        let gap = ack.now.since(last);
        if gap.is_zero() {
            return;
        }
        let gap = gap.as_secs_f64();
        // Samples of 0 divide a time without ACKs into equal steps: if the last step were shorter,
        // its sample (bytes divided by time) would be far too large.
        let steps = if gap > self.ack_timeout && self.ack_timeout > 0.0 {
            libm::ceil(gap / self.ack_timeout)
        } else {
            1.0
        };
        let delta = gap / steps;
        (self.rate, self.sample) = self.silent(delta, steps - 1.0);
        let (a, w) = coefficients(self.tau, delta);
        let sample = self.pending as f64 / delta;
        self.rate = a * self.rate + w * (sample + self.sample);
        self.sample = sample;
        self.pending = 0;
        self.last = Some(ack.now);
    }

    /// Rate and last sample after `count` samples of 0. The first of these is averaged with the
    /// sample before it; each later one multiplies the rate by a.
    fn silent(&self, delta: f64, count: f64) -> (f64, f64) {
        if count < 1.0 {
            return (self.rate, self.sample);
        }
        let (a, w) = coefficients(self.tau, delta);
        ((a * self.rate + w * self.sample) * libm::pow(a.max(0.0), count - 1.0), 0.0)
    }

    /// Bandwidth in bytes per second, taking into account the silence since the last ACK.
    pub fn rate(&self, now: Time) -> f64 {
        let silent = self.last.map_or(0.0, |last| now.since(last).as_secs_f64());
        if self.ack_timeout > 0.0 {
            self.silent(self.ack_timeout, libm::floor(silent / self.ack_timeout)).0
        } else {
            self.rate
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::at;
    use super::*;

    const HALF: Duration = Duration::from_millis(500);

    fn tustin() -> Tustin {
        Tustin::new(HALF, NonZeroU32::new(2).unwrap())
    }

    fn feed(filter: &mut Tustin, now: Time, bytes: u64) {
        filter.on_ack(&AckObservation { now, bytes, rtt: None, range: None });
    }

    /// INET's TcpWestwood uses a = 19/21 and w = 1/21 for every interval, the values for Δ = τ/10.
    #[test]
    fn a_tenth_of_tau_gives_inets_constants() {
        let (a, w) = coefficients(0.5, 0.05);
        assert!((a - 19.0 / 21.0).abs() < 1e-15 && (w - 1.0 / 21.0).abs() < 1e-15);
    }

    /// After k samples of b, the estimate is too small by b·(1 − w)·a^(k−1), since the first sample
    /// is averaged with b₀ = 0.
    #[test]
    fn a_constant_stream_converges_to_its_rate() {
        let mut filter = tustin();
        feed(&mut filter, at(0), 1000);
        let (a, w) = coefficients(0.5, 0.05);
        for k in 1..=400 {
            feed(&mut filter, at(50 * k), 1000);
            let rest = 20_000.0 * (1.0 - w) * libm::pow(a, k as f64 - 1.0);
            let rate = filter.rate(at(50 * k));
            assert!((20_000.0 - rate - rest).abs() < 1e-6, "{k}: {rate}");
        }
        assert!((filter.rate(at(20_000)) - 20_000.0).abs() < 1e-6);
    }

    #[test]
    fn acks_of_one_instant_count_together() {
        let (mut one, mut two) = (tustin(), tustin());
        feed(&mut one, at(0), 1);
        feed(&mut two, at(0), 1);
        for k in 1..50 {
            feed(&mut one, at(20 * k), 3000);
            feed(&mut two, at(20 * k), 3000);
            feed(&mut two, at(20 * k), 0);
        }
        assert_eq!(one.rate.to_bits(), two.rate.to_bits());
        feed(&mut one, at(1000), 5000);
        feed(&mut two, at(980), 2000);
        feed(&mut two, at(1000), 3000);
        assert_eq!(one.rate.to_bits(), two.rate.to_bits());
    }

    /// Samples of 0 are taken while no ACK arrives, every Δ = τ/2 (m = 2). Each of them multiplies
    /// the rate by a = (2τ/Δ − 1)/(2τ/Δ + 1) = 3/5.
    #[test]
    fn silence_lets_the_rate_fall() {
        let mut filter = tustin();
        (filter.rate, filter.last) = (1000.0, Some(at(0)));
        assert!((filter.rate(at(249)) - 1000.0).abs() < 1e-9);
        assert!((filter.rate(at(250)) - 600.0).abs() < 1e-9);
        assert!((filter.rate(at(1000)) - 129.6).abs() < 1e-9);
        // One ACK per second at a constant rate: zeros in between do not change the mean.
        for k in 1..100 {
            feed(&mut filter, at(1000 * k), 8000);
        }
        let (a, w) = coefficients(0.5, 0.25);
        // Each second has a sample b = 8000 bytes/0.25 s at the ACK, and three samples of 0. In
        // equilibrium the rate after the ACK is w·b·(1 + a³)/(1 − a⁴).
        let expected = w * 32_000.0 * (1.0 + a * a * a) / (1.0 - a * a * a * a);
        assert!((filter.rate(at(99_000)) - expected).abs() < 1e-6, "{expected}");
    }

    /// τ = 0: no samples of 0 are taken, and B_k = −B_{k−1} + b_k + b_{k−1}. The mean of two
    /// successive rates is thus that of the two samples; from B = b = 0 on, B_k = b_k.
    #[test]
    fn without_a_time_constant_two_samples_are_averaged() {
        let mut filter = Tustin::new(Duration::ZERO, NonZeroU32::new(2).unwrap());
        for (ms, bytes, rate) in
            [(0, 1000, 0.0), (100, 1000, 10_000.0), (200, 3000, 30_000.0), (300, 1000, 10_000.0)]
        {
            feed(&mut filter, at(ms), bytes);
            assert!((filter.rate(at(ms)) - rate).abs() < 1e-6, "{ms}: {}", filter.rate(at(ms)));
        }
    }
}
