//! *What it does.* Slow start and congestion avoidance; a loss halves the window.
//!
//! *Reference.* RFC 5681 §3.1; Jacobson 1988.
//!
//! *Equations.*
//!
//! - *Slow start.* cwnd += min(N, SMSS) (eq. 2).
//! - *Congestion avoidance.* Per ACK cwnd += SMSS·SMSS/cwnd (eq. 3), or cwnd += SMSS once as many
//!   bytes as cwnd are acknowledged (§3.1, the recommended way).
//! - *Loss.* ssthresh = cwnd = max(FlightSize/2, 2·SMSS) (eq. 4).
//! - *Timeout.* The same ssthresh, cwnd = 1 SMSS.
//!
//! *Where we differ.* Eq. 3 keeps the fraction of a byte, so that truncation does not slow growth.

use super::{Ack, CongestionControl, Loss, Window, half_of_flight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slow start and congestion avoidance of RFC 5681; a loss halves the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Growth in congestion avoidance.
    pub growth: Growth,
}

/// The two growth formulas of RFC 5681 §3.1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// Each ACK adds SMSS·SMSS/cwnd (eq. 3): half a segment per round trip with delayed ACKs.
    #[default]
    PerAck,
    /// Every cwnd bytes acknowledged add one SMSS: one segment per round trip.
    BytesAcked,
}

/// State of Reno.
#[derive(Debug, Clone)]
pub struct State {
    growth: Growth,
    /// Fraction of a byte, in 2^-16, that eq. 3 has yet to add; one half at first, for rounding.
    fraction: u32,
    /// Bytes acknowledged since the window last grew.
    acked: u64,
}

const ONE_BYTE: u64 = 1 << 16;
const HALF_A_BYTE: u32 = 1 << 15;

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { growth: config.growth, fraction: HALF_A_BYTE, acked: 0 }
    }

    /// Grows the window for an ACK, in slow start or congestion avoidance.
    pub(crate) fn grow(&mut self, window: &mut Window, bytes_acked: u64) {
        let smss = u64::from(window.smss);
        if window.in_slow_start() {
            window.cwnd += bytes_acked.min(smss);
            return;
        }
        match self.growth {
            Growth::PerAck => {
                // SMSS is less than 2^16, so the product is less than 2^48 and cannot overflow.
                let added = u64::from(self.fraction) + smss * smss * ONE_BYTE / window.cwnd;
                window.cwnd += added / ONE_BYTE;
                self.fraction = (added % ONE_BYTE) as u32;
            }
            Growth::BytesAcked => {
                self.acked += bytes_acked;
                if self.acked >= window.cwnd {
                    self.acked -= window.cwnd;
                    window.cwnd += smss;
                }
            }
        }
    }

    /// Restarts the growth after a reduction.
    pub(crate) fn restart_growth(&mut self) {
        self.fraction = HALF_A_BYTE;
        self.acked = 0;
    }
}

impl CongestionControl for State {
    fn observes(&self) -> bool {
        false
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.grow(window, ack.bytes_acked);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        window.ssthresh = half_of_flight(window, loss);
        window.cwnd = window.ssthresh;
        self.restart_growth();
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        if !repeated {
            window.ssthresh = half_of_flight(window, loss);
        }
        window.cwnd = u64::from(window.smss);
        self.restart_growth();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at, tcp, window};
    use super::*;

    /// RFC 5681 §3.1: the window grows by one segment once cwnd bytes are acknowledged; the rest of
    /// the bytes counts for the next segment.
    #[test]
    fn acknowledged_bytes_add_up_to_a_window() {
        let config = Config { growth: Growth::BytesAcked };
        let (mut reno, mut window) = (State::new(&config, &tcp()), window(4, 2));
        for (bytes, cwnd) in [
            (1000, 4000),
            (2999, 4000),
            (501, 5000), // 500 beyond 4000
            (4499, 5000),
            (1, 6000),
            (5999, 6000),
            (1, 7000),
        ] {
            reno.on_ack(&mut window, &ack(at(0), bytes));
            assert_eq!(window.cwnd, cwnd, "{bytes}");
        }
    }
}
