//! The timestamp that a receiver echoes.

use super::Receiver;
use crate::AckPolicy;
use crate::{Config, rto};

/// True for the receivers of Linux. Its function `tcp_sequence` also counts a segment as inside the
/// window if the segment ends exactly at the last acknowledgment. That is the last segment, sent
/// again because its acknowledgment was lost.
pub(super) fn echoes_last_again(config: &Config) -> bool {
    config.delayed_ack.policy == AckPolicy::Linux || matches!(config.rto, rto::Config::linux24(_))
}

impl Receiver {
    /// Updates `TS.Recent` with the timestamp of a segment that occupies `begin..end` (RFC 7323
    /// §5.3, R3). A segment outside the receive window, such as a duplicate of data that have
    /// arrived, changes nothing, but see [`echoes_last_again`].
    pub(in super::super) fn take_timestamp(
        &mut self,
        value: u32,
        (begin, end): (i64, i64),
        inside: bool,
    ) {
        let last = self.last_ack_sent as i64;
        let last_again = self.echoes_last_again && begin < end && end >= last;
        let newer = value.wrapping_sub(self.ts_recent) as i32 >= 0;
        if (inside || last_again) && begin <= last && newer {
            self.ts_recent = value;
        }
    }
}
