//! Inputs of the detectors' tests: ten segments of 1000 bytes are in flight.

use super::{Ack, NewRecovery, Retransmission};
use crate::LossState;

/// Recovery of ten segments, none of which was retransmitted before.
pub(super) const fn new_recovery(by_timeout: bool, in_recovery: bool) -> NewRecovery {
    NewRecovery {
        by_timeout,
        in_recovery,
        repeated: false,
        awaits_probe: false,
        retransmitted: 0,
        first_retransmitted: false,
        snd_una: 1,
        snd_max: 10_001,
        recovery_point: 10_001,
    }
}

/// Retransmission of the segment at a position, with this TSval.
pub(super) const fn retransmission(position: u64, timestamp: Option<u32>) -> Retransmission {
    Retransmission { position, end: position + 1_000, timestamp, is_probe: false }
}

/// ACK that arrives after a timeout and moves SND.UNA from `previous_una` to `snd_una`. One segment
/// was retransmitted; there are neither SACK nor timestamps.
pub(super) const fn ack(previous_una: u64, snd_una: u64) -> Ack {
    Ack {
        state: LossState::Loss,
        previous_una,
        snd_una,
        snd_max: 10_001,
        highest: snd_una,
        retransmitted: 1,
        sacked: None,
        lowest_original_end: None,
        dsack: None,
        dsacked_in_flight: 0,
        echo: None,
        smss: 1_000,
        can_send_new: true,
    }
}
