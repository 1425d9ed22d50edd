//! Retransmission timeout before any backoff.

use crate::congestion_control::Window;
use retx_units::Duration;

retx_units::registry! { $
    /// Estimator of the retransmission timeout.
    tag = "name", schema = "Rto", context = &crate::Config;
    rfc6298, linux boxed, linux24 boxed
}

/// Bounds and clock granularity of an estimator.
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

impl Limits {
    /// Limits from a configuration. G is the coarser of the tick of RTT measurements and the
    /// granularity of timers.
    pub fn from_config(tcp: &crate::Config) -> Self {
        Self {
            initial: tcp.initial_rto,
            min: tcp.min_rto,
            max: tcp.max_rto,
            granularity: tcp.rtt_granularity.max(tcp.timer_granularity),
        }
    }
}

/// RTT estimator and the resulting timeout.
pub trait Estimator {
    /// Handles a raw RTT sample of an ACK, after which `snd_una` is the first unacknowledged
    /// position and `snd_nxt` the next one to send (`linux` adapts its variance once per window).
    /// The limits are those of the configuration.
    fn on_rtt(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64, limits: &Limits);

    /// Handles the first sample of data sent after a spurious timeout; `least` is the SRTT and
    /// RTTVAR before the timeout, below which the new values do not fall (RFC 4015 §3.2, step 9).
    fn restart_rtt(&mut self, rtt: Duration, least: (Duration, Duration), limits: &Limits) {
        let _ = (rtt, least, limits);
    }

    /// Handles a retransmitted SYN: if the handshake gives no RTT sample, the RTO for the first
    /// data is at least `rto`.
    fn on_lost_syn(&mut self, rto: Duration, limits: &Limits);

    /// Timeout without backoff at this window (only `linux24` uses the window).
    fn rto(&self, window: &Window) -> Duration;

    /// True if, after a timeout, no new data are sent until everything sent before it is
    /// acknowledged.
    fn holds_new_data(&self) -> bool {
        false
    }

    /// Smoothed RTT; `None` before the first sample.
    fn srtt(&self) -> Option<Duration>;

    /// RTT variation; `None` before the first sample.
    fn rttvar(&self) -> Option<Duration>;
}

impl Estimator for State {
    forward! {
        fn on_rtt(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64, limits: &Limits);
        fn restart_rtt(&mut self, rtt: Duration, least: (Duration, Duration), limits: &Limits);
        fn on_lost_syn(&mut self, rto: Duration, limits: &Limits);
        #[inline]
        fn rto(&self, window: &Window) -> Duration;
        fn holds_new_data(&self) -> bool;
        fn srtt(&self) -> Option<Duration>;
        fn rttvar(&self) -> Option<Duration>;
    }
}
