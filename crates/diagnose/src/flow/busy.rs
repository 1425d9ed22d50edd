//! Busy periods of the bottleneck, inferred from arrivals at the receiver's end.
//!
//! At the receiver's end, the times of arrival do not show when data were sent, because of queues
//! before the capture. But if the data in flight keep the bottleneck's queue from emptying,
//! segments arrive back to back, spaced by their transmission times.

use super::direction::{Direction, PacketContext};
use super::recovery_spike::RecoverySpike;

/// Fraction of a segment's transmission time by which the next segment may be late without causing
/// a gap (an arbitrary choice).
const GAP: f64 = 0.5;

/// Data that arrive back to back.
#[derive(Debug, Default)]
pub struct BusyPeriod {
    since_ns: i64,
    last_ns: Option<i64>,
    /// Latest time at which the next data can arrive without a gap before them.
    until_ns: i64,
    /// Position after the last retransmission that has arrived.
    pub resent_to: i64,
    /// The last delay spike in a fast recovery; none if its time is attributed.
    pub spike: Option<RecoverySpike>,
}

impl BusyPeriod {
    /// Handles the arrival of data whose transmission takes `length_ns`. If data just before them,
    /// or their retransmissions, have not arrived, the transmission of the missing data took
    /// `missing_ns`.
    pub fn on_arrived(&mut self, time_ns: i64, length_ns: f64, missing_ns: f64) {
        let may_take_ns = (length_ns * (1.0 + GAP) + missing_ns) as i64;
        if self.last_ns.is_none_or(|last| time_ns - last > may_take_ns) {
            // The bottleneck began to transmit the segment `length_ns` before the segment's
            // arrival.
            self.since_ns = time_ns - length_ns as i64;
        }
        self.last_ns = Some(time_ns);
        self.until_ns = time_ns + (length_ns * (1.0 + GAP)) as i64;
    }

    /// Length of the current busy period of the bottleneck; 0 after a gap.
    pub fn length_ns(&self, now_ns: i64) -> i64 {
        if self.last_ns.is_none() || now_ns > self.until_ns { 0 } else { now_ns - self.since_ns }
    }
}

impl Direction {
    /// True if a packet follows other data without a gap, so that its time of sending is unknown.
    pub(super) fn is_queued(&self, now: &PacketContext) -> bool {
        self.busy_period.as_ref().is_some_and(|run| run.length_ns(now.time_ns) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_begins_a_new_run_but_a_lost_segment_does_not() {
        let mut run = BusyPeriod::default();
        for time_ns in [1_000, 2_000, 3_000] {
            run.on_arrived(time_ns, 1_000.0, 0.0);
        }
        assert_eq!(run.length_ns(3_000), 3_000);
        run.on_arrived(5_000, 1_000.0, 1_000.0);
        assert_eq!(run.length_ns(5_000), 5_000);
        assert_eq!(run.length_ns(7_000), 0);
        run.on_arrived(8_000, 1_000.0, 0.0);
        assert_eq!(run.length_ns(8_000), 1_000);
    }
}
