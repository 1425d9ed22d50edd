//! *What it does.* Doubles the wait at each timeout. The doubled wait is kept until an RTT is
//! measured on a segment that was not retransmitted.
//!
//! *Reference.* RFC 6298 §5.5 and §5.7 with Karn's algorithm (§3); Karn & Partridge 1987.

use super::{Ack, Backoff, Doublings, Timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wait doubled by each timeout, kept until a valid RTT sample (RFC 6298 §5.5, Karn).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Backoff in force.
#[derive(Debug, Clone, Default)]
pub struct State {
    doublings: Doublings,
}

impl State {
    /// Creates the policy without backoff.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self::default()
    }
}

impl Backoff for State {
    fn on_timeout(&mut self, _: &Timeout) {
        self.doublings.increase();
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
