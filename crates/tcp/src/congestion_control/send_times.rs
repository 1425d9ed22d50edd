//! Transmission times of the segments in flight. From them a congestion control obtains an exact
//! RTT sample for every acknowledgment, as in Vegas and Linux, even if the connection itself times
//! only some segments.

use super::{Ack, Sent};
use crate::lazy::LazyDefault;
use crate::work;
use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// Segment in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InFlightSegment {
    /// Position after the segment.
    end: u64,
    /// Time of the most recent transmission.
    pub sent: Time,
    /// Number of transmissions.
    pub copies: u32,
}

/// Segments in flight, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct SendTimes {
    segments: VecDeque<InFlightSegment>,
}

impl LazyDefault for SendTimes {
    const DEFAULT: &'static Self = &Self { segments: VecDeque::new() };
}

impl SendTimes {
    /// Handles data that are sent.
    pub fn on_sent(&mut self, sent: &Sent) {
        let end = sent.position + u64::from(sent.bytes);
        let known = self.segments.back().map_or(0, |last| last.end);
        if sent.retransmission && sent.position < known {
            let first = self.segments.partition_point(|segment| segment.end <= sent.position);
            // A retransmission may cover several segments, and updates each of them.
            for segment in self.segments.range_mut(first..) {
                work::steps(1);
                segment.sent = sent.now;
                segment.copies = segment.copies.saturating_add(1);
                if segment.end >= end {
                    break;
                }
            }
        }
        if end > known {
            self.segments.push_back(InFlightSegment { end, sent: sent.now, copies: 1 });
        }
    }

    /// Removes the segments covered by an acknowledgment. Returns the RTT of the newest one; `None`
    /// if any of them was retransmitted, since the acknowledgment may be for an earlier copy
    /// (Karn).
    pub fn on_ack(&mut self, ack: &Ack) -> Option<Duration> {
        let mut newest = None;
        let mut ambiguous = false;
        while let Some(segment) = self.segments.front().filter(|it| it.end <= ack.snd_una) {
            work::steps(1);
            ambiguous |= segment.copies > 1;
            newest = Some(segment.sent);
            self.segments.pop_front();
        }
        newest.filter(|_| !ambiguous).map(|sent| ack.now.since(sent))
    }

    /// Like [`Self::on_ack`], but returns the transmission time of the oldest segment.
    pub fn take_acked(&mut self, snd_una: u64) -> Option<Time> {
        let mut oldest = None;
        let mut ambiguous = false;
        while let Some(segment) = self.segments.front().filter(|it| it.end <= snd_una) {
            work::steps(1);
            ambiguous |= segment.copies > 1;
            oldest.get_or_insert(segment.sent);
            self.segments.pop_front();
        }
        oldest.filter(|_| !ambiguous)
    }

    /// First segment in flight.
    pub fn oldest(&self) -> Option<InFlightSegment> {
        self.segments.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at};
    use super::*;

    fn sent(ms: u64, position: u64, bytes: u32, retransmission: bool) -> Sent {
        Sent { now: at(ms), position, bytes, flight_size: 0, retransmission }
    }

    #[test]
    fn samples_are_those_of_the_newest_segment() {
        let mut times = SendTimes::default();
        for n in 0..4 {
            times.on_sent(&sent(10 * n, 1 + 1000 * n, 1000, false));
        }
        let rtt = |times: &mut SendTimes, ms, una| {
            times.on_ack(&Ack { snd_una: una, ..ack(at(ms), 1000) })
        };
        assert_eq!(rtt(&mut times, 100, 1001), Some(Duration::from_millis(100)));
        assert_eq!(rtt(&mut times, 105, 1001), None, "a duplicate");
        assert_eq!(rtt(&mut times, 120, 3001), Some(Duration::from_millis(100)));
        assert_eq!(times.oldest().unwrap().sent, at(30));
    }

    #[test]
    fn karn() {
        let mut times = SendTimes::default();
        times.on_sent(&sent(0, 1, 1000, false));
        times.on_sent(&sent(1, 1001, 1000, false));
        times.on_sent(&sent(2, 2001, 1000, false));
        times.on_sent(&sent(50, 1, 1000, true));
        assert_eq!(times.oldest().unwrap(), InFlightSegment { end: 1001, sent: at(50), copies: 2 });
        let una = |snd_una| Ack { snd_una, ..ack(at(100), 1000) };
        assert_eq!(times.on_ack(&una(2001)), None, "fills the hole");
        assert_eq!(times.on_ack(&una(3001)), Some(Duration::from_millis(98)));
        assert_eq!(times.oldest(), None);
    }

    #[test]
    fn a_retransmission_may_cover_several_segments_and_new_data() {
        let mut times = SendTimes::default();
        times.on_sent(&sent(0, 1, 10, false));
        times.on_sent(&sent(1, 11, 10, false));
        times.on_sent(&sent(9, 1, 30, true));
        let copies: Vec<u32> = times.segments.iter().map(|it| it.copies).collect();
        assert_eq!(copies, [2, 2, 1]);
    }

    #[test]
    fn a_retransmission_adds_no_segment() {
        let mut times = SendTimes::default();
        times.on_sent(&sent(0, 1, 10, false));
        times.on_sent(&sent(1, 11, 10, false));
        times.on_sent(&sent(9, 11, 10, true));
        let seen: Vec<_> = times.segments.iter().map(|it| (it.end, it.sent, it.copies)).collect();
        assert_eq!(seen, [(11, at(0), 1), (21, at(9), 2)]);
        // Only a retransmission counts as a further copy.
        times.on_sent(&sent(12, 1, 10, false));
        assert_eq!(times.oldest().unwrap(), InFlightSegment { end: 11, sent: at(0), copies: 1 });
    }

    #[test]
    fn the_oldest_segment_taken_tells_its_time_unless_one_was_sent_twice() {
        for (again, expected) in [(None, Some(at(3))), (Some(1), None), (Some(1001), None)] {
            let mut times = SendTimes::default();
            times.on_sent(&sent(3, 1, 1000, false));
            times.on_sent(&sent(4, 1001, 1000, false));
            if let Some(position) = again {
                times.on_sent(&sent(50, position, 1000, true));
            }
            assert_eq!(times.take_acked(1000), None, "nothing is covered");
            assert_eq!(times.take_acked(2001), expected, "{again:?}");
            assert_eq!(times.oldest(), None);
        }
    }
}
