//! *What it does.* Doubles the wait at each timeout; the first ACK of new data, which acknowledges
//! the segment that timed out, removes all doublings.
//!
//! *Reference.* García, Agüero & Muñoz, *On the unsuitability of TCP RTO estimation over bursty
//! error channels*, §2 and §3: the modification that they propose.
//!
//! *Equations.* Wait = RTO·2^exponent; an ACK of new data sets the exponent to 0.
//!
//! *Where we differ.* The paper assumes timestamps. Without them the RTO in force after the reset
//! may rest on samples older than the loss, contrary to Karn's algorithm (RFC 6298 §3).

use super::{Ack, Backoff, Doublings, Timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wait doubled by each timeout, reset by every ACK of new data (García et al., proposed).
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
        if ack.advances {
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
