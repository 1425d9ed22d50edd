//! Saturation throughput compared with the model of Bianchi 2000, extended by the retry limit.
//!
//! *Equations.* A packet's attempts are the stages 0 … R − 1; in stage i the station draws a
//! backoff from 0 … W_i − 1. With p the probability that an attempt collides, a packet takes on
//! average Σ p^i attempts and Σ p^i (W_i + 1)/2 slots, so that a station transmits in a slot with
//! probability τ = Σ p^i / Σ p^i (W_i + 1)/2, and p = 1 − (1 − τ)^(n−1) for n stations. R → ∞ gives
//! Bianchi's eq. 7.

use super::rig::{Rig, config_of, packet};
use crate::wlan::{Config, Departure, Parameters, Standard};
use retx_units::Duration;

/// Largest number of attempts per packet.
const ATTEMPTS: i32 = 7;

struct Chain {
    tau: f64,
    n: f64,
}

impl Chain {
    fn new(parameters: &Parameters, n: u32, attempts: i32) -> Self {
        let n = f64::from(n);
        let window = |stage: i32| {
            let doubled = f64::from(parameters.cw_min + 1) * 2f64.powi(stage.min(30));
            doubled.min(f64::from(parameters.cw_max + 1))
        };
        let tau = |p: f64| {
            let sum = |term: &dyn Fn(i32) -> f64| -> f64 {
                (0..attempts).map(|stage| p.powi(stage) * term(stage)).sum()
            };
            sum(&|_| 1.0) / sum(&|stage| (window(stage) + 1.0) / 2.0)
        };
        // Solve for p by bisection, since 1 − (1 − τ(p))^(n−1) falls as p grows.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..200 {
            let p = (low + high) / 2.0;
            if 1.0 - (1.0 - tau(p)).powf(n - 1.0) > p {
                low = p;
            } else {
                high = p;
            }
        }
        Self { tau: tau(low), n }
    }

    /// Payload throughput in bit/s.
    fn throughput(&self, parameters: &Parameters, bytes: u32, after_collision: Duration) -> f64 {
        let Self { tau, n } = *self;
        let seconds = Duration::as_secs_f64;
        let some = 1.0 - (1.0 - tau).powf(n);
        let one = n * tau * (1.0 - tau).powf(n - 1.0);
        let d = parameters.propagation;
        let data = parameters.airtime(bytes + parameters.mac_overhead, parameters.rate) + d;
        let ack = parameters.airtime(14, parameters.control_rate()) + d;
        let success = seconds(data + parameters.sifs + ack + parameters.difs);
        let collision = seconds(data + after_collision);
        let idle = (1.0 - some) * seconds(parameters.slot);
        one * f64::from(bytes) * 8.0 / (idle + one * success + (some - one) * collision)
    }
}

/// Adjusts parameters to Bianchi's model, in which DIFS follows every busy period, even a
/// collision.
fn as_bianchi(mut parameters: Parameters) -> Parameters {
    parameters.eifs = parameters.difs;
    parameters.ack_timeout = parameters.difs;
    parameters
}

/// Payload bits per second that the last station receives from all others, which are saturated.
fn saturated(config: &Config, bytes: u32, seconds: u64) -> f64 {
    let mut rig = Rig::new(config, 1);
    let sink = config.stations.len() as u16 - 1;
    for station in 0..sink {
        for _ in 0..2 {
            let _ = rig.send(0, (station, sink), &packet(u32::from(station), bytes));
        }
    }
    let end = seconds * 1_000_000;
    let mut delivered = 0u64;
    while rig.now.as_nanos() / 1000 < end {
        rig.step();
        for (_, departure) in std::mem::take(&mut rig.left) {
            let id = departure.id();
            delivered += u64::from(matches!(departure, Departure::Delivered { .. }));
            let at = rig.now.as_nanos() / 1000;
            let _ = rig.send(at, (id as u16, sink), &packet(id, bytes));
        }
    }
    delivered as f64 * f64::from(bytes) * 8.0 / seconds as f64
}

/// Throughput by the closed form and measured in the cell, in Mbit/s.
fn both(parameters: &Parameters, n: u32, bytes: u32) -> [f64; 2] {
    let chain = Chain::new(parameters, n, ATTEMPTS);
    let closed = chain.throughput(parameters, bytes, parameters.eifs);
    [closed, saturated(&config_of(parameters.clone(), n as usize + 1), bytes, 60)]
        .map(|bit_s| bit_s / 1e6)
}

/// Relative tolerance. The remaining deviation comes from stations that draw a backoff of 0 after
/// their own transmission: they have the first slot to themselves, which the model ignores
/// (Tinnirello, Bianchi & Xiao 2010).
const WITHIN: f64 = 0.03;

#[test]
fn saturation_throughput_is_bianchis() {
    for (standard, bytes) in [(Standard::B, 1500), (Standard::Fhss, 1023)] {
        for parameters in [as_bianchi(standard.parameters()), standard.parameters()] {
            for n in [1, 2, 5, 10, 20] {
                let [closed, measured] = both(&parameters, n, bytes);
                let off = measured / closed - 1.0;
                assert!(off.abs() < WITHIN, "{standard:?}, {n}: {measured} for {closed}");
            }
        }
    }
}

#[test]
fn the_closed_form_has_the_published_anchors() {
    let b = as_bianchi(Standard::B.parameters());
    for (n, anchor) in [(1, 6.22), (2, 6.57), (5, 6.51), (10, 6.20)] {
        let throughput = Chain::new(&b, n, 1000).throughput(&b, 1500, b.difs) / 1e6;
        assert!((throughput - anchor).abs() < 0.005, "{n}: {throughput}");
    }
    let mut fhss = as_bianchi(Standard::Fhss.parameters());
    for ((cw_min, cw_max, n), anchor) in [
        ((31, 255, 5), 0.8097),
        ((31, 255, 10), 0.7532),
        ((31, 255, 50), 0.5529),
        ((31, 1023, 10), 0.7579),
        ((127, 1023, 10), 0.8263),
    ] {
        (fhss.cw_min, fhss.cw_max) = (cw_min, cw_max);
        let throughput = Chain::new(&fhss, n, 1000).throughput(&fhss, 1023, fhss.difs) / 1e6;
        assert!((throughput - anchor).abs() < 0.0001, "{cw_min} {cw_max} {n}: {throughput}");
    }
}
