//! Detection of a sender that paces, from its timestamps.
//!
//! *Rule.* Queues before the capture hide the intervals between bursts, but timestamps show when
//! the bursts were sent, and which acknowledgment the sender had received last (RFC 7323 §4.3). If
//! the sender keeps echoing the same timestamp while its own timestamps advance, no acknowledgment
//! has released the later data: a timer has. Full segments show that the application did not write
//! them one after the other.

use super::pacing::{LONGER, Spacing};

/// Shortest time, and number of ticks, since the sender began to echo a timestamp from which on
/// further data were not released by an acknowledgment with this timestamp. Acknowledgments of one
/// tick of a millisecond reach the sender within a millisecond; the numbers are conventions, which
/// leave room for the rounding of both timestamps and for jitter.
const SINCE_MIN_NS: i64 = 3_000_000;
const TICKS_MIN: i64 = 3;

/// Number of bursts that no acknowledgment has released from which on the sender counts as pacing.
/// A few may be due to acknowledgments that were lost.
const BURSTS_MIN: u32 = 8;

/// The last data, as their timestamps describe them.
#[derive(Debug, Clone, Copy)]
struct LastData {
    value: u32,
    echo: u32,
    /// Timestamp value of the first data with this echo.
    echo_since: u32,
    is_full: bool,
}

/// Intervals between bursts in ticks.
#[derive(Debug, Default)]
pub struct PacedTicks {
    last: Option<LastData>,
    /// Ticks between the last two bursts; none after a pause.
    interval: Option<i64>,
    /// Number of bursts that no acknowledgment has released.
    count: u32,
    /// Spacing of the current burst; none before the first.
    spacing: Option<Spacing>,
}

/// New data with their timestamps.
#[derive(Debug, Clone, Copy)]
pub struct TimedData {
    /// Timestamp value.
    pub value: u32,
    /// Timestamp that the data echo.
    pub echo: u32,
    /// Length of a tick of the timestamp values.
    pub tick_ns: i64,
    /// True for a full segment.
    pub is_full: bool,
}

impl PacedTicks {
    /// Handles new data; returns their spacing.
    pub fn on_data(&mut self, it: &TimedData) -> Spacing {
        let since = |value: u32| i64::from(it.value.wrapping_sub(value) as i32);
        let this =
            LastData { value: it.value, echo: it.echo, echo_since: it.value, is_full: it.is_full };
        let Some(last) = self.last.replace(this) else { return Spacing::Unknown };
        let is_same_echo = last.echo == it.echo;
        if let Some(this) = self.last.as_mut().filter(|_| is_same_echo) {
            this.echo_since = last.echo_since;
        }
        let interval = since(last.value);
        if interval <= 0 {
            return self.spacing.unwrap_or(Spacing::Unknown);
        }
        let before = self.interval.replace(interval);
        let ticks = since(last.echo_since);
        let is_late = ticks >= TICKS_MIN && ticks.saturating_mul(it.tick_ns) >= SINCE_MIN_NS;
        let is_timed = is_same_echo && is_late && last.is_full;
        self.count = self.count.saturating_add(is_timed.into());
        // The ends of an interval are rounded to ticks.
        let is_regular = |before: i64| interval as f64 <= LONGER * before as f64 + 1.0;
        let spacing = match before {
            _ if is_timed => Spacing::Timed,
            Some(before) if is_regular(before) => Spacing::Regular,
            _ => Spacing::Unknown,
        };
        self.spacing = Some(spacing);
        spacing
    }

    /// Forgets the last data, after a loss or a pause.
    pub fn restart(&mut self) {
        (self.last, self.interval, self.spacing) = (None, None, None);
    }

    /// True if the sender paces.
    pub const fn show_pacing(&self) -> bool {
        self.count >= BURSTS_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of segments every `interval` ms, which echo a timestamp that advances every `acks` ms.
    fn pairs(interval: u32, acks: u32) -> PacedTicks {
        let mut ticks = PacedTicks::default();
        for number in 0..60 {
            let value = number / 2 * interval;
            let (echo, tick_ns) = (value / acks * acks, 1_000_000);
            ticks.on_data(&TimedData { value, echo, tick_ns, is_full: true });
        }
        ticks
    }

    #[test]
    fn bursts_with_the_same_echo_show_pacing() {
        assert!(pairs(2, 10).show_pacing());
        assert!(!pairs(2, 2).show_pacing());
        assert!(!pairs(1, 3).show_pacing());
    }
}
