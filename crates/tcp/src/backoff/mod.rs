//! How the wait grows over successive timeouts, and when it stops being grown.

retx_units::registry! { $
    /// How the wait grows over successive timeouts.
    tag = "name", schema = "Backoff", context = &crate::Config;
    rfc6298, linux, keep, reset_on_ack, reset_if_bdp boxed
}

/// An acknowledgment of new data, or one with an RTT sample, as a backoff policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// It acknowledges new data cumulatively; else only selectively.
    pub advances: bool,
    /// It gave a valid RTT sample.
    pub sampled: bool,
    /// Everything sent before the last timeout is acknowledged: the loss state is over.
    pub loss_state_over: bool,
}

/// The retransmission timer has expired.
#[derive(Debug, Clone, Copy)]
pub struct Timeout {
    /// Bandwidth-delay product in bytes, where the congestion control estimates it.
    pub bandwidth_delay_bytes: Option<u64>,
    /// What timed out is the SYN of an end that opens.
    pub in_syn_sent: bool,
}

/// How often the wait is doubled.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Doublings(u32);

impl Doublings {
    /// Once more.
    pub(crate) fn increase(&mut self) {
        // More would not fit a factor of 64 bits, and is years.
        self.0 = (self.0 + 1).min(63);
    }

    /// Not at all.
    pub(crate) fn clear(&mut self) {
        self.0 = 0;
    }

    /// So often.
    pub(crate) fn count(self) -> u32 {
        self.0
    }
}

/// A backoff policy: the wait is the estimator's RTO times two to the power of `exponent`.
pub trait Backoff {
    /// The retransmission timer expired.
    fn on_timeout(&mut self, timeout: &Timeout);

    /// An acknowledgment of new data, or one with an RTT sample.
    fn on_ack(&mut self, ack: &Ack);

    /// The handshake is over: data start without backoff (RFC 6298 §5.7).
    fn reset(&mut self);

    /// Doublings in force.
    fn exponent(&self) -> u32;
}

impl Backoff for State {
    fn on_timeout(&mut self, timeout: &Timeout) {
        dispatch!(self, it => it.on_timeout(timeout));
    }

    fn on_ack(&mut self, ack: &Ack) {
        dispatch!(self, it => it.on_ack(ack));
    }

    fn reset(&mut self) {
        dispatch!(self, it => it.reset());
    }

    fn exponent(&self) -> u32 {
        dispatch!(self, it => it.exponent())
    }
}
