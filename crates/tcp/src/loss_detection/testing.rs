//! Acknowledgments for the tests of loss detection.

use super::Ack;
use retx_units::{Duration, Time};

/// ACK without SACK information and RTT sample, in segments of 1000 bytes, at the start of time.
pub(super) const fn ack(bytes_acked: u64, snd_una: u64, snd_max: u64) -> Ack<'static> {
    Ack {
        now: Time::ZERO,
        srtt: None,
        least_rtt: Duration::MAX,
        has_rtt_sample: false,
        overdue: false,
        smss: 1_000,
        selective: None,
        bytes_acked,
        snd_una,
        snd_max,
        recovery_point: snd_max,
        defers_marking: false,
        dupack_threshold: 3,
    }
}
