//! Detection of a sender that paces, in a capture far from it.
//!
//! *Rule.* A sender that does not pace sends a burst when an acknowledgment reaches it. If bursts
//! follow each other at even intervals, with idle time between them, and no acknowledgment reached
//! the sender between two of them, a timer has sent the second one. Before the queues of the path,
//! a timer has also sent bursts at equal intervals that follow acknowledgments after unequal times,
//! longer than a host takes to answer.
//!
//! *Limitation.* Queues before the capture hide the intervals between bursts. Once they are busy,
//! they are the limit anyway.

/// A burst ends if the time to the next data exceeds the transmission time of a segment at the
/// bottleneck by this factor.
const IDLE: f64 = 1.5;
/// Intervals count as equal if they differ by less than their length divided by this number.
const EVEN: i64 = 8;
/// Intervals between bursts that follow acknowledgments show a timer only if they differ by less
/// than their length divided by this number, so many times in a row, and if the time since the
/// acknowledgment varies. The numbers are conventions: the answers of a busy host come less evenly,
/// or always equally late.
const EXACT: i64 = 64;
const EXACT_MIN: u32 = 3;
/// An interval that exceeds the previous one by this factor does not belong to the same series: the
/// sender has waited for something else than its timer.
pub(super) const LONGER: f64 = 1.5;
/// Number of bursts without an acknowledgment before them from which on the sender counts as
/// pacing. A few may be due to acknowledgments that were lost. In random flows of
/// `tools/diagnose_truth.py` (33000–33199 and 30000–30399) at the receiver's end, senders that do
/// not pace have at most one such burst, and BBR has at least three, if any.
const BURSTS_MIN: u32 = 4;

/// Spacing of new data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spacing {
    /// The spacing does not suggest pacing, or it is not known.
    Unknown,
    /// The data belong to a burst at the usual interval.
    Regular,
    /// An acknowledgment may have released the data, before the queues of the path.
    Released,
    /// A timer has sent the data, not an acknowledgment.
    Timed,
}

/// Time from the last acknowledgment that reached the sender to new data.
#[derive(Debug, Clone, Copy)]
pub struct SinceAck {
    /// Length in nanoseconds.
    pub ns: i64,
    /// Longest such time for data that the acknowledgment has released; `i64::MAX` if queues may
    /// lengthen it.
    pub released_ns: i64,
    /// True outside loss recovery, in which retransmissions may space new data evenly.
    pub is_open: bool,
}

/// Bursts at even intervals.
#[derive(Debug, Default)]
pub struct PacedBursts {
    /// Time of the last data, and time of the first data of the current burst.
    last_ns: Option<(i64, i64)>,
    /// Time between the first data of the last two bursts; none after a pause.
    interval_ns: Option<i64>,
    /// Least time between consecutive data; none before the second.
    least_ns: Option<i64>,
    /// True if the last burst came at the same interval as the one before it.
    is_even: bool,
    /// True if, in addition, no acknowledgment has released the last burst.
    is_timed: bool,
    /// Time from the last acknowledgment to the last burst.
    lag_ns: i64,
    /// Number of intervals in a row that were equal to the one before.
    exact: u32,
    /// Number of bursts at even intervals that no acknowledgment has released.
    count: u32,
}

impl PacedBursts {
    /// Handles new data; returns true if they belong to the current burst, or to a burst at the
    /// usual interval.
    pub fn on_data(&mut self, time_ns: i64, since_ack: SinceAck, segment_ns: f64) -> bool {
        let Some((last_ns, start_ns)) = self.last_ns.replace((time_ns, time_ns)) else {
            return false;
        };
        // Before the bottleneck was busy its rate is unknown, and a burst shows only itself.
        let gap_ns = time_ns - last_ns;
        let least_ns = self.least_ns.map_or(gap_ns, |least_ns| least_ns.min(gap_ns));
        self.least_ns = Some(least_ns);
        if gap_ns as f64 <= IDLE * segment_ns.max(least_ns as f64) {
            self.last_ns = Some((time_ns, start_ns));
            return true;
        }
        let interval_ns = time_ns - start_ns;
        let before_ns = self.interval_ns.replace(interval_ns);
        let is_near = |ns: i64| (interval_ns - ns).abs() * EVEN < interval_ns;
        self.is_even = before_ns.is_some_and(is_near);
        let is_exact = before_ns.is_some_and(|ns| (interval_ns - ns).abs() * EXACT < interval_ns);
        self.exact = if is_exact { self.exact + 1 } else { 0 };
        let lag_ns = std::mem::replace(&mut self.lag_ns, since_ack.ns);
        let has_drifted = (since_ack.ns - lag_ns).abs() * EXACT > interval_ns;
        let is_late =
            self.exact >= EXACT_MIN && has_drifted && since_ack.ns > since_ack.released_ns;
        self.is_timed = self.is_even && (since_ack.ns > interval_ns || is_late);
        let Some(before_ns) = before_ns else { return false };
        self.count += u32::from(self.is_timed && since_ack.is_open);
        interval_ns as f64 <= LONGER * before_ns as f64
    }

