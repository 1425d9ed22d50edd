//! *What it does.* Reno that after a loss sets its threshold to the capacity of the path: estimated
//! bandwidth times minimum RTT.
//!
//! *Reference.* Mascolo, Casetti, Gerla, Sanadidi & Wang, MobiCom 2001. Read: INET
//! `TcpWestwood.cc`.
//!
//! *Equations.* For each ACK, Δ after the previous one, with the credit d_k:
//!
//! - *Bandwidth.* b_k = d_k/Δ and B_k = ((2τ/Δ − 1)·B_{k−1} + b_k + b_{k−1})/(2τ/Δ + 1). After τ/m
//!   without an ACK a sample of 0 is taken.
//! - *Credit.* A duplicate ACK counts one segment, which a later cumulative ACK does not count
//!   again.
//! - *Duplicate ACKs.* ssthresh = max(B·RTTmin, 2 SMSS), cwnd = min(cwnd, ssthresh).
//! - *Timeout.* The same ssthresh, cwnd = 1 SMSS.
//! - *Growth* as `reno`.
//!
//! *Where we differ.* Samples of 0 divide a time without ACKs evenly. Simultaneous ACKs count as
//! one. τ = 0.5 s and m = 2 are from memory, not from the paper; INET uses the constants of τ/Δ =
//! 10 for every Δ. A known fault of the original: compressed ACKs make B too large (see
//! `westwood_plus`).

use super::bandwidth::{Bandwidth, Filter, Tustin};
use super::{Ack, CongestionControl, Loss, Window, reno};
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Reno that sets its threshold to the estimated bandwidth times the smallest RTT (original
/// filter).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Time constant τ of the filter. Paper: 0.5 s.
    #[serde(deserialize_with = "super::number::positive_duration")]
    pub tau: Duration,
    /// Divisor m of τ: after τ/m without an ACK a sample of 0 is taken. Paper: 2 or more.
    pub m: NonZeroU32,
    /// Divide the threshold by a factor from 1 to 4, as INET does. Losses in slow start raise the
    /// factor: by 1/4 for duplicate ACKs, by 1 for a timeout. Losses in congestion avoidance reset
    /// it to 1.
    pub reduction_factor: bool,
    /// Growth in congestion avoidance.
    pub growth: reno::Growth,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tau: Duration::from_millis(500),
            m: NonZeroU32::new(2).expect("two"),
            reduction_factor: false,
            growth: reno::Growth::default(),
        }
    }
}

/// State of Westwood.
#[derive(Debug, Clone)]
pub struct State {
    reno: reno::State,
    bandwidth: Bandwidth,
    reduction_factor: bool,
    /// Divisor in quarters.
    factor: u64,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            reno: reno::State::new(&reno::Config { growth: config.growth }, tcp),
            bandwidth: Bandwidth::new(Filter::Tustin(Tustin::new(config.tau, config.m))),
            reduction_factor: config.reduction_factor,
            factor: 4,
        }
    }

    fn set_ssthresh(&mut self, window: &mut Window, now: Time, quarters: u64) {
        if self.reduction_factor {
            // INET's reduction factor, from 1 to 4, in quarters.
            self.factor = if window.in_slow_start() { (self.factor + quarters).min(16) } else { 4 };
        }
        let estimate = self.bandwidth.bandwidth_delay_product(now).saturating_mul(4) / self.factor;
        window.ssthresh = estimate.max(2 * u64::from(window.smss));
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, smss: u32) {
        self.bandwidth.observe(ack, smss);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        self.reno.restart_growth();
        self.set_ssthresh(window, loss.now, 1);
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, _: bool) {
        self.reno.restart_growth();
        self.set_ssthresh(window, loss.now, 4);
        window.cwnd = window.smss.into();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss, tcp, window};
    use super::*;

    /// State after 10 s at 1 MB/s with a minimum RTT of 30 ms: B·RTTmin is 30 segments.
    fn settled(config: &Config) -> State {
        let mut state = State::new(config, &tcp());
        for n in 0..10_000 {
            let rtt = Some(Duration::from_millis(30 + n % 7));
            state.observe(&Ack { rtt, ..ack(at(n), 1000) }, SMSS);
        }
        state
    }

    #[test]
    fn losses_set_the_threshold_to_the_path() {
        let mut westwood = settled(&Config::default());
        let mut lossy = window(50, 99);
        westwood.on_loss(&mut lossy, &loss(at(9999), 50));
        assert_eq!((lossy.ssthresh, lossy.cwnd), (30_000, 30_000));
        let mut small = window(8, 99);
        westwood.on_loss(&mut small, &loss(at(9999), 8));
        assert_eq!((small.ssthresh, small.cwnd), (30_000, 8000), "never raises cwnd");
        // A second without ACKs gives four samples of 0. The first leaves 0.6 + 0.2 of the rate,
        // each further one 0.6 of the rest.
        let mut idle = window(50, 99);
        westwood.on_timeout(&mut idle, &loss(at(10_999), 50), false);
        assert_eq!((idle.ssthresh, idle.cwnd), (5184, 1000));
    }

    #[test]
    fn without_an_estimate_two_segments() {
        let mut westwood = State::new(&Config::default(), &tcp());
        let mut window = window(50, 99);
        westwood.on_loss(&mut window, &loss(at(5), 50));
        assert_eq!(window.cwnd, 2000);
    }

    #[test]
    fn reduction_factor() {
        let mut westwood = settled(&Config { reduction_factor: true, ..Config::default() });
        let mut threshold = |cwnd, ssthresh, by_timeout| {
            let mut window = window(cwnd, ssthresh);
            if by_timeout {
                westwood.on_timeout(&mut window, &loss(at(9999), cwnd), false);
            } else {
                westwood.on_loss(&mut window, &loss(at(9999), cwnd));
            }
            window.ssthresh / 100
        };
        assert_eq!(threshold(50, 99, false), 240, "30/1.25");
        assert_eq!(threshold(50, 99, true), 133, "30/2.25");
        assert_eq!(threshold(50, 10, false), 300);
        assert_eq!([(); 4].map(|()| threshold(50, 99, true))[3], 75, "30/4");
    }
}
