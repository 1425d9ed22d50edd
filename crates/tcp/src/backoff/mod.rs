//! How the wait grows over successive timeouts, and when it stops being grown.

retx_units::registry! { $
    /// How the wait grows over successive timeouts.
    tag = "name", schema = "Backoff", context = &crate::Config;
    rfc6298
}

/// A backoff policy: the wait is the estimator's RTO times two to the power of `exponent`.
pub trait Backoff {
    /// The retransmission timer expired.
    fn on_timeout(&mut self);

    /// An acknowledgment of new data; `sampled` when it gave a valid RTT sample.
    fn on_ack(&mut self, sampled: bool);

    /// The handshake is over: data start without backoff (RFC 6298 §5.7).
    fn reset(&mut self);

    /// Doublings in force.
    fn exponent(&self) -> u32;
}

impl Backoff for State {
    fn on_timeout(&mut self) {
        dispatch!(self, it => it.on_timeout());
    }

    fn on_ack(&mut self, sampled: bool) {
        dispatch!(self, it => it.on_ack(sampled));
    }

    fn reset(&mut self) {
        dispatch!(self, it => it.reset());
    }

    fn exponent(&self) -> u32 {
        dispatch!(self, it => it.exponent())
    }
}
