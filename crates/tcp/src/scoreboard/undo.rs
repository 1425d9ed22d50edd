//! State that a recovery leaves to the next one, and the undo of a spurious recovery.

use super::{Delivered, Scoreboard};
use crate::work;
use retx_units::Time;

impl Scoreboard {
    /// Start of the first segment marked lost that has not arrived, retransmitted or not.
    pub fn first_marked_lost(&self) -> Option<u64> {
        let is_marked =
            |it: &&super::Record| it.lost || it.retransmitted && !it.previous_copy_in_flight;
        self.records.iter().find(is_marked).map(|record| record.start)
    }

    /// Number of segments marked lost and retransmitted whose copies are considered in flight
    /// (Linux `retrans_out`).
    pub fn retransmitted_segments(&self) -> u64 {
        self.marked_segments - self.lost_segments + self.extra_copy_segments
    }

    /// Number of segments within a range that were ever retransmitted.
    pub fn retransmitted_within(&self, left: u64, right: u64) -> u64 {
        let from = self.first_index_from(left);
        let within = (from..).map_while(|index| self.records.get(index));
        let within = within.take_while(|record| record.end() <= right);
        within.filter(|record| record.ever_retransmitted).count() as u64
    }

    /// From now on, counts a segment in flight once, no longer twice (original and copy).
    pub(super) fn forget_extra_copy(&mut self, index: usize) {
        let Some(record) = self.records.get_mut(index).filter(|record| record.extra_copy_in_flight)
        else {
            return;
        };
        record.extra_copy_in_flight = false;
        self.extra_copy_bytes -= u64::from(record.length);
        self.extra_copy_segments -= 1;
    }

    /// Marks the original of a segment lost while a copy is in flight: the copy replaces it, and no
    /// retransmission follows (in Linux the segment is then tagged both L and R).
    pub(super) fn mark_original_lost(&mut self, index: usize) {
        self.forget_extra_copy(index);
        self.records[index].retransmitted = true;
        self.marked_segments += 1;
        self.losses += 1;
    }

    /// Handles a report that these positions have arrived twice: segments in this range that
    /// counted twice as in flight count once from now on (`tcp_sacktag_one`). A segment that was
    /// selectively acknowledged and retransmitted is evidence of reordering, which is added to
    /// `delivered`.
    pub fn note_duplicate(&mut self, left: u64, right: u64, delivered: &mut Delivered) {
        let mut index = self.first_index_from(left);
        while let Some(record) = self.records.get(index).filter(|record| record.end() <= right) {
            work::steps(1);
            if record.sacked && record.ever_retransmitted {
                delivered.note_reordered(record.start);
            }
            self.forget_extra_copy(index);
            index += 1;
        }
    }

    /// True if the first segment in flight was retransmitted.
    pub fn is_first_retransmitted(&self) -> bool {
        self.records.front().is_some_and(|record| record.ever_retransmitted)
    }

    /// Discards all losses and retransmissions after a spurious recovery. RACK (RFC 8985 §6.2) then
    /// examines all segments again.
    ///
    /// Linux discards only the losses (`tcp_undo_cwnd_reduction`): original and copy are both
    /// considered in flight. Segments that RACK had marked are not examined again, either. They are
    /// not in `tsorted_sent_queue` until they are retransmitted, and an undo does not put them
    /// back.
    pub fn undo(&mut self) {
        let as_linux = self.as_linux;
        let mut resent: Vec<(Time, u64)> = Vec::new();
        for record in self.records.iter_mut() {
            if as_linux && record.retransmitted && !record.extra_copy_in_flight {
                record.extra_copy_in_flight = true;
                self.extra_copy_bytes += u64::from(record.length);
                self.extra_copy_segments += 1;
            }
            record.lost = false;
            record.retransmitted = false;
            record.previous_copy_in_flight = false;
            record.overdue &= as_linux;
            if record.ever_retransmitted && !(record.sacked || record.overdue) {
                resent.push((record.sent, record.start));
            }
        }
        self.lost_bytes = 0;
        self.lost_segments = 0;
        self.previous_copy_bytes = 0;
        self.marked_segments = 0;
        self.exhausted = (0, 0);
        self.to_retransmit.clear();
        // All marks are gone, so that all segments may be found lost again.
        self.examined = self.records.front().map_or(self.examined, |record| record.start);
        self.overtaken.clear();
        self.resent.clear();
        self.next_original = 0;
        if !self.without_times {
            // Records lie in the order of the stream, not in that of their retransmissions.
            resent.sort_unstable();
            self.resent.extend(resent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::Duration;

    /// Ten segments of 1000 bytes, the first of which was retransmitted in a recovery that was
    /// undone.
    fn undone() -> Scoreboard {
        let mut board = Scoreboard { as_linux: true, ..Scoreboard::default() };
        for segment in 0..10 {
            board.push(Time::ZERO, 1 + 1000 * segment, 1000);
        }
        board.mark_first_lost();
        board.mark_retransmitted(Time::ZERO + Duration::from_millis(1), 1);
        board.undo();
        board
    }

    /// Linux: the copy is in flight in addition to its original, until both are acknowledged.
    #[test]
    fn an_undo_leaves_the_copy_in_flight() {
        let mut board = undone();
        assert_eq!((board.pipe(10_000), board.retransmitted_segments()), (11_000, 1));
        board.acknowledge(1_001, &[], &mut Delivered::default());
        assert_eq!((board.pipe(9_000), board.retransmitted_segments()), (9_000, 0));
    }

    /// A selective acknowledgment concerns the original; a DSACK concerns the copy, and shows that
    /// the original was only late.
    #[test]
    fn a_duplicate_report_ends_the_copy() {
        let mut board = undone();
        let mut delivered = Delivered::default();
        // A selectively acknowledged segment at the left edge occurs only if the receiver reneges;
        // the scoreboard accepts it.
        board.acknowledge(1, &[(1, 1_001)], &mut delivered);
        assert_eq!((board.pipe(10_000), delivered.reordered), (10_000, None));
        board.note_duplicate(1, 1_001, &mut delivered);
        assert_eq!((board.pipe(10_000), delivered.reordered), (9_000, Some(1)));
    }

    /// The copy replaces an original that is marked lost, and nothing is retransmitted.
    #[test]
    fn a_lost_original_leaves_its_copy() {
        let mut board = undone();
        board.mark_lost_below(1_001);
        assert_eq!((board.marked_segments(), board.lost_bytes()), (1, 0));
        assert_eq!((board.pipe(10_000), board.next_to_retransmit()), (10_000, None));
    }
}
