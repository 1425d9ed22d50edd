//! Partial segments that Nagle's algorithm holds back.
//!
//! *Rule.* Nagle's algorithm holds a partial segment until all data sent are acknowledged (RFC 9293
//! §3.7.4). Linux uses Minshall's variant, which waits only until the partial segment before it is
//! acknowledged (`tcp_minshall_check`). A partial segment that leaves with the acknowledgment of
//! the partial segment before it, after other acknowledgments that released nothing, was held back.

/// Number of acknowledgments since the last data from which on a window was not the limit: the
/// first one would have released the segment.
const ACKS_MIN: u32 = 2;

/// The last partial segment that was sent, and its acknowledgment.
#[derive(Debug, Default)]
pub struct LastPartial {
    /// Position after the segment; 0 before any.
    end: i64,
    is_acked: bool,
    /// Time at which the sender learned that the segment had arrived; none before.
    acked_ns: Option<i64>,
    /// Position of the newest data if they are a partial segment that was sent when everything
    /// before it was acknowledged; none otherwise.
    pub held_from: Option<i64>,
    /// Number of acknowledgments that have reached the sender since it sent new data.
    acks: u32,
}

impl LastPartial {
    /// Number of acknowledgments that have reached the sender since it sent new data.
    pub const fn acks_since_data(&self) -> u32 {
        self.acks
    }

    /// Handles an acknowledgment that reaches the sender, which then has everything before `una`
    /// acknowledged.
    pub fn on_ack(&mut self, una: i64, effective_ns: i64) {
        self.acks = self.acks.saturating_add(1);
        if !self.is_acked && una >= self.end {
            (self.is_acked, self.acked_ns) = (true, Some(effective_ns));
        }
    }

    /// Handles new data that end at this position.
    pub fn on_new_data(&mut self, end: i64, is_partial: bool) {
        (self.acks, self.acked_ns) = (0, None);
        if is_partial {
            (self.end, self.is_acked) = (end, false);
        }
    }

    /// True if a partial segment that is sent now, with this uncertainty of the time, has waited
    /// for the acknowledgment of the partial segment before it.
    pub fn has_held(&self, now_ns: i64, tolerance_ns: i64) -> bool {
        let is_released = self.acked_ns.is_some_and(|ns| now_ns - ns <= tolerance_ns);
        is_released && self.acks >= ACKS_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_segment_waits_for_the_one_before() {
        let mut partial = LastPartial::default();
        partial.on_new_data(100, true);
        partial.on_new_data(1_100, false);
        partial.on_ack(50, 10);
        assert!(!partial.has_held(10, 0));
        partial.on_ack(100, 20);
        assert!(partial.has_held(20, 0));
        assert!(!partial.has_held(30, 0));
        assert!(partial.has_held(30, 10));
        // Without earlier acknowledgments, a window may have been full.
        partial.on_new_data(1_200, true);
        partial.on_ack(1_200, 40);
        assert!(!partial.has_held(40, 0));
    }
}
