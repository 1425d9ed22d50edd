//! What a recovery leaves to the one after it, and what is taken back of a spurious one.

use super::Scoreboard;
use retx_units::Time;

impl Scoreboard {
    /// The first segment taken for lost that has not arrived, be it sent again or not.
    pub fn first_marked(&self) -> Option<u64> {
        let is_marked = |it: &&super::Record| it.lost || it.retransmitted && !it.doubled;
        self.records.iter().find(is_marked).map(|record| record.start)
    }

    /// Segments that were taken for lost and sent again, and whose copies are taken to be in flight
    /// (Linux `retrans_out`).
    pub fn retransmitted_segments(&self) -> u64 {
        self.marked_segments - self.lost_segments
    }

    /// The first segment in flight was sent again.
    pub fn is_first_retransmitted(&self) -> bool {
        self.records.front().is_some_and(|record| record.ever_retransmitted)
    }

    /// Forgets all losses and retransmissions: a recovery was spurious. RFC 8985 §6.2 then looks at
    /// all segments again; with `as_linux` not at those that it had marked itself: Linux takes them
    /// out of `tsorted_sent_queue` until they are sent again, and no undo puts them back.
    pub fn undo(&mut self, as_linux: bool) {
        let mut in_time: Vec<(Time, u64)> = Vec::new();
        for record in self.records.iter_mut() {
            record.lost = false;
            record.retransmitted = false;
            record.doubled = false;
            if !(record.sacked || as_linux && record.overdue) {
                in_time.push((record.sent, record.start));
            }
        }
        self.lost_bytes = 0;
        self.lost_segments = 0;
        self.doubled_bytes = 0;
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
