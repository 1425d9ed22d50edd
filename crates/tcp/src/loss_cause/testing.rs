//! Acknowledgments and losses for the tests of loss causes.

use super::Loss;
use crate::congestion_control::{Ack, Window};
use retx_units::{Duration, Time};

/// Ten segments of 1000 bytes, in congestion avoidance.
pub(crate) const WINDOW: Window = Window { cwnd: 10_000, ssthresh: 1, smss: 1_000 };

/// Arbitrary configuration: no rule reads it.
pub(crate) fn tcp() -> crate::Config {
    (crate::presets::find("reno").expect("a preset").config)()
}

/// ACK of one segment without an RTT sample, `micros` microseconds after the start.
pub(crate) fn unsampled(micros: u64) -> Ack {
    Ack {
        now: Time::ZERO + Duration::from_micros(micros),
        bytes_acked: 1_000,
        delivered: 1_000,
        flight_size: 10_000,
        rtt: None,
        srtt: None,
        snd_una: 0,
        snd_nxt: 0,
        cwnd_limited: true,
        in_recovery: false,
        receiver_time: None,
    }
}

/// Acknowledgment with an RTT sample.
pub(crate) fn acked(micros: u64, rtt: Duration) -> Ack {
    Ack { rtt: Some(rtt), ..unsampled(micros) }
}

/// Duplicate ACK.
pub(crate) fn duplicate(micros: u64) -> Ack {
    Ack { bytes_acked: 0, ..unsampled(micros) }
}

/// Loss of `lost_segments`, found by duplicate or selective ACKs.
pub(crate) fn found(lost_segments: u64) -> Loss {
    Loss {
        now: Time::ZERO,
        by_timeout: false,
        srtt: None,
        last_rtt: None,
        window: WINDOW,
        flight_size: 10_000,
        lost_segments,
        notified: false,
    }
}

/// A segment found lost by a timeout.
pub(crate) fn timed_out() -> Loss {
    Loss { by_timeout: true, ..found(1) }
}
