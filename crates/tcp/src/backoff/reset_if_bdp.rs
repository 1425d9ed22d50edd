//! *What it does.* At a timeout, doubles the wait only if the path seems congested; if much
//! bandwidth is available, the next wait is the RTO without backoff.
//!
//! *Reference.* Park, Chung & Ahn, EURASIP JWCN 2012:304, *An algorithm updating the back-off value
//! when an RTO is triggered*; the default of `cwnd_max` is the best value found there (Fig. 6b).
//!
//! *Equations.* At a timeout: exponent = 0 if BDP > cwnd_max/2, else exponent + 1; BDP = available
//! bandwidth × RTT, as the congestion control estimates it. Otherwise as `rfc6298`.
//!
//! *Where we differ.* With a congestion control that estimates no bandwidth, this is `rfc6298`.

use super::{Ack, Backoff, Doublings, Timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wait doubled by a timeout; reset if bandwidth-delay product > `cwnd_max`/2 (Park et al.).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `cwnd_max` of the paper, in bytes: a timeout resets the backoff if the bandwidth-delay
    /// product exceeds half of it.
    pub cwnd_max: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { cwnd_max: 25_000 }
    }
}

/// Backoff in force.
#[derive(Debug, Clone)]
pub struct State {
    cwnd_max: u64,
    doublings: Doublings,
}

impl State {
    /// Creates the policy without backoff.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { cwnd_max: config.cwnd_max, doublings: Doublings::default() }
    }
}

impl Backoff for State {
    fn on_timeout(&mut self, timeout: &Timeout) {
        match timeout.bandwidth_delay_bytes {
            Some(bytes) if bytes > self.cwnd_max / 2 => self.doublings.clear(),
            _ => self.doublings.increase(),
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.has_rtt_sample {
            self.doublings.clear();
        }
    }

    fn reset(&mut self) {
        self.doublings.clear();
    }

    fn exponent(&self) -> u32 {
        self.doublings.count()
    }
}
