//! Backoff: growth of the RTO over successive timeouts, and its reset.

retx_units::registry! { $
    /// Growth of the wait over successive timeouts, and its reset.
    tag = "name", schema = "Backoff", context = &crate::Config;
    rfc6298, linux, keep, reset_on_ack, reset_if_bdp boxed
}

/// An acknowledgment of new data, or one with an RTT sample, as a backoff policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// True if the ACK acknowledges new data cumulatively, false if only selectively.
    pub advances: bool,
    /// True if the ACK gave a valid RTT sample.
    pub has_rtt_sample: bool,
    /// True once everything sent before the last timeout is acknowledged, which ends the loss
    /// state.
    pub loss_state_over: bool,
}

/// Expiry of the retransmission timer.
#[derive(Debug, Clone, Copy)]
pub struct Timeout {
    /// Bandwidth-delay product in bytes; `None` if the congestion control does not estimate it.
    pub bandwidth_delay_bytes: Option<u64>,
    /// True if the SYN of an active open timed out.
    pub in_syn_sent: bool,
}

/// Number of doublings of the wait.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Doublings(u32);

impl Doublings {
    /// Adds a doubling.
    pub(crate) fn increase(&mut self) {
        // The factor 2^63 still fits into 64 bits; no connection lives long enough for more.
        self.0 = (self.0 + 1).min(63);
    }

    /// Removes all doublings.
    pub(crate) fn clear(&mut self) {
        self.0 = 0;
    }

    /// Number of doublings.
    pub(crate) fn count(self) -> u32 {
        self.0
    }
}

/// Backoff policy: the wait is the estimator's RTO times two to the power of `exponent`.
pub trait Backoff {
    /// Handles the expiry of the retransmission timer.
    fn on_timeout(&mut self, timeout: &Timeout);

    /// Handles an acknowledgment of new data, or one with an RTT sample.
    fn on_ack(&mut self, ack: &Ack);

    /// Handles the end of the handshake: data start without backoff (RFC 6298 §5.7).
    fn reset(&mut self);

    /// Number of doublings in force.
    fn exponent(&self) -> u32;
}

impl Backoff for State {
    forward! {
        fn on_timeout(&mut self, timeout: &Timeout);
        fn on_ack(&mut self, ack: &Ack);
        fn reset(&mut self);
        fn exponent(&self) -> u32;
    }
}
