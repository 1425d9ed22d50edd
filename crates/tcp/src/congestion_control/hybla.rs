//! *What it does.* Grows as a Reno connection with a short RTT would in the same time, so that long
//! paths (satellites) are not at a disadvantage.
//!
//! *Reference.* Caini & Firrincieli, Int. J. Satell. Commun. Netw. 22(5), 2004. Read: Linux
//! `net/ipv4/tcp_hybla.c`.
//!
//! *Equations.* ρ = max(RTT/RTT₀, 1), with RTT the smallest smoothed RTT. In segments:
//!
//! - *Slow start.* cwnd += 2^ρ − 1 per ACK, not beyond ssthresh. The exponent is at most 16.
//! - *Congestion avoidance.* cwnd += ρ²/cwnd per ACK.
//! - *Loss.* ssthresh is half of the data in flight.
//!
//! As in Linux, the window grows only while it limits the sender, and grows as Reno's while a
//! timeout is being repaired.
//!
//! *Where we differ.* ρ is a floating-point number; Linux uses eighths. Linux begins with ρ
//! segments, and the paper also scales the first threshold: set `initial_window` and
//! `initial_ssthresh` for that. The paper also requires SACK, which the preset has, and pacing,
//! which the preset and Linux lack.

use super::{Ack, CongestionControl, Loss, Window, reno};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Growth independent of the RTT, equal to that of Reno at a reference RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Reference RTT₀. Paper and Linux: 25 ms.
    #[serde(deserialize_with = "super::number::positive_duration")]
    pub rtt0: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { rtt0: Duration::from_millis(25) }
    }
}

/// Largest ρ used as an exponent.
const LARGEST_EXPONENT: f64 = 16.0;

/// State of Hybla.
#[derive(Debug, Clone)]
pub struct State {
    rtt0: f64,
    least: Option<Duration>,
    rho: f64,
    reno: reno::State,
    /// Fractional part of the window's growth, in bytes.
    fraction: f64,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            rtt0: config.rtt0.as_secs_f64(),
            least: None,
            rho: 1.0,
            reno: reno::State::new(&reno::Config::default(), tcp),
            fraction: 0.0,
        }
    }

    fn reduce(&mut self, window: &mut Window, loss: &Loss) {
        window.ssthresh = (loss.flight_size / 2).max(2 * u64::from(window.smss));
        self.reno.restart_growth();
        self.fraction = 0.0;
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, _: u32) {
        if let Some(srtt) = ack.srtt
            && self.least.is_none_or(|least| srtt < least)
        {
            self.least = Some(srtt);
            self.rho = (srtt.as_secs_f64() / self.rtt0).max(1.0);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        // `hybla_state` enables the algorithm in `TCP_CA_Open` only.
        if ack.in_recovery {
            self.reno.on_ack(window, ack);
            return;
        }
        let smss = f64::from(window.smss);
        let segments = if window.in_slow_start() {
            libm::exp2(self.rho.min(LARGEST_EXPONENT)) - 1.0
        } else {
            self.rho * self.rho * smss / window.cwnd as f64
        };
        let bytes = segments * smss + self.fraction;
        let whole = libm::floor(bytes);
        let cwnd = window.cwnd.saturating_add(whole as u64);
        // 2^ρ − 1 segments per ACK would overshoot the threshold by far.
        if window.in_slow_start() && cwnd >= window.ssthresh {
            window.cwnd = window.ssthresh;
            self.fraction = 0.0;
        } else {
            window.cwnd = cwnd;
            self.fraction = bytes - whole;
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        self.reduce(window, loss);
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let before = window.ssthresh;
        self.reduce(window, loss);
        // The first timeout has set the threshold already (RFC 5681 §3.1).
        if repeated {
            window.ssthresh = before;
        }
        window.cwnd = window.smss.into();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss, tcp, window};
    use super::*;

    fn hybla(srtt_ms: u64) -> State {
        let mut state = State::new(&Config::default(), &tcp());
        let srtt = Some(Duration::from_millis(srtt_ms));
        state.observe(&Ack { srtt, ..ack(at(0), 1000) }, SMSS);
        state
    }

    fn grown(srtt_ms: u64, cwnd: u64, ssthresh: u64, acks: u64) -> u64 {
        let (mut state, mut window) = (hybla(srtt_ms), window(cwnd, ssthresh));
        for _ in 0..acks {
            state.on_ack(&mut window, &ack(at(0), 1000));
        }
        window.cwnd
    }

    #[test]
    fn rho_is_the_rtt_in_reference_rtts_and_at_least_one() {
        assert!((hybla(100).rho - 4.0).abs() < 1e-12);
        assert!((hybla(10).rho - 1.0).abs() < 1e-12);
        let mut state = hybla(100);
        for (srtt_ms, rho) in [(200, 4.0), (75, 3.0), (90, 3.0)] {
            let srtt = Some(Duration::from_millis(srtt_ms));
            state.observe(&Ack { srtt, ..ack(at(0), 1000) }, SMSS);
            assert!((state.rho - rho).abs() < 1e-12, "{srtt_ms}");
        }
    }

    #[test]
    fn slow_start_multiplies_by_two_to_the_rho() {
        // ρ = 4: 15 segments per ACK; ρ = 1 is Reno.
        assert_eq!(grown(100, 2, 999, 1), 17_000);
        assert_eq!(grown(100, 2, 999, 2), 32_000);
        assert_eq!(grown(25, 2, 999, 2), 4_000);
        assert_eq!(grown(100, 2, 20, 3), 20_800, "up to the threshold, then 16/20");
        assert_eq!(grown(10_000_000, 1, u64::MAX, 1), 65_536_000, "2^16 at most");
    }

    /// cwnd² grows by 2ρ² per ACK: with ρ = 4, ten ACKs take a window of 10 segments to
    /// √(10² + 2·16·10) = 20.49.
    #[test]
    fn congestion_avoidance_adds_rho_squared_per_round() {
        let exact = |w0: f64, rho: f64, acks: f64| (w0 * w0 + 2.0 * rho * rho * acks).sqrt();
        for (srtt_ms, cwnd, acks) in [(100, 100, 1000), (25, 100, 1000), (550, 4000, 1000)] {
            let rho = srtt_ms as f64 / 25.0;
            let expected = exact(cwnd as f64, rho, acks as f64);
            let cwnd = grown(srtt_ms, cwnd, 1, acks) as f64 / 1000.0;
            assert!((cwnd / expected - 1.0).abs() < 1e-3, "{cwnd}, not {expected}");
        }
    }

    #[test]
    fn grows_as_reno_after_a_timeout_and_not_when_unlimited() {
        let (mut state, mut window) = (hybla(100), window(8, 99));
        state.on_timeout(&mut window, &loss(at(0), 8), false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 4000));
        state.on_ack(&mut window, &Ack { in_recovery: true, ..ack(at(1), 1000) });
        assert_eq!(window.cwnd, 2000);
        state.on_ack(&mut window, &Ack { cwnd_limited: false, ..ack(at(1), 1000) });
        assert_eq!(window.cwnd, 2000);
    }
}
