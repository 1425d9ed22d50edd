//! What a recovery leaves to the one after it, and what is taken back of a spurious one.

use super::{Record, Scoreboard};
use retx_units::Time;

impl Record {
    /// In Linux: sent again, and taken for lost no more.
    pub(super) const fn is_copy_of_undone(&self) -> bool {
        self.retransmitted && self.doubled
    }
}

impl Scoreboard {
    /// The first segment taken for lost that has not arrived, be it sent again or not.
    pub fn first_marked(&self) -> Option<u64> {
        let is_marked = |it: &&Record| it.lost || it.retransmitted && !it.doubled;
        self.records.iter().find(is_marked).map(|record| record.start)
    }

    /// Segments that were taken for lost and sent again, and whose copies are taken to be in flight
    /// (Linux `retrans_out`).
    pub fn retransmitted_segments(&self) -> u64 {
        self.marked_segments - self.lost_segments + self.copies_of_undone
    }

    /// Segments within a range that were ever sent again.
    pub fn sent_again_within(&self, left: u64, right: u64) -> u64 {
        let from = self.first_from(left);
        let within = (from..).map_while(|index| self.records.get(index));
        let within = within.take_while(|record| record.end() <= right);
        within.filter(|record| record.ever_retransmitted).count() as u64
    }

    /// The first segment in flight was sent again.
    pub fn is_first_retransmitted(&self) -> bool {
        self.records.front().is_some_and(|record| record.ever_retransmitted)
    }

    /// Forgets all losses and retransmissions: a recovery was spurious. RFC 8985 §6.2 then looks at
    /// all segments again.
    ///
    /// Linux forgets the losses alone (`tcp_undo_cwnd_reduction`): original and copy are both taken
    /// to be in flight. Nor does it look at segments again that RACK had marked: they are out of
    /// `tsorted_sent_queue` until they are sent again, and no undo puts them back.
    pub fn undo(&mut self) {
        let as_linux = self.as_linux;
        let (mut copies, mut copied_bytes) = (0, 0);
        let mut in_time: Vec<(Time, u64)> = Vec::new();
        for record in self.records.iter_mut() {
            record.lost = false;
            record.retransmitted &= as_linux;
            record.doubled = record.retransmitted;
            copies += u64::from(record.retransmitted);
            copied_bytes += u64::from(record.length) * u64::from(record.retransmitted);
            if !(record.sacked || as_linux && record.overdue) {
                in_time.push((record.sent, record.start));
            }
        }
        self.lost_bytes = 0;
        self.lost_segments = 0;
        self.doubled_bytes = copied_bytes;
        self.copies_of_undone = copies;
        self.marked_segments = 0;
        self.exhausted = (0, 0);
        self.to_retransmit.clear();
        self.examined = self.records.front().map_or(self.examined, |record| record.start);
        self.overtaken.clear();
        self.by_time.clear();
        if !self.without_times {
            in_time.sort_unstable();
            self.by_time.extend(in_time);
        }
    }
}
