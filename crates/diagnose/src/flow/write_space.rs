//! Detection of a full send buffer by the wake-ups of the program that fills it.
//!
//! *Rule.* A program whose write does not fit into the send buffer waits. Linux wakes it when at
//! most two thirds of the buffer are taken (`sk_stream_is_writeable`), so new data follow an
//! acknowledgment at once, and each time nearly as many bytes are still in flight. Before that,
//! several acknowledgments have released nothing. A congestion window releases data with each
//! acknowledgment, outside of loss recovery, and a program that has nothing to write does not wait
//! for an acknowledgment.
//!
//! The data in flight may exceed the buffer: Linux compares the memory with the buffer only when a
//! block begins, and refills the last block after a part of it has been sent, so that a large write
//! fills the congestion window (`tcp_sendmsg_locked`, `retx_tcp`'s send memory). The bytes in
//! flight at a wake-up are therefore evidence, and their maximum is not.

use super::direction::{Direction, PacketContext};

/// Least number of acknowledgments before a wake-up, the last of which ends the silence (an
/// arbitrary choice: a window releases data with nearly each of them).
const ACKS_MIN: u32 = 4;
/// Least number of segments in flight at a wake-up, and acknowledged before it. BBR also lets the
/// data in flight fall to four segments.
const SEGMENTS_MIN: i64 = 5;
/// Least part of the data that is acknowledged before a wake-up, relative to the data that are
/// still in flight. A third of the buffer is half of the rest; half of that is required, because
/// memory and bytes are not proportional. Bursts of a sender that paces, or whose acknowledgments
/// arrive in groups, have much less.
const FREED: f64 = 0.25;
/// Number of silences from which on they are evidence (an arbitrary choice).
const SILENCES_MIN: usize = 5;
/// Number of silences that are stored. Later ones are not evaluated.
const SILENCES_MAX: usize = 1 << 10;
/// Least fraction of the silences that must agree (an arbitrary choice).
const AGREEING: f64 = 0.75;
/// Largest deviation of the bytes in flight at a wake-up from their median, relative to it (an
/// arbitrary choice). The memory of the same bytes depends on the bursts in which they were sent:
/// from 217 to 248 kB in a simulation and in an emulation by the kernel with the same buffer.
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
        // A program that waits for something else writes at any time between two acknowledgments,
        // and in half of the cases later than in the first half of the mean time between them.
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
