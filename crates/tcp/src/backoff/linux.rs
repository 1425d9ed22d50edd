//! *What it does.* Doubles the wait at each timeout until there is a valid RTT sample; the first
//! few timeouts of an opening SYN do not double it.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_ack_update_rtt`: "only reset backoff on
//! valid RTT measurement") and `net/ipv4/tcp_timer.c` (`tcp_retransmit_timer`); its
//! `Documentation/networking/ip-sysctl.rst` for `tcp_syn_linear_timeouts` (since 6.5).
//!
//! *Equations.* Wait = RTO·2^exponent. With timestamps, the ACK of a retransmission gives a valid
//! sample (RFC 7323 §4.1); without them, only an ACK of data sent once does (Karn).
//!
//! *Where we differ.* Nowhere. The policy `rfc6298` differs only in the timeouts of a SYN.

use super::{Ack, Backoff, Doublings, Timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Linux: wait doubled by each timeout except the first ones of a SYN, reset by a valid RTT sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of timeouts of an opening SYN that do not double the wait.
    pub syn_linear_timeouts: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { syn_linear_timeouts: 4 }
    }
}

/// Backoff in force.
#[derive(Debug, Clone)]
pub struct State {
    /// Remaining timeouts of the SYN that do not double the wait.
    linear: u32,
    doublings: Doublings,
}

impl State {
    /// Creates the policy without backoff.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { linear: config.syn_linear_timeouts, doublings: Doublings::default() }
    }
}

impl Backoff for State {
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.in_syn_sent && self.linear > 0 {
            self.linear -= 1;
        } else {
            self.doublings.increase();
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
