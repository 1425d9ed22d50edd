//! Splitting of segments: a retransmission may have to be shorter than the original.

use super::{Record, Scoreboard};
use crate::work;
use std::cmp::Reverse;

impl Scoreboard {
    /// Splits the segment that begins at `start` after `length` positions; both parts keep its
    /// state (Linux `tcp_fragment`).
    pub fn split(&mut self, start: u64, length: u32) {
        let Some(index) = self.index_at(start) else { return };
        let whole = self.records[index];
        if length == 0 || length >= whole.length {
            return;
        }
        let rest = Record {
            start: start + u64::from(length),
            length: whole.length - length,
            opens_burst: false,
            ..whole
        };
        self.records[index].length = length;
        work::steps(self.records.len() - index);
        self.records.insert(index + 1, rest);
        // Counts of segments grow by one, the new segment; counts of bytes are unchanged.
        let marked = whole.lost || whole.retransmitted && !whole.previous_copy_in_flight;
        self.marked_segments += u64::from(marked);
        self.lost_segments += u64::from(whole.lost);
        self.sacked_segments += u64::from(whole.sacked);
        self.extra_copy_segments += u64::from(whole.extra_copy_in_flight);
        if whole.lost {
            self.to_retransmit.push(Reverse(rest.start));
        }
        if start < self.next_original || !whole.is_original() {
            self.note_time(whole.sent, rest.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Delivered;
    use retx_units::{Duration, Time};

    fn board() -> Scoreboard {
        let mut board = Scoreboard::default();
        for segment in 0..5 {
            board.push(Time::ZERO, 1 + 1000 * segment, 1000);
        }
        board
    }

    /// Both parts are lost, are retransmitted one after another, and are acknowledged.
    #[test]
    fn of_a_lost_segment_both_parts_are_lost() {
        let mut board = board();
        board.mark_lost_below(2_001);
        board.split(1_001, 988);
        assert_eq!((board.segments(), board.marked_segments(), board.lost_bytes()), (6, 3, 2_000));
        let again = Time::ZERO + Duration::from_millis(1);
        for expected in [(1, 1000), (1_001, 988), (1_989, 12)] {
            assert_eq!(board.next_to_retransmit(), Some(expected));
            board.mark_retransmitted(again, expected.0);
        }
        assert_eq!((board.next_to_retransmit(), board.pipe(5_000)), (None, 5_000));
        let mut delivered = Delivered::default();
        board.acknowledge(1_989, &[], &mut delivered);
        assert_eq!((board.segments(), board.marked_segments()), (4, 1));
    }

    /// Each part of a segment in flight can arrive or be lost separately.
    #[test]
    fn parts_arrive_by_themselves() {
        let mut board = board();
        board.split(4_001, 900);
        board.acknowledge(1, &[(4_001, 4_901)], &mut Delivered::default());
        assert_eq!((board.sacked_segments(), board.sacked_bytes()), (1, 900));
        board.split(4_001, 900);
        board.split(4_901, 100);
        board.split(9_001, 100);
        assert_eq!(board.segments(), 6, "as long as that, or not there");
        board.acknowledge(5_001, &[], &mut Delivered::default());
        assert_eq!((board.segments(), board.sacked_segments(), board.sacked_bytes()), (0, 0, 0));
    }
}
