//! Segments marked lost: by the scoreboard of RFC 6675, or after a timeout.

use super::{AssumedArrivals, Record, Scoreboard};
use crate::ranges::Ranges;
use crate::work;
use retx_units::Time;
use std::cmp::Reverse;

impl Scoreboard {
    /// Marks a segment lost, unless it has arrived or is marked already.
    pub(super) fn mark_lost(&mut self, index: usize) {
        let record = &mut self.records[index];
        if record.sacked || record.lost {
            return;
        }
        // Linux: the original is lost, but its copy from the undone recovery is in flight, so no
        // retransmission is needed.
        if record.extra_copy_in_flight {
            self.mark_original_lost(index);
            return;
        }
        let length = u64::from(record.length);
        record.lost = true;
        // A lost retransmission is still the same marked segment; only its copy is no longer in
        // flight.
        self.marked_segments += u64::from(!record.retransmitted || record.previous_copy_in_flight);
        self.losses += 1;
        self.lost_bytes += length;
        self.lost_segments += 1;
        if std::mem::take(&mut record.retransmitted) {
            self.exhausted = (0, 0);
            self.latest_lost_copy = self.latest_lost_copy.max(record.sent);
        }
        if std::mem::take(&mut record.previous_copy_in_flight) {
            self.previous_copy_bytes -= length;
        }
        self.to_retransmit.push(Reverse(record.start));
    }

    /// Marks lost the segments below `position` that are neither selectively acknowledged nor
    /// examined before. Returns the bytes newly marked.
    pub fn mark_lost_below(&mut self, position: u64) -> u64 {
        let before = self.lost_bytes;
        if position > self.examined {
            let first = self.first_index_from(self.examined);
            let mut index = first;
            while self.records.get(index).is_some_and(|record| record.end() <= position) {
                work::steps(1);
                self.mark_lost(index);
                index += 1;
            }
            // All segments below this position have been examined. The next ACK starts here, so
            // that each segment is examined once, not once per ACK.
            self.examined = self.records.get(index).map_or(position, |record| record.start);
        }
        self.lost_bytes - before
    }

    /// Marks the first segment in flight lost. Returns false if it is already marked or was
    /// retransmitted.
    pub fn mark_first_lost(&mut self) -> bool {
        let fresh =
            self.records.front().is_some_and(|it| !it.sacked && !it.lost && !it.retransmitted);
        if fresh {
            self.mark_lost(0);
        }
        fresh
    }

    /// True if the first segment in flight is marked lost.
    pub fn is_first_lost(&self) -> bool {
        self.records.front().is_some_and(|record| record.lost)
    }

    /// Marks lost, after a timeout, every segment that is not selectively acknowledged. If the
    /// first segment in flight is selectively acknowledged, the receiver has reneged (RFC 2018 §8),
    /// and all selective acknowledgments are discarded.
    pub fn mark_all_lost(&mut self) {
        self.mark_lost_at_timeout(|_| true);
    }

    /// Marks lost the segments for whose last transmission time `is_overdue` is true, and the first
    /// segment in any case (Linux `tcp_timeout_mark_lost`).
    pub fn mark_lost_at_timeout(&mut self, is_overdue: impl Fn(Time) -> bool) {
        self.assumed = AssumedArrivals::default();
        // If the receiver had kept this first segment, the cumulative ACK would have covered it.
        let reneged = self.records.front().is_some_and(|record| record.sacked);
        if self.records.front().is_some_and(|record| record.sacked) {
            for record in self.records.iter_mut() {
                work::steps(1);
                record.sacked = false;
            }
            self.sacked = Ranges::default();
            self.last_sack = None;
            self.exhausted = (0, 0);
            self.sacked_bytes = 0;
            self.sacked_segments = 0;
        }
        let mut all = true;
        self.forget_extra_copy(0);
        for index in 0..self.records.len() {
            work::steps(1);
            let record = &self.records[index];
            if index == 0 || reneged || is_overdue(record.sent) {
                self.mark_lost(index);
            } else {
                all &= record.sacked || record.lost;
            }
        }
        self.examined = self.records.back().map_or(self.examined, Record::end);
        // All segments are marked lost: none is left that a later delivery could overtake.
        if all {
            self.resent.clear();
            self.next_original = self.examined;
            self.overtaken.clear();
        }
    }

    /// RFC 6675 §4, `IsLost` for all positions at once: segments below the result are lost, unless
    /// selectively acknowledged. Above them lie `dupthresh` discontiguous blocks, or more than
    /// (`dupthresh` − 1)·`smss` bytes selectively acknowledged. 0 if no segment is lost.
    pub fn lost_below(&self, dupthresh: u32, smss: u32) -> u64 {
        let mut blocks = 0;
        let mut bytes = 0;
        for (left, right) in self.sacked.iter().rev() {
            work::steps(1);
            blocks += 1;
            bytes += right - left;
            // Blocks are counted from the highest down: below the block at which the count
            // suffices, everything is lost.
            if blocks >= dupthresh || bytes > u64::from(dupthresh - 1) * u64::from(smss) {
                return left;
            }
        }
        0
    }
}
