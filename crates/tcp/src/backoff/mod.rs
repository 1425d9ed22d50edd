//! How the wait grows over successive timeouts, and when it stops being grown.

retx_units::registry! { $
    /// How the wait grows over successive timeouts.
    tag = "name", schema = "Backoff", context = &crate::Config;
    rfc6298
}

/// An acknowledgment of new data, as a backoff policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// It gave a valid RTT sample.
    pub sampled: bool,
    /// Everything sent before the last timeout is acknowledged: the loss state is over.
    pub loss_state_over: bool,
}

/// A backoff policy: the wait is the estimator's RTO times two to the power of `exponent`.
pub trait Backoff {
    /// The retransmission timer expired; `bandwidth_delay_bytes` is the congestion control's
    /// estimate, where it has one.
    fn on_timeout(&mut self, bandwidth_delay_bytes: Option<u64>);

    /// An acknowledgment of new data.
    fn on_ack(&mut self, ack: &Ack);

    /// The handshake is over: data start without backoff (RFC 6298 §5.7).
    fn reset(&mut self);

    /// Doublings in force.
    fn exponent(&self) -> u32;
}

impl Backoff for State {
    fn on_timeout(&mut self, bandwidth_delay_bytes: Option<u64>) {
        dispatch!(self, it => it.on_timeout(bandwidth_delay_bytes));
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
