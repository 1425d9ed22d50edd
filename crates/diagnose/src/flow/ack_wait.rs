//! Acknowledgments that wait in a queue on their way to the sender.
//!
//! Data whose acknowledgment waits have already left the bottleneck. Acknowledgments that wait
//! behind data of other flows, such as an upload, also arrive in another rhythm than their data
//! did, which hides the rate of the bottleneck. Shares are then less certain.

/// A wait is long if it is more than this fraction of the round trip.
const LONG: f64 = 0.05;
/// Behind the capture, the time to the next data shows the wait, which may have been delayed for
/// other reasons. At least this fraction of the waits must be long there.
const MOST: f64 = 0.75;
/// Number of waits behind the capture from which on they are evidence.
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