    /// True if the last burst came at the same interval as the one before it.
    pub const fn is_even(&self) -> bool {
        self.is_even
    }

    /// True if, in addition, no acknowledgment has released the last burst.
    pub const fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Forgets the last data, after a loss or a pause.
    pub fn restart(&mut self) {
        (self.is_even, self.is_timed, self.exact) = (false, false, 0);
        (self.last_ns, self.interval_ns) = (None, None);
    }

    /// True if the sender paces.
    pub fn show_pacing(&self) -> bool {
        self.count >= BURSTS_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No acknowledgment came for 20 ms.
    const SINCE: SinceAck = SinceAck { ns: 20_000_000, released_ns: i64::MAX, is_open: true };

    /// Pairs of segments, 0.1 ms apart, at these times in milliseconds, with acknowledgments 7 ms
    /// apart.
    fn pairs(times_ms: impl Iterator<Item = i64>) -> PacedBursts {
        pairs_released_within(i64::MAX, times_ms)
    }

    fn pairs_released_within(released_ns: i64, times_ms: impl Iterator<Item = i64>) -> PacedBursts {
        let mut bursts = PacedBursts::default();
        for ms in times_ms {
            for ns in [ms * 1_000_000, ms * 1_000_000 + 100_000] {
                bursts.on_data(
                    ns,
                    SinceAck { ns: ns % 7_000_000, released_ns, is_open: true },
                    100_000.0,
                );
            }
        }
        bursts
    }

    #[test]
    fn even_bursts_without_acknowledgments_between_them_show_pacing() {
        assert!(pairs((0..20).map(|number| 3 * number)).show_pacing());
        // Each acknowledgment has released one.
        assert!(!pairs((0..20).map(|number| 7 * number)).show_pacing());
        // Each comes at another time after an acknowledgment.
        assert!(!pairs((0..20).map(|number| 8 * number)).show_pacing());
        let late = (0..20).map(|number| 8 * number);
        assert!(pairs_released_within(600_000, late).show_pacing());
        // A burst of an unknown bottleneck.
        let mut burst = PacedBursts::default();
        (0..40).for_each(|ms| _ = burst.on_data(ms * 1_000_000, SINCE, 0.0));
        assert!(!burst.show_pacing());
        // Other traffic has spaced them.
        assert!(!pairs((0..20).map(|number| 3 * number + number % 2)).show_pacing());
        // Few may be due to lost acknowledgments.
        assert!(!pairs((0..5).map(|number| 3 * number)).show_pacing());
    }

    #[test]
    fn a_wait_after_paced_bursts_is_not_paced() {
        let mut bursts = pairs(0..0);
        assert!(!bursts.on_data(0, SINCE, 10.0));
        assert!(bursts.on_data(10, SINCE, 10.0));
        assert!(!bursts.on_data(100, SINCE, 10.0));
        assert!(bursts.on_data(200, SINCE, 10.0));
        assert!(!bursts.on_data(400, SINCE, 10.0));
        bursts.restart();
        assert!(!bursts.on_data(500, SINCE, 10.0));
    }

    /// Damaged times, in any order.
    #[test]
    fn the_longest_times_do_not_overflow() {
        const MOST: i64 = super::super::LIFE_MAX_NS;
        let since = |ns: i64| SinceAck { ns, released_ns: 0, is_open: true };
        let mut bursts = PacedBursts::default();
        for (time_ns, since_ns) in
            [(0, 0), (1, -2 * MOST), (MOST, 2 * MOST), (-MOST, 0), (1_000 - MOST, -2 * MOST)]
        {
            bursts.on_data(time_ns, since(since_ns), 100.0);
        }
        assert!(!bursts.show_pacing());
    }
}
