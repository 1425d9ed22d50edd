//! Detection of a full send buffer by the wake-ups of the program that fills it.
//!
//! *Rule.* A program whose write does not fit into the send buffer waits. Linux wakes it when at
//! most two thirds of the buffer are taken (`sk_stream_is_writeable`), so new data follow an
//! acknowledgment at once, and each time nearly as many bytes are still in flight. Before that,
//! several acknowledgments have released nothing. A congestion window releases data with each
//! acknowledgment, outside of loss recovery, and a program that has nothing to write does not wait
//! for an acknowledgment.

use super::direction::{Direction, PacketContext};

/// Number of acknowledgments that released nothing, before a wake-up. A window needs two where the
/// receiver acknowledges every second segment.
const ACKS_MIN: u32 = 4;
/// Number of segments in flight at a wake-up, and number of segments acknowledged before it. BBR
/// also lets the data in flight fall to four segments.
const SEGMENTS_MIN: i64 = 5;
/// Data acknowledged before a wake-up, as a fraction of those still in flight. In a full buffer it
/// is a half; less is left to the memory that the data occupy. Bursts of a sender that paces, or
/// whose acknowledgments arrive in groups, have much less.
const FREED: f64 = 0.25;
/// Number of silences from which on they are evidence.
const SILENCES_MIN: usize = 5;
/// Number of silences that are stored. Later ones are not evaluated.
const SILENCES_MAX: usize = 1 << 10;
/// Part of the silences that must agree.
const AGREEING: f64 = 0.75;
/// The bytes in flight at wake-ups may deviate from their median by this fraction.
const DEVIATION: f64 = 0.1;

/// Silences in which acknowledgments released nothing, outside of loss recovery.
#[derive(Debug, Default)]
pub struct WriterWakeups {
    /// Bytes in flight at the end of each silence, and whether an acknowledgment ended it.
    silences: Vec<(i64, bool)>,
}

impl WriterWakeups {
    /// Adds a silence that ended with so many bytes in flight.
    fn add(&mut self, flight: i64, is_woken: bool) {
        if self.silences.len() < SILENCES_MAX {
            self.silences.push((flight, is_woken));
        }
    }

    /// Bytes in flight at which the program is woken, and the number of silences; none if they do
    /// not show it.
    pub fn threshold(&self) -> Option<(i64, usize)> {
        let mut flights: Vec<i64> = self.silences.iter().map(|(flight, _)| *flight).collect();
        flights.sort_unstable();
        let median = *flights.get(flights.len() / 2)?;
        let is_near = |flight: i64| (flight - median).abs() as f64 <= DEVIATION * median as f64;
        let agreeing =
            self.silences.iter().filter(|(flight, is_woken)| *is_woken && is_near(*flight));
        let is_shown = agreeing.count() as f64 >= AGREEING * flights.len() as f64;
        (flights.len() >= SILENCES_MIN && is_shown).then_some((median, flights.len()))
    }
}

impl Direction {
    /// True if these new data end a silence in which the sender's windows had room, and an
    /// acknowledgment ended it.
    pub(super) fn is_writer_woken(&mut self, now: &PacketContext) -> bool {
        let acks = self.last_partial.acks_since_data();
        let flight = self.scoreboard.end - self.sender.snd_una;
        let acked = self.sender.snd_una - self.una_at_data;
        let is_silence = acks >= ACKS_MIN
            && self.sender.is_open()
            && self.was_open
            && flight.min(acked) >= SEGMENTS_MIN * self.largest_payload
            && acked as f64 >= FREED * flight as f64;
        if !is_silence {
            return false;
        }
        let [since_ack, since_data] = self.sender.idle_ns(now.sent_ns);
        // A program is not woken in time with the acknowledgments that reach its host if it waits
        // for something else.
        let is_woken =
            since_ack - self.release_tolerance_ns(now) <= since_data / i64::from(2 * acks);
        self.undecided_times.writer.add(flight, is_woken);
        is_woken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_flights_show_a_buffer() {
        let threshold = |silences: &[(i64, bool)]| {
            let mut writer = WriterWakeups::default();
            silences.iter().for_each(|(flight, is_woken)| writer.add(*flight, *is_woken));
            writer.threshold()
        };
        let equal = [(230, true), (222, true), (231, true), (229, true), (230, true)];
        assert_eq!(threshold(&equal), Some((230, 5)));
        assert_eq!(threshold(&equal[1..]), None, "too few");
        let by_time = equal.map(|(flight, _)| (flight, flight > 230));
        assert_eq!(threshold(&by_time), None, "no acknowledgment ended most of them");
        let other = [(230, true), (100, true), (300, true), (50, true), (225, true)];
        assert_eq!(threshold(&other), None, "different bytes in flight");
    }
}
