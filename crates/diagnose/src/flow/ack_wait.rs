//! Acknowledgments that wait in a queue on their way to the sender.
//!
//! Data whose acknowledgment waits have already left the bottleneck. Acknowledgments that wait
//! behind data of other flows, such as an upload, also arrive in another rhythm than their data
//! did, which hides the rate of the bottleneck. Shares are then less certain.

use super::direction::{Direction, PacketContext};

/// A wait is long if it is more than this fraction of the round trip (an arbitrary choice: shares
/// may be wrong by 3 percentage points).
const LONG: f64 = 0.05;
/// Least fraction of the waits behind the capture that must be long (an arbitrary choice). There
/// the wait is the time to the next data, which the sender may also delay for other reasons.
const MOST: f64 = 0.75;
/// Number of waits behind the capture from which on they are evidence (an arbitrary choice).
const ECHOES_MIN: f64 = 10.0;

/// Waits of the acknowledgments of one direction's data. Timestamps show them: those of the
/// acknowledgments before the capture, and their echoes behind it.
#[derive(Debug, Default)]
pub struct AckWait {
    /// Number of acknowledgments, and sum of their waits, before the capture.
    before: (f64, f64),
    /// Number of acknowledgments whose wait behind the capture is known, and of those that are
    /// long.
    behind: (f64, f64),
}

impl AckWait {
    /// Adds an acknowledgment that has waited for so long before the capture.
    pub fn add_before(&mut self, waited_ns: i64) {
        self.before.0 += 1.0;
        self.before.1 += waited_ns as f64;
    }

    /// Adds an acknowledgment that has waited for so long behind the capture.
    pub fn add_behind(&mut self, waited_ns: i64, rtt_ns: i64) {
        self.behind.0 += 1.0;
        self.behind.1 += f64::from(waited_ns as f64 > LONG * rtt_ns as f64);
    }

    /// True if acknowledgments wait for a considerable part of the round trip, whose mean is
    /// `rtt_ns`.
    pub fn is_long(&self, rtt_ns: f64) -> bool {
        let ((acks, sum_ns), (echoes, long)) = (self.before, self.behind);
        sum_ns > LONG * rtt_ns * acks || (echoes >= ECHOES_MIN && long >= MOST * echoes)
    }
}

impl Direction {
    /// Handles the first data that echo the timestamp of an acknowledgment, which passed the
    /// capture `loop_ns` before. The acknowledgment has waited behind the capture if this time is
    /// longer than the least one and the data have not waited themselves.
    pub(super) fn note_echo(&mut self, loop_ns: i64, now: &PacketContext) {
        let Some((least_ns, rtt_ns)) = now.sender_loop.zip(now.rtt()) else { return };
        // The queueing delay is rounded down to a tick, and the least round trip is that of a
        // packet without data.
        let segment_ns = self.segment_ns().unwrap_or(0.0) as i64;
        let queued_ns = now.time_ns - now.sent_ns + now.timestamp_tick_ns;
        let waited_ns = loop_ns - least_ns - queued_ns - segment_ns;
        self.detectors.queueing.acks.add_behind(waited_ns, rtt_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_on_both_sides_of_the_capture_count() {
        let mut waits = AckWait::default();
        assert!(!waits.is_long(100.0));
        (0..8).for_each(|_| waits.add_before(4));
        assert!(!waits.is_long(100.0));
        waits.add_before(100);
        assert!(waits.is_long(100.0), "a mean of 15");
        let mut waits = AckWait::default();
        (0..9).for_each(|_| waits.add_behind(6, 100));
        assert!(!waits.is_long(100.0), "too few");
        (0..3).for_each(|_| waits.add_behind(4, 100));
        assert!(waits.is_long(100.0), "nine of twelve");
        waits.add_behind(4, 100);
        assert!(!waits.is_long(100.0), "nine of thirteen");
    }
}
