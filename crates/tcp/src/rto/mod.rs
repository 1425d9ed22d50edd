//! How long to wait for an acknowledgment, before any backoff.

use retx_units::Duration;

retx_units::registry! { $
    /// How long to wait for an acknowledgment.
    tag = "name", schema = "Rto";
    rfc6298
}

/// The bounds and clock of an estimator.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// RTO before the first sample.
    pub initial: Duration,
    /// Smallest RTO.
    pub min: Duration,
    /// Largest RTO.
    pub max: Duration,
    /// Clock granularity G.
    pub granularity: Duration,
}

/// An RTT estimator and the timeout that it gives.
pub trait Estimator {
    /// A raw RTT sample.
    fn on_rtt(&mut self, rtt: Duration);

    /// The timeout without backoff.
    fn rto(&self) -> Duration;

    /// Smoothed RTT, once there was a sample.
    fn srtt(&self) -> Option<Duration>;

    /// RTT variation, once there was a sample.
    fn rttvar(&self) -> Option<Duration>;
}

impl Estimator for State {
    fn on_rtt(&mut self, rtt: Duration) {
        dispatch!(self, it => it.on_rtt(rtt));
    }

    fn rto(&self) -> Duration {
        dispatch!(self, it => it.rto())
    }

    fn srtt(&self) -> Option<Duration> {
        dispatch!(self, it => it.srtt())
    }

    fn rttvar(&self) -> Option<Duration> {
        dispatch!(self, it => it.rttvar())
    }
}
