//! How long to wait for an acknowledgment, before any backoff.

use crate::congestion_control::Window;
use retx_units::Duration;

retx_units::registry! { $
    /// How long to wait for an acknowledgment.
    tag = "name", schema = "Rto", context = &crate::Config;
    rfc6298, linux boxed, linux24 boxed
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

impl Limits {
    /// The limits that a configuration sets. G is the tick in which RTTs are measured or, when they
    /// are measured exactly, the grid on which the timer fires, whichever is coarser.
    pub fn of(tcp: &crate::Config) -> Self {
        Self {
            initial: tcp.initial_rto,
            min: tcp.min_rto,
            max: tcp.max_rto,
            granularity: tcp.rtt_granularity.max(tcp.timer_granularity),
        }
    }
}

/// An RTT estimator and the timeout that it gives.
pub trait Estimator {
    /// A raw RTT sample, from an ACK that leaves `snd_una` acknowledged while `snd_nxt` is the next
    /// to send (`linux` adapts its variance once per window). The limits are those of the
    /// configuration.
    fn on_rtt(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64, limits: &Limits);

    /// The first sample of what was sent after a spurious timeout, before which SRTT and RTTVAR
    /// were these (RFC 4015 §3.2, step 9).
    fn relearn(&mut self, rtt: Duration, least: (Duration, Duration), limits: &Limits) {
        let _ = (rtt, least, limits);
    }

    /// The SYN had to be retransmitted: without a sample, data start with at least this timeout.
    fn on_lost_syn(&mut self, rto: Duration, limits: &Limits);

    /// The timeout without backoff, at this window (only `linux24` looks at it).
    fn rto(&self, window: &Window) -> Duration;

    /// In the loss state, until everything sent before a timeout is acknowledged, nothing new is
    /// sent.
    fn holds_new_data(&self) -> bool {
        false
    }

    /// Smoothed RTT, once there was a sample.
    fn srtt(&self) -> Option<Duration>;

    /// RTT variation, once there was a sample.
    fn rttvar(&self) -> Option<Duration>;
}

impl Estimator for State {
    fn on_rtt(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64, limits: &Limits) {
        dispatch!(self, it => it.on_rtt(rtt, snd_una, snd_nxt, limits));
    }

    fn relearn(&mut self, rtt: Duration, least: (Duration, Duration), limits: &Limits) {
        dispatch!(self, it => it.relearn(rtt, least, limits));
    }

    fn on_lost_syn(&mut self, rto: Duration, limits: &Limits) {
        dispatch!(self, it => it.on_lost_syn(rto, limits));
    }

    #[inline]
    fn rto(&self, window: &Window) -> Duration {
        dispatch!(self, it => it.rto(window))
    }

    fn holds_new_data(&self) -> bool {
        dispatch!(self, it => it.holds_new_data())
    }

    fn srtt(&self) -> Option<Duration> {
        dispatch!(self, it => it.srtt())
    }

    fn rttvar(&self) -> Option<Duration> {
        dispatch!(self, it => it.rttvar())
    }
}
