//! Round-trip times of segments sent once.
//!
//! *Source.* The samples that Linux takes (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`). Normally a
//! sample is taken from the oldest segment that an acknowledgment covers for the first time. If one
//! of the covered segments was sent twice, the sample is taken from the oldest segment that was
//! sent once and that the acknowledgment covers for the first time by SACK.
//!
//! *Difference.* If neither rule yields a sample, Linux uses the echo of a timestamp; this module
//! does not.

use retx_tcp::Ranges;
use retx_units::Time;
use std::collections::VecDeque;

/// Unacknowledged segments.
#[derive(Debug, Default)]
pub struct RoundTrips {
    /// State of each segment, with the position after the segment.
    segments: VecDeque<(u64, Segment)>,
    /// Selectively acknowledged ranges.
    on_sacked: Ranges,
}

#[derive(Debug, Clone, Copy)]
enum Segment {
    SentOnce(Time),
    SentTwice,
    Sacked,
}

impl RoundTrips {
    /// Records a segment that ends at `end`. `once_at` is its time of sending, or `None` if it
    /// contains retransmitted bytes.
    pub fn on_sent(&mut self, end: u64, once_at: Option<Time>) {
        let segment = once_at.map_or(Segment::SentTwice, Segment::SentOnce);
        self.segments.push_back((end, segment));
    }

    /// Records a retransmission of the bytes `from … to`.
    pub fn on_retransmitted(&mut self, from: u64, to: u64) {
        for (_, segment) in self.between(from, to) {
            *segment = Segment::SentTwice;
        }
    }

    /// Records a selective acknowledgment of `from … to`, above the cumulative one. Returns the
    /// transmission time of the oldest newly acknowledged segment, if it yields a valid sample.
    pub fn on_sacked(&mut self, from: u64, to: u64) -> Option<Time> {
        let (mut oldest, mut next) = (None, from);
        // Later acknowledgments repeat SACK blocks; only newly reported ranges yield a sample.
        while let Some((start, end)) = self.on_sacked.first_gap(next, to) {
            for (_, segment) in self.between(start, end) {
                if let Segment::SentOnce(at) = *segment {
                    oldest.get_or_insert(at);
                    *segment = Segment::Sacked;
                }
            }
            next = end;
        }
        if from < to {
            self.on_sacked.insert(from, to);
        }
        oldest
    }

    /// Records a cumulative acknowledgment up to `position`. Returns the transmission time of the
    /// oldest newly acknowledged segment, if it yields a valid sample.
    pub fn on_acknowledged(&mut self, position: u64) -> Option<Time> {
        let (mut oldest, mut again) = (None, false);
        while let Some(&(end, segment)) = self.segments.front()
            && end <= position
        {
            self.segments.pop_front();
            match segment {
                Segment::SentOnce(at) => oldest = oldest.or(Some(at)),
                Segment::SentTwice => again = true,
                // This segment yielded its sample when it was selectively acknowledged.
                Segment::Sacked => {}
            }
        }
        self.on_sacked.remove_below(position);
        oldest.filter(|_| !again)
    }

    /// Segments that overlap with `from … to`.
    fn between(&mut self, from: u64, to: u64) -> impl Iterator<Item = &mut (u64, Segment)> {
        let first = self.segments.partition_point(|(end, _)| *end <= from);
        let mut start = from;
        self.segments.range_mut(first..).take_while(move |(end, _)| {
            let within = start < to;
            start = *end;
            within
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Option<Time> {
        Some(Time::from_nanos(ms * 1_000_000))
    }

    /// Ten segments of ten bytes, sent a millisecond apart.
    fn ten() -> RoundTrips {
        let mut all = RoundTrips::default();
        (1..=10).for_each(|number| all.on_sent(10 * number, at(number)));
        all
    }

    #[test]
    fn the_oldest_that_is_acknowledged_is_timed() {
        let mut all = ten();
        assert_eq!(all.on_acknowledged(30), at(1));
        assert_eq!(all.on_acknowledged(35), None);
        assert_eq!(all.on_acknowledged(40), at(4));
    }

    #[test]
    fn nothing_sent_twice_is_timed() {
        let mut all = ten();
        all.on_retransmitted(15, 20);
        assert_eq!(all.on_acknowledged(30), None);
        assert_eq!(all.on_sacked(40, 60), at(5));
        all.on_retransmitted(60, 70);
        assert_eq!(all.on_sacked(60, 80), at(8));
    }

    #[test]
    fn what_is_selectively_acknowledged_is_timed_once() {
        let mut all = ten();
        assert_eq!(all.on_sacked(20, 40), at(3));
        assert_eq!(all.on_sacked(20, 50), at(5));
        assert_eq!(all.on_sacked(20, 50), None);
        // The first of five segments yields the sample; the others were acknowledged selectively
        // before.
        assert_eq!(all.on_acknowledged(50), at(1));
        assert_eq!(all.on_acknowledged(60), at(6));
    }
}
