//! *What it does.* Doubles the timeout at each expiry, and keeps the doublings during the loss
//! state: until everything sent before the last timeout is acknowledged.
//!
//! *Reference.* García, Agüero & Muñoz, *On the unsuitability of TCP RTO estimation over bursty
//! error channels*, §2 and table II; Linux 2.2, `net/ipv4/tcp_input.c` (`tcp_ack_saw_tstamp`),
//! where the loss state ends when nothing is outstanding.
//!
//! *Equations.* Wait = RTO·2^exponent; every ACK recomputes RTO and keeps the exponent.
//!
//! *Where we differ.* With timestamps, as in the paper, there is no difference: the ACK that ends
//! the loss state is an RTT sample as well. Without timestamps, the exponent is kept until the
//! first sample after the loss state (Karn's rule), as in that kernel.

use super::{Ack, Backoff, Doublings, Timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wait doubled by each timeout; doublings last until the loss state is over (the Linux that García
/// et al. measured).
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
        if ack.has_rtt_sample && ack.loss_state_over {
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
